//! What a part of a history leaves open.

use std::collections::{BTreeMap, VecDeque};

use crate::model::mended::HeldSignal;
use crate::model::patch::is_marker_name;
use crate::model::{CancelRequest, Event, EventKind};

/// Calls without an answer, and the state after the events.
#[derive(Debug, Default)]
pub(super) struct Open {
    pub(super) activities: BTreeMap<u64, OpenActivity>,
    /// Due times.
    pub(super) timers: BTreeMap<u64, u64>,
    pub(super) children: BTreeMap<u64, OpenChild>,
    pub(super) waits: Waits,
    /// Held signals that were not delivered.
    pub(super) held: BTreeMap<u64, HeldSignal>,
    pub(super) custom_status: Option<String>,
}

#[derive(Debug, Clone)]
pub(super) struct OpenActivity {
    pub(super) name: String,
    pub(super) input: String,
    pub(super) session_id: Option<String>,
    pub(super) tag: Option<String>,
}

#[derive(Debug, Clone)]
pub(super) struct OpenChild {
    pub(super) name: String,
    /// As recorded.
    pub(super) instance: String,
    pub(super) input: String,
}

impl Open {
    /// What these events leave open.
    pub(super) fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut open = Self::default();
        events.into_iter().for_each(|event| open.note(event));
        open
    }

    pub(super) fn note(&mut self, event: &Event) {
        self.note_schedule(event);
        self.note_answer(event);
        self.note_signal(event);
    }

    fn note_schedule(&mut self, event: &Event) {
        let id = event.event_id;
        if let EventKind::ActivityScheduled { name, input, session_id, tag } = &event.kind {
            let activity = OpenActivity {
                name: name.clone(),
                input: input.clone(),
                session_id: session_id.clone(),
                tag: tag.clone(),
            };
            self.activities.insert(id, activity);
        } else if let EventKind::TimerCreated { fire_at_ms } = &event.kind {
            self.timers.insert(id, *fire_at_ms);
        } else if let Some(deadline_ms) = CancelRequest::of(event).and_then(|it| it.deadline_ms) {
            // The deadline of a request is a timer of its event.
            self.timers.insert(id, deadline_ms);
        } else if let EventKind::SubOrchestrationScheduled { name, instance, input } = &event.kind {
            let (name, instance, input) = (name.clone(), instance.clone(), input.clone());
            self.children.insert(id, OpenChild { name, instance, input });
        } else if let EventKind::ExternalSubscribed { name } = &event.kind {
            self.waits.subscribe(id, name);
        } else if let EventKind::OrchestrationStarted { initial_custom_status, .. } = &event.kind {
            self.custom_status.clone_from(initial_custom_status);
        } else if let EventKind::CustomStatusUpdated { status } = &event.kind {
            self.custom_status.clone_from(status);
        }
    }

    /// A call that the code gave up needs no answer either.
    fn note_answer(&mut self, event: &Event) {
        let Some(source) = event.source_event_id else { return };
        if matches!(
            event.kind,
            EventKind::ActivityCompleted { .. }
                | EventKind::ActivityFailed { .. }
                | EventKind::ActivityCancelRequested { .. }
        ) {
            self.activities.remove(&source);
        } else if matches!(event.kind, EventKind::TimerFired { .. }) {
            self.timers.remove(&source);
        } else if matches!(
            event.kind,
            EventKind::SubOrchestrationCompleted { .. }
                | EventKind::SubOrchestrationFailed { .. }
                | EventKind::SubOrchestrationCancelRequested { .. }
        ) {
            self.children.remove(&source);
        } else if matches!(event.kind, EventKind::ExternalSubscribedCancelled { .. }) {
            self.waits.cancel(source);
        }
    }

    fn note_signal(&mut self, event: &Event) {
        let EventKind::ExternalEvent { name, .. } = &event.kind else { return };
        if let Some(signal) = HeldSignal::of(event) {
            self.held.insert(signal.id, signal);
        } else if !is_marker_name(name) {
            self.waits.deliver(name);
            if let Some(held) = event.source_event_id {
                self.held.remove(&held);
            }
        }
    }
}

/// Waits that have no signal yet, in order.
#[derive(Debug, Default)]
pub(super) struct Waits {
    by_name: BTreeMap<String, VecDeque<u64>>,
}

impl Waits {
    fn subscribe(&mut self, id: u64, name: &str) {
        self.by_name.entry(name.to_owned()).or_default().push_back(id);
    }

    fn cancel(&mut self, id: u64) {
        self.by_name.values_mut().for_each(|waits| waits.retain(|wait| *wait != id));
    }

    /// The wait that receives a signal; `None` if it is lost.
    fn deliver(&mut self, name: &str) -> Option<u64> {
        self.by_name.get_mut(name)?.pop_front()
    }

    /// The wait that would receive a signal.
    pub(super) fn next(&self, name: &str) -> Option<u64> {
        self.by_name.get(name)?.front().copied()
    }
}
