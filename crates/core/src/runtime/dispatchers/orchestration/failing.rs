//! Failures that the dispatcher records without running the code.

use super::parent::{collision_notices, failure_notice, resolve};
use super::process::LeasedTurn;
use crate::engine::{Parent, Turn, TurnResult};
use crate::model::event::build_version;
use crate::model::{ErrorDetails, Event, EventKind, WorkItem};
use crate::runtime::start_facts::StartFacts;

/// A failure to be recorded.
#[derive(Clone)]
pub(super) struct Failing {
    pub(super) execution_id: u64,
    /// A start event to be recorded before it, if there is none yet.
    pub(super) start: Option<Event>,
    /// Id of the failure event.
    pub(super) event_id: u64,
    pub(super) details: ErrorDetails,
    pub(super) parent: Option<Parent>,
}

/// The turn that records a failure, notifies the parent, and refuses colliding starts.
pub(super) async fn failing_turn(turn: &LeasedTurn<'_>, failing: Failing) -> Turn {
    let Failing { execution_id, start, event_id, details, parent } = failing;
    let kind = EventKind::OrchestrationFailed { details: details.clone() };
    let failed = event(turn, execution_id, event_id, kind);
    let mut orchestrator_items: Vec<WorkItem> = collision_notices(turn).await;
    orchestrator_items.extend(parent.map(|parent| failure_notice(parent, details.clone())));
    Turn {
        events: start.into_iter().chain([failed]).collect(),
        worker_items: Vec::new(),
        orchestrator_items,
        cancelled_activities: Vec::new(),
        start_limits: Vec::new(),
        answered_calls: Vec::new(),
        result: TurnResult::Failed(details),
    }
}

/// An event that this dispatcher records in the current turn.
pub(super) fn event(
    turn: &LeasedTurn<'_>,
    execution_id: u64,
    event_id: u64,
    kind: EventKind,
) -> Event {
    Event {
        event_id,
        source_event_id: None,
        instance_id: turn.item.instance.clone(),
        execution_id,
        timestamp_ms: turn.now_ms,
        duroxide_version: build_version().to_owned(),
        kind,
    }
}

/// The parent that waits for the execution of these facts.
pub(super) async fn parent_of_facts(turn: &LeasedTurn<'_>, facts: &StartFacts) -> Option<Parent> {
    match facts.parent.clone() {
        Some(call) => Some(resolve(turn.node, call).await),
        None => None,
    }
}
