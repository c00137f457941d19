//! Start events.

use super::failing::event;
use super::process::LeasedTurn;
use crate::model::start::start_kind;
use crate::model::{Event, INITIAL_EVENT_ID, INITIAL_EXECUTION_ID, WorkItem};

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
    let execution_id = match matches!(start, WorkItem::ContinueAsNew { .. }) {
        true => turn.item.execution_id + 1,
        false => INITIAL_EXECUTION_ID,
    };
    let kind = start_kind(start, version)?;
    Some(event(turn, execution_id, INITIAL_EVENT_ID, kind))
}
