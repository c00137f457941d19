//! What the engine does with each action of the code.
//!
//! The only place of the engine that matches on [`Action`]: a new action does not compile until it
//! is decided here how it is recorded, sent and compared with history.

use super::inputs::{IgnoredInputs, same_meaning};
use crate::model::ids::{SUB_ORCH_AUTO_PREFIX, child_suffix};
use crate::model::{Action, EventKind, INITIAL_EXECUTION_ID, WorkItem, build_child_instance_id};

/// The schedule that records an action.
pub(super) struct ScheduleId<'a> {
    pub(super) instance: &'a str,
    pub(super) execution_id: u64,
    pub(super) event_id: u64,
}

/// What an action causes.
#[expect(clippy::large_enum_variant, reason = "moved once; a box would cost an allocation")]
pub(super) enum Effect {
    /// An event, and a message if the action reaches beyond the execution.
    Recorded { event: EventKind, message: Option<Outgoing> },
    /// Nothing at once. The turn ends the execution and starts the next one.
    ContinueAsNew { input: String, version: Option<String> },
}

/// A message that carries out an action.
#[derive(Debug)]
pub(super) enum Outgoing {
    /// For the worker queue.
    Activity(WorkItem),
    /// For the orchestrator queue.
    Orchestration(WorkItem),
    /// For the orchestrator queue, even if this turn ends the execution.
    Detached(WorkItem),
}

/// How an action differs from a recorded event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Difference<'a> {
    Kind,
    Field(&'static str),
    /// Texts that mean different things.
    Meaning {
        field: &'static str,
        recorded: &'a str,
        requested: &'a str,
    },
}

/// Decides what an action causes.
pub(super) fn effect_of(action: Action, id: &ScheduleId<'_>) -> Effect {
    let (event, message) = match action {
        Action::CallActivity { name, input, session_id, tag, .. } => (
            EventKind::ActivityScheduled {
                name: name.clone(),
                input: input.clone(),
                session_id: session_id.clone(),
                tag: tag.clone(),
            },
            Some(Outgoing::Activity(WorkItem::ActivityExecute {
                instance: id.instance.to_owned(),
                execution_id: id.execution_id,
                id: id.event_id,
                name,
                input,
                session_id,
                tag,
            })),
        ),
        Action::CreateTimer { fire_at_ms, .. } => (
            EventKind::TimerCreated { fire_at_ms },
            Some(Outgoing::Orchestration(WorkItem::TimerFired {
                instance: id.instance.to_owned(),
                execution_id: id.execution_id,
                id: id.event_id,
                fire_at_ms,
            })),
        ),
        Action::StartSubOrchestration { name, version, instance, input, .. } => {
            return start_child(id, Start { name, version, instance, input });
        }
        Action::StartOrchestrationDetached { name, version, instance, input, .. } => {
            return start_detached(id, Start { name, version, instance, input });
        }
        Action::WaitExternal { name, .. } => (EventKind::ExternalSubscribed { name }, None),
        #[cfg(feature = "replay-version-test")]
        Action::WaitExternal2 { name, topic, .. } => {
            (EventKind::ExternalSubscribed2 { name, topic }, None)
        }
        Action::DequeueEvent { name, .. } => (EventKind::QueueSubscribed { name }, None),
        Action::UpdateCustomStatus { status } => (EventKind::CustomStatusUpdated { status }, None),
        Action::SetKeyValue { key, value, last_updated_at_ms } => {
            (EventKind::KeyValueSet { key, value, last_updated_at_ms }, None)
        }
        Action::ClearKeyValue { key } => (EventKind::KeyValueCleared { key }, None),
        Action::ClearKeyValues => (EventKind::KeyValuesCleared, None),
        Action::ContinueAsNew { input, version } => {
            return Effect::ContinueAsNew { input, version };
        }
    };
    Effect::Recorded { event, message }
}

/// The fields that both kinds of starts have.
struct Start {
    name: String,
    version: Option<String>,
    instance: String,
    input: String,
}

fn start_child(id: &ScheduleId<'_>, start: Start) -> Effect {
    // A placeholder becomes an id of its own.
    let child = if start.instance.starts_with(SUB_ORCH_AUTO_PREFIX) {
        child_suffix(id.execution_id, id.event_id)
    } else {
        start.instance
    };
    let message = WorkItem::StartOrchestration {
        instance: build_child_instance_id(id.instance, &child),
        orchestration: start.name.clone(),
        input: start.input.clone(),
        version: start.version,
        parent_instance: Some(id.instance.to_owned()),
        parent_id: Some(id.event_id),
        parent_execution_id: Some(id.execution_id),
        execution_id: INITIAL_EXECUTION_ID,
    };
    let event = EventKind::SubOrchestrationScheduled {
        name: start.name,
        instance: child,
        input: start.input,
    };
    Effect::Recorded { event, message: Some(Outgoing::Orchestration(message)) }
}

