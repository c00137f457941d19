//! Which waits of a name are open, and which arrivals no wait has taken.

use std::collections::{BTreeMap, VecDeque};

use super::{BufferedMessages, Listed, WaitingEvent};
use crate::limits::{WHY_LISTED_MAX, WHY_TAKEN_REMEMBERED_MAX};

/// What becomes of an arrival that no wait is open for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Early {
    /// The next wait takes it: a queue.
    Kept,
    /// No wait takes it: a positional signal.
    Missed,
}

/// The waits and arrivals of all names.
#[derive(Debug)]
pub(super) struct Streams {
    early: Early,
    /// Open waits: schedule id to since when, by name. A name without any has no entry.
    open: BTreeMap<String, BTreeMap<u64, u64>>,
    names: BTreeMap<u64, String>,
    /// Arrivals that no wait has taken, by name.
    untaken: BTreeMap<String, u64>,
    /// The last waits that took an arrival: one that is cancelled in the same turn returns it.
    taken: VecDeque<(u64, String)>,
}

impl Streams {
    pub(super) fn new(early: Early) -> Self {
        Self {
            early,
            open: BTreeMap::new(),
            names: BTreeMap::new(),
            untaken: BTreeMap::new(),
            taken: VecDeque::new(),
        }
    }

    pub(super) fn wait(&mut self, id: u64, name: &str, since_ms: u64) {
        if self.early == Early::Kept && self.take_untaken(name) {
            self.remember(id, name);
            return;
        }
        self.open.entry(name.to_owned()).or_default().insert(id, since_ms);
        self.names.insert(id, name.to_owned());
    }

    pub(super) fn arrive(&mut self, name: &str) {
        let first = self.open.get(name).and_then(|waits| waits.keys().next().copied());
        match first {
            Some(id) => {
                self.close(id);
                self.remember(id, name);
            }
            None => *self.untaken.entry(name.to_owned()).or_default() += 1,
        }
    }

    pub(super) fn cancel(&mut self, id: u64) {
        if self.close(id) || self.early == Early::Missed {
            return;
        }
        let taken = self.taken.iter().position(|(taken, _)| *taken == id);
        if let Some((_, name)) = taken.and_then(|place| self.taken.remove(place)) {
            self.arrive(&name);
        }
    }

    /// Open waits by name, the longest first.
    pub(super) fn waits(&self) -> Listed<WaitingEvent> {
        let mut items: Vec<(u64, WaitingEvent)> = Vec::new();
        for (name, waits) in &self.open {
            let Some((first, since_ms)) = waits.first_key_value() else { continue };
            let wait =
                WaitingEvent { name: name.clone(), count: waits.len() as u64, since_ms: *since_ms };
            items.push((*first, wait));
        }
        items.sort_unstable_by_key(|(first, _)| *first);
        let total = self.names.len() as u64;
        Listed { total, items: items.into_iter().map(|it| it.1).take(WHY_LISTED_MAX).collect() }
    }

    /// Arrivals that no wait has taken, by name.
    pub(super) fn untaken(&self) -> Listed<BufferedMessages> {
        let item =
            |(name, count): (&String, &u64)| BufferedMessages { name: name.clone(), count: *count };
        let items = self.untaken.iter().take(WHY_LISTED_MAX).map(item).collect();
        Listed { total: self.untaken.values().sum(), items }
    }

    fn close(&mut self, id: u64) -> bool {
        let Some(name) = self.names.remove(&id) else { return false };
        if let Some(waits) = self.open.get_mut(&name) {
            waits.remove(&id);
            if waits.is_empty() {
                self.open.remove(&name);
            }
        }
        true
    }

    fn take_untaken(&mut self, name: &str) -> bool {
        let Some(count) = self.untaken.get_mut(name) else { return false };
        *count -= 1;
        if *count == 0 {
            self.untaken.remove(name);
        }
        true
    }

    fn remember(&mut self, id: u64, name: &str) {
        self.taken.push_back((id, name.to_owned()));
        if self.taken.len() > WHY_TAKEN_REMEMBERED_MAX {
            self.taken.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(listed: &Listed<BufferedMessages>) -> Vec<(&str, u64)> {
        listed.items.iter().map(|it| (it.name.as_str(), it.count)).collect()
    }

    #[test]
    fn a_queue_keeps_what_no_read_has_taken() {
        let mut queues = Streams::new(Early::Kept);
        queues.arrive("a");
        queues.arrive("b");
        queues.arrive("a");
        queues.wait(2, "a", 10);
        queues.wait(3, "c", 20);
        assert_eq!(counts(&queues.untaken()), [("a", 1), ("b", 1)]);
        assert_eq!(queues.waits().items[0].name, "c");
        // A read that lost a race returns its message.
        queues.cancel(2);
        assert_eq!(counts(&queues.untaken()), [("a", 2), ("b", 1)]);
        queues.cancel(3);
        assert_eq!(queues.waits(), Listed::default());
    }

    #[test]
    fn a_signal_without_a_wait_is_missed() {
        let mut waits = Streams::new(Early::Missed);
        waits.arrive("go");
        waits.wait(2, "go", 10);
        waits.wait(3, "go", 20);
        assert_eq!(waits.waits().items[0].count, 2);
        assert_eq!(counts(&waits.untaken()), [("go", 1)]);
        waits.arrive("go");
        assert_eq!(waits.waits().items[0].since_ms, 20);
        assert_eq!(waits.waits().total, 1);
    }
}
