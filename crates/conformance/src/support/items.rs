//! Messages, events and commits as the runtime creates them.

use std::time::Duration;

use duroxide_core::providers::{ExecutionMetadata, ScheduledActivity, TurnCommit, WorkItem};
use duroxide_core::{Event, EventKind};

use super::Turn;

const NAME: &str = "TestOrch";
const VERSION: &str = "1.0.0";
const INPUT: &str = "{}";

/// A start of `TestOrch` 1.0.0.
pub(crate) fn start_item(instance: &str) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: instance.to_owned(),
        orchestration: NAME.to_owned(),
        input: INPUT.to_owned(),
        version: Some(VERSION.to_owned()),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        execution_id: 1,
    }
}

/// The start of the next execution.
pub(crate) fn continuation(instance: &str, input: &str) -> WorkItem {
    WorkItem::ContinueAsNew {
        instance: instance.to_owned(),
        orchestration: NAME.to_owned(),
        input: input.to_owned(),
        version: Some(VERSION.to_owned()),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: Vec::new(),
        initial_custom_status: None,
    }
}

/// A start whose result `parent` waits for at its event 2.
pub(crate) fn child_start_item(instance: &str, parent: &str) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: instance.to_owned(),
        orchestration: NAME.to_owned(),
        input: INPUT.to_owned(),
        version: Some(VERSION.to_owned()),
        parent_instance: Some(parent.to_owned()),
        parent_id: Some(2),
        parent_execution_id: Some(1),
        execution_id: 1,
    }
}

/// A positional signal.
pub(crate) fn signal(instance: &str, data: &str) -> WorkItem {
    WorkItem::ExternalRaised {
        instance: instance.to_owned(),
        name: "signal".to_owned(),
        data: data.to_owned(),
    }
}

/// A request to cancel an instance.
pub(crate) fn cancellation(instance: &str, reason: &str) -> WorkItem {
    WorkItem::CancelInstance { instance: instance.to_owned(), reason: reason.to_owned() }
}

/// A message of a FIFO queue.
pub(crate) fn queued(instance: &str, data: &str) -> WorkItem {
    WorkItem::QueueMessage {
        instance: instance.to_owned(),
        name: "queue".to_owned(),
        data: data.to_owned(),
    }
}

/// A timer of execution 1.
pub(crate) fn timer(instance: &str, id: u64, fire_at_ms: u64) -> WorkItem {
    WorkItem::TimerFired { instance: instance.to_owned(), execution_id: 1, id, fire_at_ms }
}

/// An activity of execution 1 without session and tag.
pub(crate) fn activity(instance: &str, id: u64) -> WorkItem {
    activity_of(instance, 1, id)
}

/// An activity without session and tag.
pub(crate) fn activity_of(instance: &str, execution_id: u64, id: u64) -> WorkItem {
    WorkItem::ActivityExecute {
        instance: instance.to_owned(),
        execution_id,
        id,
        name: "TestActivity".to_owned(),
        input: format!("input {id}"),
        session_id: None,
        tag: None,
    }
}

/// The result of an activity of execution 1.
pub(crate) fn completed(instance: &str, id: u64) -> WorkItem {
    WorkItem::ActivityCompleted {
        instance: instance.to_owned(),
        execution_id: 1,
        id,
        result: format!("result {id}"),
    }
}

/// An event at a position.
pub(crate) fn event(instance: &str, execution_id: u64, event_id: u64, kind: EventKind) -> Event {
    Event::with_event_id(event_id, instance, execution_id, None, kind)
}

/// The first event of an execution.
pub(crate) fn started(instance: &str, execution_id: u64) -> Event {
    let kind = EventKind::OrchestrationStarted {
        name: NAME.to_owned(),
        version: VERSION.to_owned(),
        input: INPUT.to_owned(),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: None,
        initial_custom_status: None,
    };
    event(instance, execution_id, 1, kind)
}

/// Any event after the first: a signal that arrived.
pub(crate) fn heard(instance: &str, execution_id: u64, event_id: u64) -> Event {
    let kind = EventKind::ExternalEvent { name: "signal".to_owned(), data: event_id.to_string() };
    event(instance, execution_id, event_id, kind)
}

/// Metadata of a running execution.
pub(crate) fn named() -> ExecutionMetadata {
    ExecutionMetadata {
        orchestration_name: Some(NAME.to_owned()),
        orchestration_version: Some(VERSION.to_owned()),
        ..ExecutionMetadata::default()
    }
}

/// Metadata of an execution that finishes with `status`.
pub(crate) fn ended(status: &str, output: &str) -> ExecutionMetadata {
    ExecutionMetadata {
        status: Some(status.to_owned()),
        output: Some(output.to_owned()),
        ..named()
    }
}

/// A commit of `events` to the execution that was fetched; the caller adds the rest.
pub(crate) fn commit(turn: &Turn, events: Vec<Event>) -> TurnCommit {
    TurnCommit::new(turn.token.clone(), turn.item.execution_id)
        .with_history_delta(events)
        .with_metadata(named())
}

/// Activities of a commit. Those with these indexes request a lease of this length.
pub(crate) fn leasing(
    work: Vec<WorkItem>,
    indexes: &[usize],
    lock_timeout: Duration,
) -> Vec<ScheduledActivity> {
    let mut activities: Vec<_> = work.into_iter().map(ScheduledActivity::new).collect();
    for index in indexes {
        activities[*index].lease = Some(lock_timeout);
    }
    activities
}
