//! Recorded schedules are compared with what the code asks for.

use super::execution::Execution;
use crate::model::{Action, Event, EventKind};

/// Which field of a recorded schedule differs from the action.
#[derive(Debug, PartialEq, Eq)]
enum Difference {
    Kind,
    Field(&'static str),
}

impl Execution {
    /// Takes the oldest action that the code asked for and ties it to the recorded event.
    pub(super) fn match_asked(&mut self, event: &Event) {
        let position = self.position_of_match(event);
        let taken = self.ctx.shared.state().emitted.remove(position);
        let Some((token, action)) = taken else { return self.fault_nothing_asked(event) };
        match difference(&action, &event.kind) {
            Some(difference) => self.fault(mismatch(&action, event, &difference)),
            None => self.bind(token, event),
        }
    }

    /// The head, except that a cleared key may match anywhere in a leading run of clears: pruning
    /// may have met the keys in another order.
    fn position_of_match(&self, event: &Event) -> usize {
        let EventKind::KeyValueCleared { .. } = event.kind else { return 0 };
        let state = self.ctx.shared.state();
        state
            .emitted
            .iter()
            .take_while(|(_, action)| matches!(action, Action::ClearKeyValue { .. }))
            .position(|(_, action)| difference(action, &event.kind).is_none())
            .unwrap_or(0)
    }

    fn fault_nothing_asked(&mut self, event: &Event) {
        let text = match &event.kind {
            // Status and key-value calls that the code no longer makes change nothing later.
            EventKind::CustomStatusUpdated { .. }
            | EventKind::KeyValueSet { .. }
            | EventKind::KeyValueCleared { .. }
            | EventKind::KeyValuesCleared => return,
            EventKind::OrchestrationChained { .. } => {
                "history OrchestrationChained but no emitted action"
            }
            _schedule => "history schedule but no emitted action",
        };
        self.fault(format!(
            "{text}: history has event {} = {:?}, the code asked for nothing",
            event.event_id, event.kind
        ));
    }
}

fn mismatch(action: &Action, event: &Event, difference: &Difference) -> String {
    let what = match &event.kind {
        EventKind::CustomStatusUpdated { .. } => "custom status mismatch",
        EventKind::KeyValueSet { .. } => "kv set mismatch",
        EventKind::KeyValueCleared { .. } => "kv clear mismatch",
        EventKind::KeyValuesCleared => "kv clear_all mismatch",
        _schedule => "schedule mismatch",
    };
    let field = match difference {
        Difference::Kind => "kind",
        Difference::Field(name) => name,
    };
    format!(
        "{what}: action={action:?} vs event={:?} (event {}, differs in {field})",
        event.kind, event.event_id
    )
}

/// Compares what replay must repeat. Times, versions and generated ids are taken from history.
fn difference(action: &Action, kind: &EventKind) -> Option<Difference> {
    let fields: &[(&'static str, bool)] = match (action, kind) {
        (
            Action::CallActivity { name, input, session_id, tag, .. },
            EventKind::ActivityScheduled { name: n, input: i, session_id: s, tag: t },
        ) => &[
            ("name", name == n),
            ("input", input == i),
            ("session_id", session_id == s),
            ("tag", tag == t),
        ],
        (Action::CreateTimer { .. }, EventKind::TimerCreated { .. })
        | (Action::UpdateCustomStatus { .. }, EventKind::CustomStatusUpdated { .. })
        | (Action::ClearKeyValues, EventKind::KeyValuesCleared) => &[],
        (Action::WaitExternal { name, .. }, EventKind::ExternalSubscribed { name: n })
        | (Action::DequeueEvent { name, .. }, EventKind::QueueSubscribed { name: n }) => {
            &[("name", name == n)]
        }
        (
            Action::StartSubOrchestration { name, input, .. },
            EventKind::SubOrchestrationScheduled { name: n, input: i, .. },
        ) => &[("name", name == n), ("input", input == i)],
        (
            Action::StartOrchestrationDetached { name, instance, input, .. },
            EventKind::OrchestrationChained { name: n, instance: id, input: i },
        ) => &[("name", name == n), ("instance", instance == id), ("input", input == i)],
        (
            Action::SetKeyValue { key, value, .. },
            EventKind::KeyValueSet { key: k, value: v, .. },
        ) => &[("key", key == k), ("value", value == v)],
        (Action::ClearKeyValue { key }, EventKind::KeyValueCleared { key: k }) => {
            &[("key", key == k)]
        }
        _other_pairs => return Some(Difference::Kind),
    };
    fields.iter().find(|(_, same)| !same).map(|(name, _)| Difference::Field(name))
}
