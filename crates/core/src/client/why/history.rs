//! What an execution has asked for and not got, event by event. Only what is open is kept.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::lines::clipped;
use super::streams::{Early, Streams};
use super::{EarlierFailures, UndecodableEvents};
use crate::limits::{WHY_FAILURES_REMEMBERED_MAX, WHY_TEXT_MAX};
use crate::model::cancel_request::{CANCEL_REQUESTED, CancelRequest};
use crate::model::patch::is_marker_name;
use crate::model::{ErrorDetails, Event, EventKind, build_child_instance_id};
use crate::providers::{RawEvent, StoredEvent};

/// A scheduled activity.
#[derive(Debug)]
pub(super) struct OpenActivity {
    pub(super) name: String,
    pub(super) tag: Option<String>,
    pub(super) session_id: Option<String>,
    pub(super) at_ms: u64,
    pub(super) failures: Option<EarlierFailures>,
    call: CallKey,
}

/// A created timer.
#[derive(Debug)]
pub(super) struct OpenTimer {
    pub(super) at_ms: u64,
    pub(super) fire_at_ms: u64,
    pub(super) retries: Option<EarlierFailures>,
}

/// A requested child.
#[derive(Debug)]
pub(super) struct OpenChild {
    pub(super) instance: String,
    pub(super) name: String,
    pub(super) at_ms: u64,
}

/// What is open in one execution.
#[derive(Debug)]
pub(super) struct OpenWaits {
    pub(super) events: u64,
    pub(super) last_event_id: u64,
    pub(super) undecodable: Option<UndecodableEvents>,
    pub(super) pin: Option<String>,
    pub(super) cancel_requested: Option<String>,
    pub(super) activities: BTreeMap<u64, OpenActivity>,
    pub(super) timers: BTreeMap<u64, OpenTimer>,
    pub(super) children: BTreeMap<u64, OpenChild>,
    pub(super) waits: Streams,
    pub(super) queues: Streams,
    /// Calls that failed and did not succeed since.
    failures: HashMap<CallKey, EarlierFailures>,
    /// The call that failed last, if the code has scheduled nothing since.
    failed_last: Option<CallKey>,
}

/// Distinguishes calls of activities: name, input, session and tag. Retries share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct CallKey(u64);

impl CallKey {
    fn of(parts: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        parts.hash(&mut hasher);
        Self(hasher.finish())
    }
}

impl OpenWaits {
    pub(super) fn new() -> Self {
        Self {
            events: 0,
            last_event_id: 0,
            undecodable: None,
            pin: None,
            cancel_requested: None,
            activities: BTreeMap::new(),
            timers: BTreeMap::new(),
            children: BTreeMap::new(),
            waits: Streams::new(Early::Missed),
            queues: Streams::new(Early::Kept),
            failures: HashMap::new(),
            failed_last: None,
        }
    }

    pub(super) fn note(&mut self, event: &StoredEvent) {
        self.events += 1;
        self.last_event_id = event.event_id();
        match event {
            StoredEvent::Decoded(event) => self.note_event(event),
            StoredEvent::Raw(event) => self.note_raw(event),
        }
    }

    /// The provider cannot read on.
    pub(super) fn note_unreadable(&mut self, error: String) {
        self.undecodable.get_or_insert(UndecodableEvents {
            total: 1,
            first_event_id: None,
            event_kind: None,
            written_by: None,
            error,
        });
    }

    fn note_raw(&mut self, event: &RawEvent) {
        let known = self.undecodable.get_or_insert_with(|| UndecodableEvents {
            total: 0,
            first_event_id: Some(event.event_id),
            event_kind: event.kind.as_deref().map(|kind| clipped(kind, WHY_TEXT_MAX)),
            written_by: event.duroxide_version.as_deref().map(|it| clipped(it, WHY_TEXT_MAX)),
            error: clipped(&event.error, WHY_TEXT_MAX),
        });
        known.total += 1;
    }

