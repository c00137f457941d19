//! Rows back into values, and what happens to a row that cannot be decoded.
//!
//! One damaged row must not stop the rows of other instances. An event fails the read of its
//! history. A message is left out. An activity runs under a name that no worker has registered.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::RowError;
use crate::model::stored_attribute::ATTRIBUTES_MESSAGE;
use crate::model::{Event, EventKind, WorkItem};
use crate::providers::{
    LiveWorker, RawEvent, ScheduledActivityIdentifier, StoredEvent, WaitingStart,
};

/// Decodes a stored event.
///
/// # Errors
/// When the text is not an event.
pub fn decode_event(text: &str) -> Result<Event, RowError> {
    serde_json::from_str(text).map_err(RowError::undecodable_event)
}

/// Decodes stored events.
///
/// # Errors
/// When one of them cannot be decoded: replaying a shorter history would repeat work.
pub fn decode_history<T: AsRef<str>>(texts: &[T]) -> Result<Vec<Event>, RowError> {
    texts.iter().map(|text| decode_event(text.as_ref())).collect()
}

/// Decodes a stored event, or returns it as it is stored.
pub fn decode_stored_event(event_id: u64, text: String) -> StoredEvent {
    match decode_event(&text) {
        Ok(event) => StoredEvent::Decoded(Box::new(event)),
        Err(error) => StoredEvent::Raw(RawEvent::new(event_id, text, error.to_string())),
    }
}

/// Decodes the first event of an execution; `None` if it does not start the execution.
///
/// # Errors
/// When the text is not an event.
pub fn decode_start_event(first: Option<&str>) -> Result<Option<Event>, RowError> {
    let Some(text) = first else { return Ok(None) };
    let event = decode_event(text)?;
    Ok(matches!(event.kind, EventKind::OrchestrationStarted { .. }).then_some(event))
}

/// Whether an execution with this first event has started. One that cannot be decoded has: a later
/// release may have started it.
pub fn has_started(first: Option<&str>) -> bool {
    decode_start_event(first).map_or(true, |start| start.is_some())
}

/// Decodes the messages of a turn, each with the number of its row. One that cannot be decoded is
/// logged and left out; the commit of the turn removes it with the others. The attributes of a
/// start come as a message behind it.
pub fn decode_messages(instance: &str, rows: &[(i64, String)]) -> Vec<WorkItem> {
    let decode = |(row, text): &(i64, String)| {
        serde_json::from_str::<WorkItem>(text)
            .inspect_err(|error| {
                tracing::error!(
                    target: "duroxide::providers",
                    instance_id = %instance,
                    row,
                    %error,
                    "a message of the orchestrator queue cannot be decoded; leaving it out"
                );
            })
            .ok()
    };
    let mut messages = Vec::with_capacity(rows.len());
    for row in rows {
        let Some(message) = decode(row) else { continue };
        messages.push(message);
        messages.extend(start_attributes(&row.1));
    }
    messages
}

/// The attributes in the text of a start, as a message that follows it.
fn start_attributes(text: &str) -> Option<WorkItem> {
    #[derive(Deserialize)]
    struct Stored {
        #[serde(rename = "StartOrchestration")]
        start: Start,
    }
    #[derive(Deserialize)]
    struct Start {
        instance: String,
        #[serde(default)]
        attributes: BTreeMap<String, String>,
    }
    // Only a start with attributes ends so.
    if !text.ends_with("}}}") || !text.starts_with("{\"StartOrchestration\"") {
        return None;
    }
    let Start { instance, attributes } = serde_json::from_str::<Stored>(text).ok()?.start;
    let data = serde_json::to_string(&attributes).ok().filter(|_| !attributes.is_empty())?;
    Some(WorkItem::QueueMessage { instance, name: ATTRIBUTES_MESSAGE.to_owned(), data })
}

