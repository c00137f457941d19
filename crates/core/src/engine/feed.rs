//! Delivers one event to the code.

use std::task::Waker;

use tracing::warn;

use super::execution::Execution;
use super::mending::is_mending;
use super::roles::Schedule;
use crate::context::drops::DropKind;
use crate::model::cancel_request::CANCEL_REQUESTED;
use crate::model::patch::is_marker_name;
use crate::model::stored_attribute::{is_attribute_key, is_start_attribute};
use crate::model::{CancelRequest, CompletionResult, Event, EventKind};

/// The reason in the event that records a dropped future.
pub(super) const DROPPED_FUTURE: &str = "dropped_future";

impl Execution {
    /// Polls the code if an earlier event moved it, then applies this one.
    pub(super) fn feed(&mut self, event: &Event) {
        // The code runs once the attributes behind its start are known.
        if !is_mending(event) && !event.is_start() && !is_start_attribute(event) {
            self.settle();
        }
        if self.end.is_none() {
            self.apply(event);
        } else if let EventKind::QueueEventDelivered { name, data } = &event.kind {
            // The code has returned, but if it also continued as new, the successor reads this.
            self.message(name, data);
        }
        self.note_mending(event);
        self.note_cancel_request(event);
        // Also after the code has returned: schedules in flight must be cancelled at the end.
        self.ledger.record(event);
        self.note_lifecycle(event);
    }

    /// A request to cancel counts also when the code has returned earlier in the same batch.
    fn note_lifecycle(&mut self, event: &Event) {
        if let EventKind::OrchestrationCancelRequested { reason } = &event.kind {
            self.cancel_reason.get_or_insert_with(|| reason.clone());
        }
        self.over |= event.is_terminal();
    }

    fn apply(&mut self, event: &Event) {
        match &event.kind {
            EventKind::CustomStatusUpdated { .. }
            | EventKind::KeyValueSet { .. }
            | EventKind::KeyValueCleared { .. }
                if event.source_event_id.is_some() =>
            {
                self.apply_given(&event.kind);
            }
            EventKind::ActivityScheduled { .. }
            | EventKind::TimerCreated { .. }
            | EventKind::ExternalSubscribed { .. }
            | EventKind::QueueSubscribed { .. }
            | EventKind::SubOrchestrationScheduled { .. }
            | EventKind::OrchestrationChained { .. }
            | EventKind::CustomStatusUpdated { .. }
            | EventKind::KeyValueSet { .. }
            | EventKind::KeyValueCleared { .. }
            | EventKind::KeyValuesCleared => self.match_asked(event),

            EventKind::ActivityCompleted { result } => {
                self.complete(event, CompletionResult::ActivityOk(result.clone()));
            }
            EventKind::ActivityFailed { details } => {
                self.complete(event, CompletionResult::ActivityErr(details.display_message()));
            }
            EventKind::TimerFired { .. } => self.complete(event, CompletionResult::TimerFired),
            EventKind::SubOrchestrationCompleted { result } => {
                self.complete(event, CompletionResult::SubOrchOk(result.clone()));
            }
            EventKind::SubOrchestrationFailed { details } => {
                self.complete(event, CompletionResult::SubOrchErr(details.display_message()));
            }

            // Replay has read all markers before its first event.
            EventKind::ExternalEvent { name, .. } if is_marker_name(name) => {}
            EventKind::ExternalEvent { name, .. } if name == CANCEL_REQUESTED => {
                if let Some(request) = CancelRequest::of(event) {
                    self.show_cancel_request(request);
                }
            }
            EventKind::ExternalEvent { name, data } => self.signal(name, data),
            #[cfg(feature = "replay-version-test")]
            EventKind::ExternalSubscribed2 { .. } => self.match_asked(event),
            #[cfg(feature = "replay-version-test")]
            EventKind::ExternalEvent2 { name, topic, data } => {
                self.signal(&crate::context::topic_lane(name, topic), data);
            }
            EventKind::QueueEventDelivered { name, data } => self.message(name, data),

            EventKind::ActivityCancelRequested { reason } => {
                self.record_given_up(DropKind::Activity, event, reason);
            }
            EventKind::SubOrchestrationCancelRequested { reason } => {
                self.record_given_up(DropKind::SubOrchestration, event, reason);
            }
            EventKind::ExternalSubscribedCancelled { reason } => {
                self.record_given_up(DropKind::Wait, event, reason);
            }
            EventKind::QueueSubscriptionCancelled { reason } => {
                self.record_given_up(DropKind::Dequeue, event, reason);
            }

            EventKind::OrchestrationCancelRequested { .. }
            | EventKind::OrchestrationStarted { .. }
            | EventKind::OrchestrationCompleted { .. }
            | EventKind::OrchestrationFailed { .. }
            | EventKind::OrchestrationContinuedAsNew { .. } => {}
        }
    }

