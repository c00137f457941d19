//! Executions that continue the kept events of another one.

use super::execution::Execution;
use crate::model::mended::{HELD_SIGNAL, HeldSignal, MENDED};
use crate::model::patch::is_marker_name;
use crate::model::{Event, EventKind};

/// Whether an event stands behind the kept events of another execution. The code is not polled
/// before it: what it does there belongs to the next turn.
pub(super) fn is_mending(event: &Event) -> bool {
    let EventKind::ExternalEvent { name, .. } = &event.kind else { return false };
    name == MENDED || name == HELD_SIGNAL
}

impl Execution {
    /// Notes what a mended execution records about its past.
    pub(super) fn note_mending(&mut self, event: &Event) {
        let EventKind::ExternalEvent { name, .. } = &event.kind else { return };
        if is_marker_name(name) {
            self.lineage.note(event);
            self.held_signals.extend(HeldSignal::of(event));
        } else if let Some(held) = event.source_event_id {
            self.held_signals.retain(|signal| signal.id != held);
        }
    }

    /// Delivers held signals, in order, for as long as waits for them are open. Each is recorded
    /// before the code sees it, as if it had arrived now.
    pub(super) fn deliver_held_signals(&mut self) {
        while let Some(HeldSignal { id, name, data }) = self.deliverable_signal() {
            self.push(Some(id), EventKind::ExternalEvent { name, data });
            let Some(event) = self.fresh.pop() else { return };
            self.feed(&event);
            self.fresh.push(event);
            self.record_asked();
        }
    }

    fn deliverable_signal(&self) -> Option<HeldSignal> {
        if self.held_signals.is_empty() || self.end.is_some() {
            return None;
        }
        let state = self.ctx.shared.state();
        let is_awaited = |signal: &&HeldSignal| state.waits.has_open_position(&signal.name);
        self.held_signals.iter().find(is_awaited).cloned()
    }
}
