//! What a message says that starts an execution.

use super::{EventKind, WorkItem};

/// The version in a start event that exists only to record a failure.
pub(crate) const VERSION_UNKNOWN: &str = "unknown";

/// The call of a parent; the execution is unknown in data written before 0.1.30.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParentCall {
    pub(crate) instance: String,
    pub(crate) id: u64,
    pub(crate) execution_id: Option<u64>,
}

impl ParentCall {
    pub(crate) fn of(
        instance: Option<&String>,
        id: Option<u64>,
        execution_id: Option<u64>,
    ) -> Option<Self> {
        Some(Self { instance: instance?.clone(), id: id?, execution_id })
    }

    /// The parent that waits for the execution of a start event.
    pub(crate) fn of_event(kind: &EventKind) -> Option<Self> {
        let EventKind::OrchestrationStarted {
            parent_instance, parent_id, parent_execution_id, ..
        } = kind
        else {
            return None;
        };
        Self::of(parent_instance.as_ref(), *parent_id, *parent_execution_id)
    }

    /// The parent that waits for a start.
    pub(crate) fn of_message(message: &WorkItem) -> Option<Self> {
        match message {
            WorkItem::StartOrchestration {
                parent_instance,
                parent_id,
                parent_execution_id,
                ..
            }
            | WorkItem::ContinueAsNew { parent_instance, parent_id, parent_execution_id, .. } => {
                Self::of(parent_instance.as_ref(), *parent_id, *parent_execution_id)
            }
            WorkItem::ActivityExecute { .. }
            | WorkItem::ActivityCompleted { .. }
            | WorkItem::ActivityFailed { .. }
            | WorkItem::TimerFired { .. }
            | WorkItem::ExternalRaised { .. }
            | WorkItem::SubOrchCompleted { .. }
            | WorkItem::SubOrchFailed { .. }
            | WorkItem::CancelInstance { .. }
            | WorkItem::QueueMessage { .. } => None,
            #[cfg(feature = "replay-version-test")]
            WorkItem::ExternalRaised2 { .. } => None,
        }
    }
}

/// The first event of the execution that a message starts, with the resolved version.
pub(crate) fn start_kind(start: &WorkItem, version: String) -> Option<EventKind> {
    match start.clone() {
        WorkItem::StartOrchestration {
            orchestration,
            input,
            parent_instance,
            parent_id,
            parent_execution_id,
            ..
        } => Some(EventKind::OrchestrationStarted {
            name: orchestration,
            version,
            input,
            // Of a detached start, the message alone names the execution that sent it.
            parent_execution_id: parent_execution_id.filter(|_| parent_instance.is_some()),
            parent_instance,
            parent_id,
            carry_forward_events: None,
            initial_custom_status: None,
        }),
        WorkItem::ContinueAsNew {
            orchestration,
            input,
            parent_instance,
            parent_id,
            parent_execution_id,
            carry_forward_events,
            initial_custom_status,
            ..
        } => Some(EventKind::OrchestrationStarted {
            name: orchestration,
            version,
            input,
            parent_instance,
            parent_id,
            parent_execution_id,
            carry_forward_events: Some(carry_forward_events).filter(|carried| !carried.is_empty()),
            initial_custom_status,
        }),
        WorkItem::ActivityExecute { .. }
        | WorkItem::ActivityCompleted { .. }
        | WorkItem::ActivityFailed { .. }
        | WorkItem::TimerFired { .. }
        | WorkItem::ExternalRaised { .. }
        | WorkItem::SubOrchCompleted { .. }
        | WorkItem::SubOrchFailed { .. }
        | WorkItem::CancelInstance { .. }
        | WorkItem::QueueMessage { .. } => None,
        #[cfg(feature = "replay-version-test")]
        WorkItem::ExternalRaised2 { .. } => None,
    }
}

/// The start of an execution whose own start is lost: it keeps the name and the parent of the
/// execution before.
pub(crate) fn lost_start(name: String, parent: Option<&ParentCall>) -> EventKind {
    EventKind::OrchestrationStarted {
        name,
        version: VERSION_UNKNOWN.to_owned(),
        input: String::new(),
        parent_instance: parent.map(|parent| parent.instance.clone()),
        parent_id: parent.map(|parent| parent.id),
        parent_execution_id: parent.and_then(|parent| parent.execution_id),
        carry_forward_events: None,
        initial_custom_status: None,
    }
}
