//! Start events.

use super::failing::event;
use super::process::LeasedTurn;
use crate::model::{Event, EventKind, INITIAL_EVENT_ID, INITIAL_EXECUTION_ID, WorkItem};

/// The code that a start message asks for.
pub(super) struct Wanted<'a> {
    pub(super) name: &'a str,
    pub(super) version: Option<&'a str>,
}

/// Name and version that a start message asks for.
pub(super) fn wanted(start: &WorkItem) -> Option<Wanted<'_>> {
    match start {
        WorkItem::StartOrchestration { orchestration, version, .. }
        | WorkItem::ContinueAsNew { orchestration, version, .. } => {
            Some(Wanted { name: orchestration, version: version.as_deref() })
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

/// The first event of the execution that a message starts, with the resolved version.
pub(super) fn start_event(
    turn: &LeasedTurn<'_>,
    start: &WorkItem,
    version: String,
) -> Option<Event> {
    let (execution_id, kind) = match start.clone() {
        WorkItem::StartOrchestration {
            orchestration,
            input,
            parent_instance,
            parent_id,
            parent_execution_id,
            ..
        } => {
            let kind = EventKind::OrchestrationStarted {
                name: orchestration,
                version,
                input,
                // Of a detached start, the message alone names the execution that sent it.
                parent_execution_id: parent_execution_id.filter(|_| parent_instance.is_some()),
                parent_instance,
                parent_id,
                carry_forward_events: None,
                initial_custom_status: None,
            };
            (INITIAL_EXECUTION_ID, kind)
        }
        WorkItem::ContinueAsNew {
            orchestration,
            input,
            parent_instance,
            parent_id,
            parent_execution_id,
            carry_forward_events,
            initial_custom_status,
            ..
        } => {
            let kind = EventKind::OrchestrationStarted {
                name: orchestration,
                version,
                input,
                parent_instance,
                parent_id,
                parent_execution_id,
                carry_forward_events: Some(carry_forward_events)
                    .filter(|carried| !carried.is_empty()),
                initial_custom_status,
            };
            (turn.item.execution_id + 1, kind)
        }
        WorkItem::ActivityExecute { .. }
        | WorkItem::ActivityCompleted { .. }
        | WorkItem::ActivityFailed { .. }
        | WorkItem::TimerFired { .. }
        | WorkItem::ExternalRaised { .. }
        | WorkItem::SubOrchCompleted { .. }
        | WorkItem::SubOrchFailed { .. }
        | WorkItem::CancelInstance { .. }
        | WorkItem::QueueMessage { .. } => return None,
        #[cfg(feature = "replay-version-test")]
        WorkItem::ExternalRaised2 { .. } => return None,
    };
    Some(event(turn, execution_id, INITIAL_EVENT_ID, kind))
}
