//! The facts of a start event.

use std::sync::Arc;

use crate::model::{Event, EventKind};

/// Knows how instances that are in memory were started.
pub(crate) trait KnownStarts: Send + Sync {
    /// The start of an instance; `None` if only the store knows it.
    fn facts(&self, instance: &str) -> Option<Arc<StartFacts>>;
}

/// The parts of a start event that later turns need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StartFacts {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) parent: Option<ParentCall>,
    /// Version that the execution is pinned to, as recorded.
    pub(crate) pin: String,
    pub(crate) started_at_ms: u64,
}

/// The call of a parent; the execution is unknown in data written before 0.1.30.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParentCall {
    pub(crate) instance: String,
    pub(crate) id: u64,
    pub(crate) execution_id: Option<u64>,
}

impl StartFacts {
    /// `None` if the event is not a start.
    pub(crate) fn of(event: &Event) -> Option<Self> {
        let EventKind::OrchestrationStarted {
            name,
            version,
            parent_instance,
            parent_id,
            parent_execution_id,
            ..
        } = &event.kind
        else {
            return None;
        };
        Some(Self {
            name: name.clone(),
            version: version.clone(),
            parent: ParentCall::of(parent_instance.as_ref(), *parent_id, *parent_execution_id),
            pin: event.duroxide_version.clone(),
            started_at_ms: event.timestamp_ms,
        })
    }
}

impl ParentCall {
    pub(crate) fn of(
        instance: Option<&String>,
        id: Option<u64>,
        execution_id: Option<u64>,
    ) -> Option<Self> {
        Some(Self { instance: instance?.clone(), id: id?, execution_id })
    }
}