    /// Applies a change that the code did not ask for.
    fn apply_given(&mut self, kind: &EventKind) {
        let mut state = self.ctx.shared.state();
        if let EventKind::KeyValueSet { key, value, last_updated_at_ms } = kind {
            match is_attribute_key(key) {
                true => state.kv.set_attribute(key.clone(), Some(value.clone())),
                false => state.kv.put(key.clone(), value.clone(), *last_updated_at_ms),
            }
        } else if let EventKind::KeyValueCleared { key } = kind {
            state.kv.remove(key);
        } else if let EventKind::CustomStatusUpdated { status } = kind {
            state.custom_status.clone_from(status);
        }
    }

    fn complete(&mut self, event: &Event, result: CompletionResult) {
        let entry = event.source_event_id.and_then(|id| Some((id, self.ledger.get(id)?)));
        let Some((id, entry)) = entry.filter(|(_, entry)| entry.open) else {
            return self.disagree(format!(
                "completion without open schedule: event {} ({}) answers schedule {}",
                event.event_id,
                event.kind.type_tag(),
                event.source_event_id.map_or_else(|| "none".to_owned(), |id| id.to_string())
            ));
        };
        let is_activity = matches!(result, CompletionResult::ActivityOk(_));
        if is_activity && entry.schedule != Schedule::Activity {
            return self.disagree(format!(
                "completion kind mismatch: expected activity: event {} answers schedule {id}, \
                 which asked for '{}'",
                event.event_id,
                entry.schedule.word()
            ));
        }
        let waker = self.ctx.shared.state().deliver(id, result);
        wake_all(waker);
        self.must_poll = true;
    }

    fn message(&mut self, queue: &str, data: &str) {
        let waker = self.ctx.shared.state().deliver_message(queue.to_owned(), data.to_owned());
        wake_all(waker);
        self.must_poll = true;
    }

    fn signal(&mut self, name: &str, data: &str) {
        let (accepted, waker) =
            self.ctx.shared.state().deliver_signal(name.to_owned(), data.to_owned());
        wake_all(waker);
        if accepted {
            self.must_poll = true;
        } else if !self.ctx.is_replaying() {
            warn!(
                target: "duroxide::runtime",
                instance_id = %self.ctx.shared.instance_id,
                execution_id = self.execution_id(),
                event_name = name,
                "no wait is open for this signal; it is recorded and not delivered"
            );
        }
    }

    fn record_given_up(&mut self, kind: DropKind, event: &Event, reason: &str) {
        let Some(id) = event.source_event_id else { return };
        let mut state = self.ctx.shared.state();
        if reason == DROPPED_FUTURE {
            state.drops.record(kind, id);
        }
        let waker = state.cancel_subscription(kind, id);
        drop(state);
        wake_all(waker);
    }
}

/// Call this outside the lock: a waker may read the state.
pub(super) fn wake_all(wakers: impl IntoIterator<Item = Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}
