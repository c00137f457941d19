//! An event in a few words.

use duroxide::providers::kit::{ATTRIBUTE_KEYS_FROM, decode_attribute};
use duroxide::{CancelRequest, Event, EventKind, InstanceEdit};

use crate::output::iso;

/// What an event says, without its kind.
#[allow(
    unreachable_patterns,
    clippy::wildcard_enum_match_arm,
    reason = "whether there are kinds for tests depends on how the library is built"
)]
pub(crate) fn of(event: &Event) -> String {
    if let Some(request) = CancelRequest::of(event) {
        return asked_to_end(&request);
    }
    if let Some(InstanceEdit { by, reason, .. }) = InstanceEdit::of(event) {
        return format!("edited by {by}: {reason}");
    }
    let source = event.source_event_id.map(|id| format!("#{id}")).unwrap_or_default();
    match &event.kind {
        EventKind::OrchestrationStarted { name, version, input, .. } => {
            format!("{name} {version}({input})")
        }
        EventKind::OrchestrationCompleted { output } => output.clone(),
        EventKind::OrchestrationFailed { details } => details.display_message(),
        EventKind::ActivityScheduled { name, input, tag, session_id } => {
            let tag = tag.as_ref().map(|tag| format!(" tag {tag}")).unwrap_or_default();
            let session = session_id.as_ref().map(|id| format!(" session {id}"));
            format!("{name}({input}){tag}{}", session.unwrap_or_default())
        }
        EventKind::ActivityCompleted { result }
        | EventKind::SubOrchestrationCompleted { result } => format!("{source} {result}"),
        EventKind::ActivityFailed { details } | EventKind::SubOrchestrationFailed { details } => {
            format!("{source} {}", details.display_message())
        }
        EventKind::ActivityCancelRequested { reason }
        | EventKind::SubOrchestrationCancelRequested { reason }
        | EventKind::ExternalSubscribedCancelled { reason }
        | EventKind::QueueSubscriptionCancelled { reason } => format!("{source} {reason}"),
        EventKind::TimerCreated { fire_at_ms } => {
            format!("fires at {}", iso(*fire_at_ms))
        }
        EventKind::TimerFired { .. } => source,
        EventKind::ExternalSubscribed { name } | EventKind::QueueSubscribed { name } => {
            format!("waits for '{name}'")
        }
        EventKind::ExternalEvent { name, data } | EventKind::QueueEventDelivered { name, data } => {
            format!("'{name}' {data}")
        }
        EventKind::OrchestrationChained { name, instance, input }
        | EventKind::SubOrchestrationScheduled { name, instance, input } => {
            format!("{name}({input}) as '{instance}'")
        }
        EventKind::OrchestrationContinuedAsNew { input } => input.clone(),
        EventKind::OrchestrationCancelRequested { reason } => reason.clone(),
        EventKind::CustomStatusUpdated { status } => status.clone().unwrap_or_default(),
        EventKind::KeyValueSet { key, value, .. } => match decode_attribute(key, value) {
            Some((name, value)) => format!("attribute {name} = {value}"),
            None => format!("{key} = {value}"),
        },
        EventKind::KeyValueCleared { key } => match key.strip_prefix(ATTRIBUTE_KEYS_FROM) {
            Some(name) => format!("attribute {name}"),
            None => key.clone(),
        },
        EventKind::KeyValuesCleared => String::new(),
        // Kinds that only tests of the library have: a feature adds them.
        _other => String::new(),
    }
}

fn asked_to_end(request: &CancelRequest) -> String {
    let by = request.deadline_ms.map(|at| format!(" by {}", iso(at))).unwrap_or_default();
    format!("asked to end{by}: {}", request.reason)
}
