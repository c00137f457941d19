//! Records what the code asks for.

use super::actions::{Effect, ScheduleId, effect_of};
use super::execution::Execution;
use super::feed::wake_all;
use crate::model::{Action, Event, EventKind};

impl Execution {
    /// Records actions one at a time, each as if it were read back, until the code asks for nothing
    /// more.
    pub(super) fn record_asked(&mut self) {
        loop {
            self.settle();
            let (markers, next) = {
                let mut state = self.ctx.shared.state();
                (std::mem::take(&mut state.patches.unrecorded), state.emitted.pop_front())
            };
            // Only whether there is a marker counts on replay, not its place.
            for marker in markers {
                self.push(None, marker);
            }
            let Some((token, action)) = next else { return };
            self.record(token, action);
        }
    }

    fn record(&mut self, token: u64, action: Action) {
        let event_id = self.event_id_next;
        let execution_id = self.execution_id();
        let instance = &self.ctx.shared.instance_id;
        let (kind, message) =
            match effect_of(action, &ScheduleId { instance, execution_id, event_id }) {
                Effect::Recorded { event, message } => (event, message),
                Effect::ContinueAsNew { input, version } => {
                    // Takes a number but leaves no event; the end of the turn records it.
                    self.event_id_next += 1;
                    self.continue_as_new.get_or_insert((input, version));
                    return;
                }
            };
        self.push(None, kind);
        let Some(event) = self.fresh.pop() else { return };
        self.ledger.record(&event);
        let limit = self.ctx.shared.state().start_limits.get(&token).copied();
        self.start_limits.extend(limit.map(|limit| (event_id, limit)));
        self.bind(token, &event);
        self.fresh.push(event);
        self.outgoing.extend(message);
    }

    /// Ties an action to its schedule event, whether that is new or was read back.
    pub(super) fn bind(&mut self, token: u64, event: &Event) {
        let id = event.event_id;
        let mut state = self.ctx.shared.state();
        state.bind(token, id);
        // Only a new schedule needs its limit; the store knows those of older ones.
        state.start_limits.remove(&token);
        let mut woken = None;
        if let EventKind::ExternalSubscribed { name } = &event.kind {
            state.bind_wait(id, name);
        } else if let EventKind::QueueSubscribed { name } = &event.kind {
            // A buffered message may answer it at once.
            self.must_poll = true;
            woken = state.bind_dequeue(id, name);
        }
        #[cfg(feature = "replay-version-test")]
        if let EventKind::ExternalSubscribed2 { name, topic } = &event.kind {
            state.bind_wait(id, &crate::context::topic_lane(name, topic));
        }
        drop(state);
        wake_all(woken);
    }
}
