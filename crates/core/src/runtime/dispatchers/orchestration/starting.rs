//! Start events.

use super::failing::event;
use super::process::LeasedTurn;
use crate::model::{Event, EventKind, INITIAL_EVENT_ID, INITIAL_EXECUTION_ID, WorkItem};

/// The event of this kind, as the first of the execution that a message starts.
pub(super) fn start_event(turn: &LeasedTurn<'_>, start: &WorkItem, kind: EventKind) -> Event {
    let execution_id = match matches!(start, WorkItem::ContinueAsNew { .. }) {
        true => turn.item.execution_id + 1,
        false => INITIAL_EXECUTION_ID,
    };
    event(turn, execution_id, INITIAL_EVENT_ID, kind)
}
