//! Which schedules an execution has recorded, and which are still open.

use std::collections::BTreeMap;

use crate::limits::EVENTS_PER_EXECUTION_MAX;
use crate::model::{Event, EventKind};

/// What a schedule event asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Activity,
    Timer,
    SubOrchestration,
    Wait,
    Dequeue,
}

impl Asked {
    /// The word of nondeterminism texts.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Activity => "activity",
            Self::Timer => "timer",
            Self::SubOrchestration => "suborchestration",
            Self::Wait => "external",
            Self::Dequeue => "persistent",
        }
    }

    fn of(kind: &EventKind) -> Option<Self> {
        match kind {
            EventKind::ActivityScheduled { .. } => Some(Self::Activity),
            EventKind::TimerCreated { .. } => Some(Self::Timer),
            EventKind::SubOrchestrationScheduled { .. } => Some(Self::SubOrchestration),
            EventKind::ExternalSubscribed { .. } => Some(Self::Wait),
            EventKind::QueueSubscribed { .. } => Some(Self::Dequeue),
            _not_a_schedule => None,
        }
    }
}

/// One recorded schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) asked: Asked,
    pub(super) open: bool,
    cancel_requested: bool,
}

/// All recorded schedules by event id: a few bytes for each event, however large it was.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    entries: Vec<Option<Entry>>,
    /// How many of them are open.
    open: usize,
    /// Instance ids of unresolved children, as recorded.
    children: BTreeMap<u64, String>,
}

impl Ledger {
    /// Takes note of an event, recorded or new.
    pub(super) fn record(&mut self, event: &Event) {
        if let Some(asked) = Asked::of(&event.kind) {
            self.insert(event.event_id, asked);
        }
        if let EventKind::SubOrchestrationScheduled { instance, .. } = &event.kind {
            self.children.insert(event.event_id, instance.clone());
        }
        let Some(source) = event.source_event_id else { return };
        match &event.kind {
            EventKind::ActivityCompleted { .. }
            | EventKind::ActivityFailed { .. }
            | EventKind::TimerFired { .. }
            | EventKind::ExternalSubscribedCancelled { .. }
            | EventKind::QueueSubscriptionCancelled { .. } => self.close(source),
            EventKind::SubOrchestrationCompleted { .. }
            | EventKind::SubOrchestrationFailed { .. } => {
                self.children.remove(&source);
                self.close(source);
            }
            EventKind::ActivityCancelRequested { .. }
            | EventKind::SubOrchestrationCancelRequested { .. } => {
                if let Some(entry) = self.get_mut(source) {
                    entry.cancel_requested = true;
                }
            }
            _says_nothing_about_schedules => {}
        }
    }

    pub(super) fn get(&self, id: u64) -> Option<Entry> {
        self.entries.get(index(id)?).copied().flatten()
    }

    /// The subscription has its value.
    pub(super) fn close(&mut self, id: u64) {
        if let Some(entry) = self.get_mut(id)
            && std::mem::replace(&mut entry.open, false)
        {
            self.open -= 1;
        }
    }

    /// Whether nothing recorded can still be answered.
    pub(super) fn is_settled(&self) -> bool {
        self.open == 0
    }

    /// Activities that are scheduled, not finished and not cancelled, ascending.
    pub(super) fn activities_in_flight(&self) -> Vec<u64> {
        self.select(|entry| entry.asked == Asked::Activity && entry.open && !entry.cancel_requested)
    }

    /// Waits and dequeues without a value, ascending.
    pub(super) fn open_subscriptions(&self) -> Vec<(u64, Asked)> {
        let open =
            self.select(|entry| matches!(entry.asked, Asked::Wait | Asked::Dequeue) && entry.open);
        open.into_iter().filter_map(|id| Some((id, self.get(id)?.asked))).collect()
    }

    /// Unresolved children that were not cancelled, ascending, as recorded.
    pub(super) fn children_in_flight(&self) -> Vec<(u64, &str)> {
        self.children
            .iter()
            .filter(|(id, _)| self.get(**id).is_some_and(|entry| !entry.cancel_requested))
            .map(|(id, instance)| (*id, instance.as_str()))
            .collect()
    }

    /// Instance id of an unresolved child, as recorded.
    pub(super) fn child(&self, id: u64) -> Option<&str> {
        self.children.get(&id).map(String::as_str)
    }

    /// Forgets every schedule from `event_id` on.
    pub(super) fn truncate(&mut self, event_id: u64) {
        if let Some(index) = index(event_id) {
            self.entries.truncate(index);
        }
        self.open = self.entries.iter().flatten().filter(|entry| entry.open).count();
        self.children.split_off(&event_id);
    }

    pub(super) fn bytes(&self) -> usize {
        self.entries.len() * size_of::<Option<Entry>>()
    }

    fn insert(&mut self, id: u64, asked: Asked) {
        let Some(index) = index(id) else { return };
        if self.entries.len() <= index {
            self.entries.resize(index + 1, None);
        }
        self.entries[index] = Some(Entry { asked, open: true, cancel_requested: false });
        self.open += 1;
    }

    fn get_mut(&mut self, id: u64) -> Option<&mut Entry> {
        self.entries.get_mut(index(id)?)?.as_mut()
    }

    fn select(&self, wanted: impl Fn(&Entry) -> bool) -> Vec<u64> {
        (1..)
            .zip(&self.entries)
            .filter(|(_, entry)| entry.as_ref().is_some_and(&wanted))
            .map(|(id, _)| id)
            .collect()
    }
}

/// Where an event id stands in the table; a stored id too large for memory has no place.
fn index(id: u64) -> Option<usize> {
    (1..=EVENTS_PER_EXECUTION_MAX).contains(&id).then(|| usize::try_from(id - 1).ok()).flatten()
}