    fn note_event(&mut self, event: &Event) {
        let (id, at_ms) = (event.event_id, event.timestamp_ms);
        let source = event.source_event_id.unwrap_or_default();
        match &event.kind {
            EventKind::OrchestrationStarted { carry_forward_events, .. } => {
                self.pin = Some(event.duroxide_version.clone());
                for (name, _) in carry_forward_events.iter().flatten() {
                    self.queues.arrive(name);
                }
            }
            EventKind::ActivityScheduled { name, input, session_id, tag } => {
                self.failed_last = None;
                let call = CallKey::of((name, input, session_id, tag));
                let activity = OpenActivity {
                    name: name.clone(),
                    tag: tag.clone(),
                    session_id: session_id.clone(),
                    at_ms,
                    failures: self.failures.get(&call).cloned(),
                    call,
                };
                self.activities.insert(id, activity);
            }
            EventKind::ActivityCompleted { .. } => self.succeeded(source),
            EventKind::ActivityFailed { details } => self.failed(source, details, at_ms),
            EventKind::ActivityCancelRequested { .. } => drop(self.activities.remove(&source)),
            EventKind::TimerCreated { fire_at_ms } => {
                let failed = self.failed_last.take();
                let retries = failed.and_then(|call| self.failures.get(&call).cloned());
                self.timers.insert(id, OpenTimer { at_ms, fire_at_ms: *fire_at_ms, retries });
            }
            EventKind::TimerFired { .. } => drop(self.timers.remove(&source)),
            EventKind::SubOrchestrationScheduled { name, instance, .. } => {
                self.failed_last = None;
                let instance = build_child_instance_id(&event.instance_id, instance);
                self.children.insert(id, OpenChild { instance, name: name.clone(), at_ms });
            }
            EventKind::SubOrchestrationCompleted { .. }
            | EventKind::SubOrchestrationFailed { .. }
            | EventKind::SubOrchestrationCancelRequested { .. } => {
                self.children.remove(&source);
            }
            EventKind::OrchestrationCancelRequested { reason } => {
                self.cancel_requested = Some(clipped(reason, WHY_TEXT_MAX));
            }
            EventKind::ExternalSubscribed { .. }
            | EventKind::ExternalEvent { .. }
            | EventKind::ExternalSubscribedCancelled { .. }
            | EventKind::QueueSubscribed { .. }
            | EventKind::QueueEventDelivered { .. }
            | EventKind::QueueSubscriptionCancelled { .. } => self.note_stream(event),
            #[cfg(feature = "replay-version-test")]
            EventKind::ExternalSubscribed2 { .. } | EventKind::ExternalEvent2 { .. } => {
                self.note_stream(event);
            }
            EventKind::OrchestrationCompleted { .. }
            | EventKind::OrchestrationFailed { .. }
            | EventKind::OrchestrationChained { .. }
            | EventKind::OrchestrationContinuedAsNew { .. }
            | EventKind::CustomStatusUpdated { .. }
            | EventKind::KeyValueSet { .. }
            | EventKind::KeyValueCleared { .. }
            | EventKind::KeyValuesCleared => {}
        }
    }

    fn note_stream(&mut self, event: &Event) {
        let (id, at_ms) = (event.event_id, event.timestamp_ms);
        let source = event.source_event_id.unwrap_or_default();
        match &event.kind {
            EventKind::ExternalSubscribed { name } => {
                self.failed_last = None;
                self.waits.wait(id, name, at_ms);
            }
            EventKind::ExternalEvent { name, .. } if is_marker_name(name) => {}
            EventKind::ExternalEvent { name, .. } if name == CANCEL_REQUESTED => {
                let request = CancelRequest::of(event);
                let reason = request.map(|request| clipped(&request.reason, WHY_TEXT_MAX));
                self.cancel_requested = reason.or(self.cancel_requested.take());
            }
            EventKind::ExternalEvent { name, .. } => self.waits.arrive(name),
            EventKind::ExternalSubscribedCancelled { .. } => self.waits.cancel(source),
            EventKind::QueueSubscribed { name } => {
                self.failed_last = None;
                self.queues.wait(id, name, at_ms);
            }
            EventKind::QueueEventDelivered { name, .. } => self.queues.arrive(name),
            EventKind::QueueSubscriptionCancelled { .. } => self.queues.cancel(source),
            #[cfg(feature = "replay-version-test")]
            EventKind::ExternalSubscribed2 { name, topic } => {
                self.waits.wait(id, &format!("{name}/{topic}"), at_ms);
            }
            #[cfg(feature = "replay-version-test")]
            EventKind::ExternalEvent2 { name, topic, .. } => {
                self.waits.arrive(&format!("{name}/{topic}"));
            }
            _other => {}
        }
    }

    fn succeeded(&mut self, activity_id: u64) {
        if let Some(activity) = self.activities.remove(&activity_id) {
            self.failures.remove(&activity.call);
        }
    }

    fn failed(&mut self, activity_id: u64, details: &ErrorDetails, at_ms: u64) {
        let Some(activity) = self.activities.remove(&activity_id) else { return };
        let count = self.failures.get(&activity.call).map_or(0, |earlier| earlier.count);
        if count == 0 && self.failures.len() >= WHY_FAILURES_REMEMBERED_MAX {
            let oldest = self.failures.iter().min_by_key(|(_, it)| it.last_activity_id);
            if let Some(oldest) = oldest.map(|(call, _)| *call) {
                self.failures.remove(&oldest);
            }
        }
        let failures = EarlierFailures {
            count: count.saturating_add(1),
            last_activity_id: activity_id,
            name: activity.name,
            last_error: clipped(&details.display_message(), WHY_TEXT_MAX),
            at_ms,
        };
        self.failures.insert(activity.call, failures);
        self.failed_last = Some(activity.call);
    }
}