fn start_detached(id: &ScheduleId<'_>, start: Start) -> Effect {
    let event = EventKind::OrchestrationChained {
        name: start.name.clone(),
        instance: start.instance.clone(),
        input: start.input.clone(),
    };
    let message = WorkItem::StartOrchestration {
        instance: start.instance,
        orchestration: start.name,
        input: start.input,
        version: start.version,
        parent_instance: None,
        parent_id: None,
        // No parent waits. The execution alone distinguishes this start from one by a client.
        parent_execution_id: Some(id.execution_id),
        execution_id: INITIAL_EXECUTION_ID,
    };
    Effect::Recorded { event, message: Some(Outgoing::Detached(message)) }
}

/// Compares an action with the event that history holds in its place. Times, versions and generated
/// ids come from history and are not compared.
pub(super) fn difference<'a>(
    action: &'a Action,
    kind: &'a EventKind,
    ignored: &IgnoredInputs,
) -> Option<Difference<'a>> {
    // One arm for each action: an action without an arm does not compile.
    macro_rules! compare {
        ($pattern:pat => $($check:ident($field:ident, $($argument:tt)+)),*) => {{
            let $pattern = kind else { return Some(Difference::Kind) };
            $(if let Some(difference) = $check(stringify!($field), $field, $($argument)+) {
                return Some(difference);
            })*
            None
        }};
    }
    match action {
        Action::CallActivity { name, input, session_id, tag, .. } => compare!(
            EventKind::ActivityScheduled { name: n, input: i, session_id: s, tag: t } =>
                exact(name, n), meaning(input, i, || ignored.activities.contains(name)),
                exact(session_id, s), exact(tag, t)
        ),
        Action::CreateTimer { .. } => compare!(EventKind::TimerCreated { .. } =>),
        Action::WaitExternal { name, .. } => {
            compare!(EventKind::ExternalSubscribed { name: n } => exact(name, n))
        }
        #[cfg(feature = "replay-version-test")]
        Action::WaitExternal2 { name, topic, .. } => compare!(
            EventKind::ExternalSubscribed2 { name: n, topic: t } => exact(name, n), exact(topic, t)
        ),
        Action::DequeueEvent { name, .. } => {
            compare!(EventKind::QueueSubscribed { name: n } => exact(name, n))
        }
        Action::StartSubOrchestration { name, input, .. } => compare!(
            EventKind::SubOrchestrationScheduled { name: n, input: i, .. } =>
                exact(name, n), meaning(input, i, || ignored.orchestrations.contains(name))
        ),
        Action::StartOrchestrationDetached { name, instance, input, .. } => compare!(
            EventKind::OrchestrationChained { name: n, instance: id, input: i } =>
                exact(name, n), exact(instance, id),
                meaning(input, i, || ignored.orchestrations.contains(name))
        ),
        Action::UpdateCustomStatus { .. } => compare!(EventKind::CustomStatusUpdated { .. } =>),
        Action::SetKeyValue { key, value, .. } => compare!(
            EventKind::KeyValueSet { key: k, value: v, .. } =>
                exact(key, k), meaning(value, v, || false)
        ),
        Action::ClearKeyValue { key } => {
            compare!(EventKind::KeyValueCleared { key: k } => exact(key, k))
        }
        Action::ClearKeyValues => compare!(EventKind::KeyValuesCleared =>),
        Action::ContinueAsNew { .. } => Some(Difference::Kind),
    }
}

fn exact<'a, T: PartialEq>(
    field: &'static str,
    requested: &T,
    recorded: &T,
) -> Option<Difference<'a>> {
    (requested != recorded).then_some(Difference::Field(field))
}

/// Compares what two texts mean, unless that does not matter. Equal texts are not parsed.
fn meaning<'a>(
    field: &'static str,
    requested: &'a str,
    recorded: &'a str,
    is_ignored: impl FnOnce() -> bool,
) -> Option<Difference<'a>> {
    let same = requested == recorded || is_ignored() || same_meaning(recorded, requested);
    (!same).then_some(Difference::Meaning { field, recorded, requested })
}

/// Whether the action removes one key.
pub(super) fn clears_a_key(action: &Action) -> bool {
    matches!(action, Action::ClearKeyValue { .. })
}
