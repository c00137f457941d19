//! Renders a turn as the lines that cases expect.

use duroxide_core::engine::{Turn, TurnResult};
use duroxide_core::{AppErrorKind, ErrorDetails, Event, EventKind, WorkItem};

/// A turn as text, one list per line of the notation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RenderedTurn {
    pub(crate) events: Vec<String>,
    pub(crate) work: Vec<String>,
    pub(crate) out: Vec<String>,
    pub(crate) cancelled: Vec<String>,
    pub(crate) result: String,
}

pub(crate) fn turn(turn: &Turn) -> RenderedTurn {
    RenderedTurn {
        events: turn.events.iter().map(event).collect(),
        work: turn.worker_items.iter().map(message).collect(),
        out: turn.orchestrator_items.iter().map(message).collect(),
        cancelled: turn.cancelled_activities.iter().map(u64::to_string).collect(),
        result: result(&turn.result),
    }
}

fn result(result: &TurnResult) -> String {
    match result {
        TurnResult::Continue => "waiting".to_owned(),
        TurnResult::Completed(output) => format!("completed {output}"),
        TurnResult::Failed(details) => format!("failed {}", failure(details)),
        TurnResult::ContinueAsNew { input } => format!("continued {input}"),
        TurnResult::Cancelled { reason } => format!("cancelled {reason}"),
    }
}

fn failure(details: &ErrorDetails) -> String {
    let fault = match details {
        ErrorDetails::Infrastructure { .. } => "infra",
        ErrorDetails::Configuration { .. } => "config",
        ErrorDetails::Poison { .. } => "poison",
        ErrorDetails::Application { kind, .. } => match kind {
            AppErrorKind::ActivityFailed => "activity",
            AppErrorKind::OrchestrationFailed => "app",
            AppErrorKind::Panicked => "panic",
            AppErrorKind::Cancelled { .. } => "cancel",
        },
    };
    format!("{fault}: {}", details.display_message())
}

pub(crate) fn event(event: &Event) -> String {
    let source = event.source_event_id.map(|id| id.to_string()).unwrap_or_default();
    let text = match &event.kind {
        EventKind::OrchestrationStarted { .. } => "started".to_owned(),
        EventKind::OrchestrationCompleted { output } => format!("completed {output}"),
        EventKind::OrchestrationFailed { details } => format!("error {}", failure(details)),
        EventKind::OrchestrationContinuedAsNew { input } => format!("continued {input}"),
        EventKind::OrchestrationCancelRequested { reason } => format!("cancel-requested {reason}"),
        EventKind::ActivityScheduled { name, input, session_id, tag } => {
            format!("activity {name}({input}){}", routing(session_id.as_ref(), tag.as_ref()))
        }
        EventKind::ActivityCompleted { result } => format!("done {source} {result}"),
        EventKind::ActivityFailed { details } => format!("failed {source} {}", failure(details)),
        EventKind::ActivityCancelRequested { reason } => {
            format!("cancel-activity {source} {reason}")
        }
        EventKind::TimerCreated { fire_at_ms } => format!("timer @{fire_at_ms}"),
        EventKind::TimerFired { fire_at_ms } => format!("fired {source} @{fire_at_ms}"),
        EventKind::ExternalSubscribed { name } => format!("wait {name}"),
        EventKind::ExternalEvent { name, data } => format!("signal {name} {data}"),
        EventKind::ExternalSubscribedCancelled { reason } => format!("unwait {source} {reason}"),
        EventKind::QueueSubscribed { name } => format!("dequeue {name}"),
        EventKind::QueueEventDelivered { name, data } => format!("message {name} {data}"),
        EventKind::QueueSubscriptionCancelled { reason } => format!("undequeue {source} {reason}"),
        EventKind::OrchestrationChained { name, instance, input } => {
            format!("detached {name}({input}) as {instance}")
        }
        EventKind::SubOrchestrationScheduled { name, instance, input } => {
            format!("child {name}({input}) as {instance}")
        }
        EventKind::SubOrchestrationCompleted { result } => format!("child-done {source} {result}"),
        EventKind::SubOrchestrationFailed { details } => {
            format!("child-failed {source} {}", failure(details))
        }
        EventKind::SubOrchestrationCancelRequested { reason } => {
            format!("cancel-child {source} {reason}")
        }
        EventKind::CustomStatusUpdated { status: Some(status) } => format!("status {status}"),
        EventKind::CustomStatusUpdated { status: None } => "no-status".to_owned(),
        EventKind::KeyValueSet { key, value, last_updated_at_ms } => {
            format!("set {key}={value}@{last_updated_at_ms}")
        }
        EventKind::KeyValueCleared { key } => format!("clear {key}"),
        EventKind::KeyValuesCleared => "clear-all".to_owned(),
        #[cfg(feature = "replay-version-test")]
        EventKind::ExternalSubscribed2 { .. } | EventKind::ExternalEvent2 { .. } => {
            format!("unexpected {:?}", event.kind)
        }
    };
    format!("{} {text}", event.event_id).trim_end().to_owned()
}

