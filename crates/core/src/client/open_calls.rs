//! What an execution has asked for and not got, by its stored history.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{Client, ClientError};
use crate::model::mended::Lineage;
use crate::model::{Event, EventKind, build_child_instance_id};
use crate::providers::{StoredEvent, StoredEventsQuery};

/// The start of an execution and its unresolved calls. Events that this build cannot decode are
/// passed over.
#[derive(Debug, Default)]
pub(super) struct OpenCalls {
    pub(super) start: Option<Event>,
    /// Activities that are scheduled, not finished and not cancelled.
    pub(super) activities: BTreeSet<u64>,
    /// Ids of children by the call that waits for them, cancelled ones included.
    pub(super) children: BTreeMap<u64, String>,
    /// The executions that made the calls, if this one was mended.
    pub(super) lineage: Lineage,
    /// Some events cannot be decoded.
    pub(super) is_partial: bool,
    /// Children that such an event may have started.
    pub(super) other_children: BTreeSet<String>,
    /// Subscriptions that were not given up, with what they subscribe to.
    subscribed: BTreeMap<u64, (Subscription, String)>,
    /// What something arrived for.
    arrived: HashSet<(Subscription, String)>,
}

/// A kind of subscription to messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Subscription {
    /// To a signal.
    Wait,
    /// To a message of a queue.
    Dequeue,
}

impl OpenCalls {
    fn note(&mut self, event: StoredEvent) {
        let StoredEvent::Decoded(event) = event else {
            self.is_partial = true;
            return;
        };
        let source = event.source_event_id.unwrap_or_default();
        self.note_subscription(&event, source);
        self.lineage.note(&event);
        if event.is_start() {
            self.start = Some(*event);
        } else if matches!(event.kind, EventKind::ActivityScheduled { .. }) {
            self.activities.insert(event.event_id);
        } else if let EventKind::SubOrchestrationScheduled { instance, .. } = &event.kind {
            let child = build_child_instance_id(&event.instance_id, instance);
            self.children.insert(event.event_id, child);
        } else if matches!(
            event.kind,
            EventKind::ActivityCompleted { .. }
                | EventKind::ActivityFailed { .. }
                | EventKind::ActivityCancelRequested { .. }
        ) {
            self.activities.remove(&source);
        } else if matches!(
            event.kind,
            EventKind::SubOrchestrationCompleted { .. } | EventKind::SubOrchestrationFailed { .. }
        ) {
            self.children.remove(&source);
        }
    }

    fn note_subscription(&mut self, event: &Event, source: u64) {
        if let EventKind::ExternalSubscribed { name } = &event.kind {
            self.subscribed.insert(event.event_id, (Subscription::Wait, name.clone()));
        } else if let EventKind::QueueSubscribed { name } = &event.kind {
            self.subscribed.insert(event.event_id, (Subscription::Dequeue, name.clone()));
        } else if let EventKind::ExternalEvent { name, .. } = &event.kind {
            self.arrived.insert((Subscription::Wait, name.clone()));
        } else if let EventKind::QueueEventDelivered { name, .. } = &event.kind {
            self.arrived.insert((Subscription::Dequeue, name.clone()));
        } else if matches!(
            event.kind,
            EventKind::ExternalSubscribedCancelled { .. }
                | EventKind::QueueSubscriptionCancelled { .. }
        ) {
            self.subscribed.remove(&source);
        }
    }

    /// The open subscriptions that nothing arrived for. Which of several arrivals belongs to which
    /// subscription only the engine knows, so that such subscriptions are left out; and so are all
    /// if an arrival may be among the events that cannot be decoded.
    pub(super) fn subscriptions(&self) -> impl Iterator<Item = (u64, Subscription)> {
        let is_certain = move |(_, subscribed): &(&u64, &(Subscription, String))| {
            !self.is_partial && !self.arrived.contains(*subscribed)
        };
        self.subscribed
            .iter()
            .filter(is_certain)
            .map(|(id, (subscription, _))| (*id, *subscription))
    }
}

impl Client {
    /// Reads what is open in one execution.
    pub(super) async fn open_calls(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<OpenCalls, ClientError> {
        let admin = self.admin()?;
        let mut open = OpenCalls::default();
        let mut query = StoredEventsQuery::new(instance, execution_id);
        loop {
            let events = admin.read_stored_events(query.clone()).await?;
            let Some(last) = events.last().map(StoredEvent::event_id) else { return Ok(open) };
            events.into_iter().for_each(|event| open.note(event));
            query = query.behind(last);
        }
    }
}
