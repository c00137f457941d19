//! Whether two stores have the same of an instance.

use std::fmt::Debug;

use serde_json::Value;

use super::error::TransferError;
use super::section::read_all;
use crate::limits::DIFFERENCES_MAX;
use crate::providers::{
    CopiedActivity, CopiedEvent, CopiedExecution, CopiedMessage, InstanceCopy, Provider,
};

/// Something that two copies of an instance do not have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstanceDifference {
    /// Which part of the instance.
    pub part: String,
    /// What one copy has, the file or the first store; nothing if it lacks the part.
    pub expected: Option<String>,
    /// What the other copy has.
    pub found: Option<String>,
}

impl std::fmt::Display for InstanceDifference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { part, expected, found } = self;
        let text = |side: &Option<String>| side.clone().unwrap_or_else(|| "nothing".to_owned());
        write!(f, "{part}: expected {}, found {}", text(expected), text(found))
    }
}

/// Compares what two stores have of an instance: histories, keys, status, and both queues. Texts
/// are compared as JSON. When something was queued, and leases, are not compared.
///
/// # Errors
/// When a store fails or cannot export instances, or neither has the instance.
pub async fn compare_instances(
    one: &dyn Provider,
    other: &dyn Provider,
    instance: &str,
) -> Result<Vec<InstanceDifference>, TransferError> {
    let read = async |store: &dyn Provider| {
        let admin = store.as_management_capability().ok_or(TransferError::NoManagement)?;
        Ok::<_, TransferError>(read_all(admin, instance).await?)
    };
    let (one, other) = (read(one).await?, read(other).await?);
    if one.is_empty() && other.is_empty() {
        return Err(TransferError::NotFound { instance: instance.to_owned() });
    }
    Ok(differences(&one, &other))
}

/// What differs, in the order of a file.
pub(super) fn differences(
    expected: &InstanceCopy,
    found: &InstanceCopy,
) -> Vec<InstanceDifference> {
    let mut all = Differences::default();
    all.compare("instance", expected.head.as_slice(), found.head.as_slice(), PartialEq::eq);
    all.compare("execution", &expected.executions, &found.executions, same_execution);
    all.compare("event", &expected.events, &found.events, same_event);
    all.compare("key", &expected.keys, &found.keys, PartialEq::eq);
    all.compare("message id", &expected.message_ids, &found.message_ids, PartialEq::eq);
    all.compare("activity", &expected.activities, &found.activities, same_activity);
    all.compare("message", &expected.messages, &found.messages, same_message);
    all.0
}

#[derive(Default)]
struct Differences(Vec<InstanceDifference>);

impl Differences {
    fn compare<T: Debug>(
        &mut self,
        part: &str,
        expected: &[T],
        found: &[T],
        is_same: impl Fn(&T, &T) -> bool,
    ) {
        for place in 0..expected.len().max(found.len()) {
            if self.0.len() >= DIFFERENCES_MAX {
                return;
            }
            let (one, other) = (expected.get(place), found.get(place));
            if let (Some(one), Some(other)) = (one, other)
                && is_same(one, other)
            {
                continue;
            }
            let text = |row: Option<&T>| row.map(|row| format!("{row:?}"));
            self.0.push(InstanceDifference {
                part: format!("{part} {}", place + 1),
                expected: text(one),
                found: text(other),
            });
        }
    }
}

fn same_execution(one: &CopiedExecution, other: &CopiedExecution) -> bool {
    one == other
}

fn same_event(one: &CopiedEvent, other: &CopiedEvent) -> bool {
    one.execution_id == other.execution_id
        && one.event_id == other.event_id
        && same_text(&one.text, &other.text)
}

fn same_activity(one: &CopiedActivity, other: &CopiedActivity) -> bool {
    let comparable = |it: &CopiedActivity| {
        let (item, place, queued_at_ms) = (String::new(), 0, 0);
        CopiedActivity { item, place, queued_at_ms, ..it.clone() }
    };
    comparable(one) == comparable(other) && same_text(&one.item, &other.item)
}

fn same_message(one: &CopiedMessage, other: &CopiedMessage) -> bool {
    let comparable = |it: &CopiedMessage| {
        let (item, place, queued_at_ms) = (String::new(), 0, 0);
        CopiedMessage { item, place, queued_at_ms, ..it.clone() }
    };
    comparable(one) == comparable(other) && same_text(&one.item, &other.item)
}

/// Whether two texts are the same, or the same JSON.
fn same_text(one: &str, other: &str) -> bool {
    let json = |text: &str| serde_json::from_str::<Value>(text).ok();
    one == other || json(one).is_some_and(|value| Some(value) == json(other))
}