/// A reason, with the call of the parent that sent it.
fn cancellation(reason: &str) -> String {
    let Some((text, sender)) = reason.split_once('\u{1f}') else { return reason.to_owned() };
    let (parent, execution, id): (String, u64, u64) = serde_json::from_str(sender).unwrap();
    format!("{text} by {parent}/{execution}/{id}")
}

fn routing(session_id: Option<&String>, tag: Option<&String>) -> String {
    let session = session_id.map(|id| format!(" session={id}")).unwrap_or_default();
    let tag = tag.map(|tag| format!(" tag={tag}")).unwrap_or_default();
    session + &tag
}

fn message(message: &WorkItem) -> String {
    match message {
        WorkItem::ActivityExecute { id, name, input, session_id, tag, .. } => {
            format!("{id} {name}({input}){}", routing(session_id.as_ref(), tag.as_ref()))
        }
        WorkItem::TimerFired { id, fire_at_ms, .. } => format!("fired {id} @{fire_at_ms}"),
        WorkItem::StartOrchestration { .. } => start(message),
        WorkItem::CancelInstance { instance, reason } => {
            format!("cancel {instance}: {}", cancellation(reason))
        }
        WorkItem::SubOrchCompleted { parent_instance, parent_execution_id, parent_id, result } => {
            format!("notify {parent_instance}/{parent_execution_id}/{parent_id} ok {result}")
        }
        WorkItem::SubOrchFailed { parent_instance, parent_execution_id, parent_id, details } => {
            let parent = format!("{parent_instance}/{parent_execution_id}/{parent_id}");
            format!("notify {parent} {}", failure(details))
        }
        WorkItem::ContinueAsNew { .. } => successor(message),
        WorkItem::ExternalRaised { instance, name, data } => {
            format!("signal {instance} {name} {data}")
        }
        WorkItem::ActivityCompleted { .. }
        | WorkItem::ActivityFailed { .. }
        | WorkItem::QueueMessage { .. } => format!("unexpected {message:?}"),
        #[cfg(feature = "replay-version-test")]
        WorkItem::ExternalRaised2 { .. } => format!("unexpected {message:?}"),
    }
}

fn start(message: &WorkItem) -> String {
    let WorkItem::StartOrchestration {
        instance,
        orchestration,
        input,
        version,
        parent_instance,
        parent_id,
        parent_execution_id,
        execution_id,
    } = message
    else {
        return String::new();
    };
    assert_eq!(*execution_id, 1, "a start always names the first execution");
    let version = version.as_ref().map(|version| format!(" v{version}")).unwrap_or_default();
    let parent = match (parent_instance, parent_execution_id, parent_id) {
        (Some(instance), Some(execution), Some(id)) => format!(" for {instance}/{execution}/{id}"),
        (None, Some(execution), None) => format!(" by {execution}"),
        (None, None, None) => String::new(),
        partial => format!(" for {partial:?}"),
    };
    format!("start {orchestration}({input}) as {instance}{version}{parent}")
}

fn successor(message: &WorkItem) -> String {
    let WorkItem::ContinueAsNew {
        orchestration,
        input,
        version,
        parent_instance,
        parent_id,
        parent_execution_id,
        carry_forward_events,
        initial_custom_status,
        ..
    } = message
    else {
        return String::new();
    };
    let mut text = format!("continue {orchestration}({input})");
    if let Some(version) = version {
        text += &format!(" v{version}");
    }
    if let (Some(instance), Some(execution), Some(id)) =
        (parent_instance, parent_execution_id, parent_id)
    {
        text += &format!(" for {instance}/{execution}/{id}");
    }
    if !carry_forward_events.is_empty() {
        let carried: Vec<String> =
            carry_forward_events.iter().map(|(queue, data)| format!("{queue}:{data}")).collect();
        text += &format!(" carry {}", carried.join(","));
    }
    if let Some(status) = initial_custom_status {
        text += &format!(" status {status}");
    }
    text
}