/// Decodes a leased activity.
///
/// One that cannot be decoded gets a name that no worker has registered: it is retried as often as
/// any other and then fails, so that its orchestration continues with that failure. `None` if its
/// row does not even name the orchestration that scheduled it; then it stays leased.
pub fn decode_activity(
    row: i64,
    text: String,
    scheduled_by: Option<ScheduledActivityIdentifier>,
) -> Option<WorkItem> {
    let error = match serde_json::from_str(&text) {
        Ok(item) => return Some(item),
        Err(error) => error,
    };
    tracing::error!(
        target: "duroxide::providers",
        instance_id = scheduled_by.as_ref().map(|by| by.instance.as_str()),
        row,
        %error,
        "an activity of the worker queue cannot be decoded; it will fail"
    );
    let scheduled_by = scheduled_by?;
    Some(WorkItem::ActivityExecute {
        instance: scheduled_by.instance,
        execution_id: scheduled_by.execution_id,
        id: scheduled_by.activity_id,
        name: format!("unreadable activity (row {row}: {error})"),
        input: text,
        session_id: None,
        tag: None,
    })
}

/// The name in a stored activity; empty if the activity cannot be decoded.
pub fn activity_name(text: &str) -> String {
    match serde_json::from_str(text) {
        Ok(WorkItem::ActivityExecute { name, .. }) => name,
        Ok(_) | Err(_) => String::new(),
    }
}

/// The start in a stored message; `None` if the message is no start or cannot be decoded.
pub fn waiting_start(text: &str) -> Option<WaitingStart> {
    match serde_json::from_str(text) {
        Ok(WorkItem::StartOrchestration {
            instance,
            orchestration,
            version,
            parent_instance,
            ..
        }) => Some(
            WaitingStart::new(instance, orchestration)
                .with_version(version)
                .with_parent(parent_instance),
        ),
        Ok(_) | Err(_) => None,
    }
}

/// The variant of a stored message: its JSON is an object with the name as the only key.
pub fn message_variant(text: &str) -> &str {
    text.strip_prefix("{\"").and_then(|rest| rest.split('"').next()).unwrap_or("unreadable")
}

/// Decodes a node that runs activities from the columns of an
/// [`EncodedWorker`](super::EncodedWorker).
///
/// # Errors
/// When one of the texts is not what was stored.
pub fn decode_worker(
    node_id: String,
    tag_filter: &str,
    activities: &str,
    expires_at_ms: u64,
) -> Result<LiveWorker, RowError> {
    Ok(LiveWorker {
        node_id,
        tag_filter: serde_json::from_str(tag_filter).map_err(RowError::malformed)?,
        activities: serde_json::from_str(activities).map_err(RowError::malformed)?,
        turns: None,
        expires_at_ms,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_message_is_left_out_and_the_others_stay() {
        let cancel = WorkItem::CancelInstance { instance: "i".to_owned(), reason: String::new() };
        let text = serde_json::to_string(&cancel).unwrap();
        assert_eq!(message_variant(&text), "CancelInstance");
        let rows = [(1, "damaged".to_owned()), (2, text)];
        assert_eq!(decode_messages("i", &rows), [cancel]);
        assert_eq!(message_variant("damaged"), "unreadable");
    }

    #[test]
    fn a_damaged_activity_keeps_the_orchestration_that_scheduled_it() {
        let scheduled_by = ScheduledActivityIdentifier {
            instance: "i".to_owned(),
            execution_id: 2,
            activity_id: 3,
        };
        let decoded = decode_activity(7, "damaged".to_owned(), Some(scheduled_by)).unwrap();
        let WorkItem::ActivityExecute { instance, execution_id, id, name, .. } = decoded else {
            panic!("not an activity: {decoded:?}");
        };
        assert_eq!((instance.as_str(), execution_id, id), ("i", 2, 3));
        assert!(name.starts_with("unreadable activity (row 7: "), "{name}");
        assert_eq!(decode_activity(7, "damaged".to_owned(), None), None);
    }

    #[test]
    fn a_damaged_event_fails_its_whole_history() {
        let error = decode_history(&["damaged"]).unwrap_err();
        assert!(error.to_string().starts_with("history deserialization failed: "), "{error}");
    }
}
