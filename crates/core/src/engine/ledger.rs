//! Which schedules an execution has recorded, and which are still open.

use std::collections::BTreeMap;

use super::roles::{Role, Schedule};
use crate::limits::EVENTS_PER_EXECUTION_MAX;
use crate::model::{Event, EventKind};

/// One recorded schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) schedule: Schedule,
    pub(super) open: bool,
    cancel_requested: bool,
}

/// All recorded schedules by event id: a few bytes for each event, however large it was.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    entries: Vec<Option<Entry>>,
    /// How many of them are open.
    open: usize,
    /// Unresolved children.
    children: BTreeMap<u64, Child>,
}

/// A child that has not answered.
#[derive(Debug)]
pub(super) struct Child {
    /// Instance id, as recorded.
    pub(super) instance: String,
    /// Registered name.
    pub(super) name: String,
    pub(super) scheduled_at_ms: u64,
}

impl Ledger {
    /// Updates the schedules for an event, recorded or new.
    pub(super) fn record(&mut self, event: &Event) {
        let role = Role::of(&event.kind);
        if let Role::Scheduled(schedule) = role {
            self.insert(event.event_id, schedule);
        }
        if let EventKind::SubOrchestrationScheduled { instance, name, .. } = &event.kind {
            let child = Child {
                instance: instance.clone(),
                name: name.clone(),
                scheduled_at_ms: event.timestamp_ms,
            };
            self.children.insert(event.event_id, child);
        }
        let Some(source) = event.source_event_id else { return };
        match role {
            Role::Answer(Schedule::SubOrchestration) => {
                self.children.remove(&source);
                self.close(source);
            }
            Role::Answer(_) | Role::GivenUp(Schedule::Wait | Schedule::Dequeue) => {
                self.close(source);
            }
            Role::GivenUp(Schedule::Activity | Schedule::SubOrchestration | Schedule::Timer) => {
                if let Some(entry) = self.get_mut(source) {
                    entry.cancel_requested = true;
                }
            }
            Role::Message
            | Role::Scheduled(_)
            | Role::Detached
            | Role::StateChange(_)
            | Role::Marker
            | Role::Last => {}
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

    /// Whether no schedule is open.
    pub(super) fn is_settled(&self) -> bool {
        self.open == 0
    }

    /// Activities that are scheduled, not finished and not cancelled, ascending.
    pub(super) fn activities_in_flight(&self) -> Vec<u64> {
        self.select(|entry| {
            entry.schedule == Schedule::Activity && entry.open && !entry.cancel_requested
        })
    }

    /// Waits and dequeues without a value, ascending.
    pub(super) fn open_subscriptions(&self) -> Vec<(u64, Schedule)> {
        let open = self.select(|entry| {
            matches!(entry.schedule, Schedule::Wait | Schedule::Dequeue) && entry.open
        });
        open.into_iter().filter_map(|id| Some((id, self.get(id)?.schedule))).collect()
    }

    /// Unresolved children that were not cancelled, ascending, as recorded.
    pub(super) fn children_in_flight(&self) -> Vec<(u64, &str)> {
        self.children
            .iter()
            .filter(|(id, _)| self.get(**id).is_some_and(|entry| !entry.cancel_requested))
            .map(|(id, child)| (*id, child.instance.as_str()))
            .collect()
    }

    /// An unresolved child.
    pub(super) fn child(&self, id: u64) -> Option<&Child> {
        self.children.get(&id)
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

    fn insert(&mut self, id: u64, schedule: Schedule) {
        let Some(index) = index(id) else { return };
        if self.entries.len() <= index {
            self.entries.resize(index + 1, None);
        }
        self.entries[index] = Some(Entry { schedule, open: true, cancel_requested: false });
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

/// The place of an event id in the table. `None` if the id is too large for memory.
fn index(id: u64) -> Option<usize> {
    (1..=EVENTS_PER_EXECUTION_MAX).contains(&id).then(|| usize::try_from(id - 1).ok()).flatten()
}
