//! A history as a short text that is the same in every run.

use std::collections::BTreeSet;
use std::fmt::Write;

use duroxide_core::{Event, EventKind};

use crate::limits::SNAPSHOT_TEXT_MAX;
use crate::time::Written;

/// Activities of the runtime whose results differ in every run.
const RANDOM: &str = "__duroxide_syscall:new_guid";

/// One line for each event: the time since the start, the number, what happened.
pub(crate) fn history(events: &[Event]) -> String {
    let mut text = String::new();
    let start = events.first().map_or(0, |event| event.timestamp_ms);
    let mut random = BTreeSet::new();
    for event in events {
        if let EventKind::ActivityScheduled { name, .. } = &event.kind
            && name == RANDOM
        {
            random.insert(event.event_id);
        }
        let is_random = event.source_event_id.is_some_and(|id| random.contains(&id));
        let what = if is_random { "done: (random)".to_owned() } else { kind(event) };
        let since = Written(event.timestamp_ms.saturating_sub(start));
        let answered = match event.source_event_id {
            Some(id) => format!(" #{id}"),
            None => String::new(),
        };
        // A String takes every text.
        let _infallible = writeln!(text, "+{since:<8} {:>3}{answered} {what}", event.event_id);
    }
    text
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "some variants exist only with a feature of the core"
)]
fn kind(event: &Event) -> String {
    match &event.kind {
        EventKind::OrchestrationStarted { name, version, input, .. } => {
            format!("started {name} {version}({})", short(input))
        }
        EventKind::OrchestrationCompleted { output } => format!("completed: {}", short(output)),
        EventKind::OrchestrationFailed { details } => {
            format!("failed: {}", short(&details.display_message()))
        }
        EventKind::OrchestrationContinuedAsNew { input } => {
            format!("continued as new({})", short(input))
        }
        EventKind::OrchestrationCancelRequested { reason } => format!("cancelled: {reason}"),
        EventKind::ActivityScheduled { name, input, tag, .. } => {
            let tag = tag.as_ref().map(|tag| format!(" tag {tag}")).unwrap_or_default();
            format!("activity {name}({}){tag}", short(input))
        }
        EventKind::ActivityCompleted { result }
        | EventKind::SubOrchestrationCompleted { result } => format!("done: {}", short(result)),
        EventKind::ActivityFailed { details } | EventKind::SubOrchestrationFailed { details } => {
            format!("failed: {}", short(&details.display_message()))
        }
        EventKind::ActivityCancelRequested { reason }
        | EventKind::SubOrchestrationCancelRequested { reason } => format!("cancel: {reason}"),
        EventKind::TimerCreated { fire_at_ms } => {
            format!("timer {}", Written(fire_at_ms.saturating_sub(event.timestamp_ms)))
        }
        EventKind::TimerFired { .. } => "fired".to_owned(),
        EventKind::ExternalSubscribed { name } => format!("wait {name}"),
        EventKind::ExternalEvent { name, data } => format!("event {name}: {}", short(data)),
        EventKind::QueueSubscribed { name } => format!("dequeue {name}"),
        EventKind::QueueEventDelivered { name, data } => {
            format!("message {name}: {}", short(data))
        }
        EventKind::OrchestrationChained { name, instance, input } => {
            format!("detached {name} '{instance}'({})", short(input))
        }
        EventKind::SubOrchestrationScheduled { name, instance, input } => {
            format!("child {name} '{instance}'({})", short(input))
        }
        EventKind::CustomStatusUpdated { status } => {
            format!("status {}", short(status.as_deref().unwrap_or("(none)")))
        }
        EventKind::KeyValueSet { key, value, .. } => format!("set {key} = {}", short(value)),
        EventKind::KeyValueCleared { key } => format!("clear {key}"),
        other => other.type_tag().to_owned(),
    }
}

/// The beginning of a text, on one line.
fn short(text: &str) -> String {
    let mut short: String = text.chars().take(SNAPSHOT_TEXT_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short.replace('\n', "\\n")
}
