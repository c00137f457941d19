//! Compares recorded schedules with what the code asks for.

use std::collections::VecDeque;

use super::actions::{Difference, clears_a_key, difference};
use super::execution::Execution;
use super::inputs::{self, bounded_debug};
use super::roles::Role;
use crate::limits::{DIFFERENCES_SHOWN_MAX, MISMATCH_OPERATION_MAX};
use crate::model::{Action, Event, EventKind};

impl Execution {
    /// Ties the oldest action that the code asked for to the recorded event.
    pub(super) fn match_asked(&mut self, event: &Event) {
        let position = self.position_of_match(event);
        let taken = {
            let mut state = self.ctx.shared.state();
            if state.rules.status_unrecorded {
                skip_unrecorded_statuses(&mut state.emitted, &event.kind);
            }
            state.emitted.remove(position)
        };
        let Some((token, action)) = taken else { return self.fault_nothing_asked(event) };
        if let Some(difference) = difference(&action, &event.kind, &self.ignored_inputs) {
            self.note_mismatch(Some((token, &action)), &field_of(&difference));
            let text = mismatch(&action, event, &difference) + &self.uncalled_patches();
            return self.disagree(text);
        }
        if let (Action::SetKeyValue { key, value, .. }, EventKind::KeyValueSet { value: v, .. }) =
            (&action, &event.kind)
        {
            self.ctx.shared.state().kv.adopt_recorded(key, value, v);
        }
        self.bind(token, event);
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
            .position(|(_, action)| difference(action, &event.kind, &self.ignored_inputs).is_none())
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
            | Role::Marker
            | Role::GivenUp(_)
            | Role::Last => "history schedule but no emitted action",
        };
        self.note_mismatch(None, "kind");
        self.disagree(format!(
            "{text}: history has event {} = {}, the code asked for nothing{}",
            event.event_id,
            bounded_debug(&event.kind, MISMATCH_OPERATION_MAX),
            self.uncalled_patches()
        ));
    }

    /// The most probable reason of a mismatch, if newer code has run this execution.
    fn uncalled_patches(&self) -> String {
        let state = self.ctx.shared.state();
        let ids: Vec<&String> = state.patches.uncalled().take(DIFFERENCES_SHOWN_MAX).collect();
        match ids.is_empty() {
            true => String::new(),
            false => format!("; history has patches that this code has not called for: {ids:?}"),
        }
    }
}

/// Releases before 0.1.20 recorded no changes of the custom status.
fn skip_unrecorded_statuses(emitted: &mut VecDeque<(u64, Action)>, recorded: &EventKind) {
    if matches!(recorded, EventKind::CustomStatusUpdated { .. }) {
        return;
    }
    while let Some((_, Action::UpdateCustomStatus { .. })) = emitted.front() {
        emitted.pop_front();
    }
}

fn mismatch(action: &Action, event: &Event, difference: &Difference<'_>) -> String {
    let what = match Role::of(&event.kind) {
        Role::StateChange(what) => what,
        Role::Detached
        | Role::Scheduled(_)
        | Role::Message
        | Role::Answer(_)
        | Role::Marker
        | Role::GivenUp(_)
        | Role::Last => "schedule",
    };
    let field = field_of(difference);
    format!(
        "{what} mismatch: action={} vs event={} (event {}, differs in {field})",
        bounded_debug(action, MISMATCH_OPERATION_MAX),
        bounded_debug(&event.kind, MISMATCH_OPERATION_MAX),
        event.event_id
    )
}

/// The field that differs; of inputs, the fields within.
fn field_of(difference: &Difference<'_>) -> String {
    match difference {
        Difference::Kind => "kind".to_owned(),
        Difference::Field(name) => (*name).to_owned(),
        Difference::Meaning { field, recorded, requested } => {
            format!("{field}: {}", inputs::describe(recorded, requested))
        }
    }
}
