//! Compares recorded schedules with what the code asks for.

use super::actions::{Difference, clears_a_key, difference};
use super::execution::Execution;
use super::roles::Role;
use crate::model::{Action, Event, EventKind};

impl Execution {
    /// Ties the oldest action that the code asked for to the recorded event.
    pub(super) fn match_asked(&mut self, event: &Event) {
        let position = self.position_of_match(event);
        let taken = self.ctx.shared.state().emitted.remove(position);
        let Some((token, action)) = taken else { return self.fault_nothing_asked(event) };
        match difference(&action, &event.kind) {
            Some(difference) => {
                self.note_mismatch(Some((token, &action)), &field_of(&difference));
                self.disagree(mismatch(&action, event, &difference));
            }
            None => self.bind(token, event),
        }
    }

    /// The oldest action, except that a cleared key may match anywhere in a leading run of clears:
    /// pruning may have visited the keys in another order.
    fn position_of_match(&self, event: &Event) -> usize {
        let EventKind::KeyValueCleared { .. } = event.kind else { return 0 };
        let state = self.ctx.shared.state();
        state
            .emitted
            .iter()
            .take_while(|(_, action)| clears_a_key(action))
            .position(|(_, action)| difference(action, &event.kind).is_none())
            .unwrap_or(0)
    }

    fn fault_nothing_asked(&mut self, event: &Event) {
        let text = match Role::of(&event.kind) {
            // Status and key-value calls that the code no longer makes change nothing later.
            Role::StateChange(_) => return,
            Role::Detached => "history OrchestrationChained but no emitted action",
            Role::Scheduled(_)
            | Role::Message
            | Role::Answer(_)
            | Role::GivenUp(_)
            | Role::Last => "history schedule but no emitted action",
        };
        self.note_mismatch(None, "kind");
        self.disagree(format!(
            "{text}: history has event {} = {:?}, the code asked for nothing",
            event.event_id, event.kind
        ));
    }
}

fn mismatch(action: &Action, event: &Event, difference: &Difference) -> String {
    let what = match Role::of(&event.kind) {
        Role::StateChange(what) => what,
        Role::Detached
        | Role::Scheduled(_)
        | Role::Message
        | Role::Answer(_)
        | Role::GivenUp(_)
        | Role::Last => "schedule",
    };
    let field = field_of(difference);
    format!(
        "{what} mismatch: action={action:?} vs event={:?} (event {}, differs in {field})",
        event.kind, event.event_id
    )
}

fn field_of(difference: &Difference) -> String {
    match difference {
        Difference::Kind => "kind".to_owned(),
        Difference::Field(name) => (*name).to_owned(),
    }
}
