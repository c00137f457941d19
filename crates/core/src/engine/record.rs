//! What the code asks for becomes events.

use super::execution::Execution;
use super::feed::wake_all;
use crate::model::ids::{SUB_ORCH_AUTO_PREFIX, child_suffix};
use crate::model::{Action, Event, EventKind};

impl Execution {
    /// Records actions one at a time, each as if it were read back, until the code asks for nothing
    /// more.
    pub(super) fn record_asked(&mut self) {
        loop {
            self.settle();
            let next = self.ctx.shared.state().emitted.pop_front();
            let Some((token, action)) = next else { return };
            self.record(token, action);
        }
    }

    fn record(&mut self, token: u64, mut action: Action) {
        let id = self.event_id_next;
        name_child(&mut action, self.execution_id(), id);
        number(&mut action, id);
        let Some(kind) = event_of(&action) else {
            if let Action::ContinueAsNew { input, version } = action {
                // Takes a number but leaves no event; the end of the turn records it.
                self.event_id_next += 1;
                self.continue_as_new.get_or_insert((input, version));
            }
            return;
        };
        self.push(None, kind);
        let Some(event) = self.fresh.pop() else { return };
        self.ledger.record(&event);
        let limit = self.ctx.shared.state().start_limits.get(&token).copied();
        self.start_limits.extend(limit.map(|limit| (id, limit)));
        self.bind(token, &event);
        self.fresh.push(event);
        self.asked.push((id, action));
    }

    /// Ties an action to its schedule event, whether that is new or was read back.
    pub(super) fn bind(&mut self, token: u64, event: &Event) {
        let id = event.event_id;
        let mut state = self.ctx.shared.state();
        state.bind(token, id);
        // Only a new schedule needs its limit; the store knows those of older ones.
        state.start_limits.remove(&token);
        let woken = match &event.kind {
            EventKind::ExternalSubscribed { name } => {
                state.bind_wait(id, name);
                None
            }
            EventKind::QueueSubscribed { name } => {
                // A buffered message may answer it at once.
                self.must_poll = true;
                state.bind_dequeue(id, name)
            }
            _has_no_place_to_bind => None,
        };
        drop(state);
        wake_all(woken);
    }
}

/// Replaces the placeholder of a generated child id.
fn name_child(action: &mut Action, execution_id: u64, event_id: u64) {
    if let Action::StartSubOrchestration { instance, .. } = action
        && instance.starts_with(SUB_ORCH_AUTO_PREFIX)
    {
        *instance = child_suffix(execution_id, event_id);
    }
}

fn number(action: &mut Action, id: u64) {
    match action {
        Action::CallActivity { scheduling_event_id, .. }
        | Action::CreateTimer { scheduling_event_id, .. }
        | Action::WaitExternal { scheduling_event_id, .. }
        | Action::StartOrchestrationDetached { scheduling_event_id, .. }
        | Action::StartSubOrchestration { scheduling_event_id, .. }
        | Action::DequeueEvent { scheduling_event_id, .. } => *scheduling_event_id = id,
        Action::ContinueAsNew { .. }
        | Action::UpdateCustomStatus { .. }
        | Action::SetKeyValue { .. }
        | Action::ClearKeyValue { .. }
        | Action::ClearKeyValues => {}
    }
}

/// The event that records an action; continue-as-new has none of its own.
fn event_of(action: &Action) -> Option<EventKind> {
    Some(match action.clone() {
        Action::CallActivity { name, input, session_id, tag, .. } => {
            EventKind::ActivityScheduled { name, input, session_id, tag }
        }
        Action::CreateTimer { fire_at_ms, .. } => EventKind::TimerCreated { fire_at_ms },
        Action::WaitExternal { name, .. } => EventKind::ExternalSubscribed { name },
        Action::StartOrchestrationDetached { name, instance, input, .. } => {
            EventKind::OrchestrationChained { name, instance, input }
        }
        Action::StartSubOrchestration { name, instance, input, .. } => {
            EventKind::SubOrchestrationScheduled { name, instance, input }
        }
        Action::ContinueAsNew { .. } => return None,
        Action::UpdateCustomStatus { status } => EventKind::CustomStatusUpdated { status },
        Action::DequeueEvent { name, .. } => EventKind::QueueSubscribed { name },
        Action::SetKeyValue { key, value, last_updated_at_ms } => {
            EventKind::KeyValueSet { key, value, last_updated_at_ms }
        }
        Action::ClearKeyValue { key } => EventKind::KeyValueCleared { key },
        Action::ClearKeyValues => EventKind::KeyValuesCleared,
    })
}
