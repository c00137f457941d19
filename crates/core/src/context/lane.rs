//! One named stream of arrivals and the subscriptions that read it.
//!
//! Subscriptions are numbered in the order in which they were recorded; the n-th one that counts
//! reads the n-th arrival. A cancelled subscription no longer counts, so later ones move up.

use std::collections::{BTreeMap, VecDeque};

use super::positions::Positions;

/// A value that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// Order over all lanes, in which continue-as-new carries unread values forward.
    pub(crate) sequence: u64,
    pub(crate) data: String,
    read: bool,
}

/// Subscriptions and arrivals of one name.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    /// Subscriptions that count, including those that were read.
    positions: Positions,
    /// Unread subscriptions: schedule id to place. Places grow with ids.
    pending: BTreeMap<u64, usize>,
    /// Number of removed arrivals: those that no position can reach any more.
    trimmed: usize,
    arrivals: VecDeque<Arrival>,
    /// Trimmed arrivals that no subscription read.
    skipped: Vec<Arrival>,
}

impl Lane {
    fn arrived(&self) -> usize {
        self.trimmed + self.arrivals.len()
    }

    fn position(&self, id: u64) -> Option<usize> {
        self.pending.get(&id).map(|place| self.positions.position(*place))
    }

    /// The unread subscription at a position.
    fn pending_at(&self, position: usize) -> Option<u64> {
        self.positions.id_at(position).filter(|id| self.pending.contains_key(id))
    }

    /// Records a subscription.
    pub(crate) fn bind(&mut self, id: u64) {
        self.pending.insert(id, self.positions.push(id));
    }

    /// Whether a subscription waits for an arrival.
    pub(crate) fn has_open_position(&self) -> bool {
        self.positions.len() > self.arrived()
    }

    /// Adds an arrival. Returns the subscription that it completes.
    pub(crate) fn arrive(&mut self, sequence: u64, data: String) -> Option<u64> {
        let position = self.arrived();
        self.arrivals.push_back(Arrival { sequence, data, read: false });
        self.pending_at(position)
    }

    /// Whether the arrival of an unread subscription is here.
    pub(crate) fn has_arrival(&self, id: u64) -> bool {
        self.position(id).is_some_and(|position| position < self.arrived())
    }

    /// Reads the arrival of a subscription.
    pub(crate) fn take(&mut self, id: u64) -> Option<String> {
        let position = self.position(id).filter(|position| *position < self.arrived())?;
        self.pending.remove(&id);
        // A position below `trimmed` cannot occur: trimming stops at the lowest pending one.
        let index = position.checked_sub(self.trimmed)?;
        let data = if index == 0 && self.floor() > position {
            // No subscription can reach it again, so it is moved, not copied.
            self.trimmed += 1;
            self.arrivals.pop_front()?.data
        } else {
            let arrival = self.arrivals.get_mut(index)?;
            arrival.read = true;
            arrival.data.clone()
        };
        self.trim();
        Some(data)
    }

    /// Cancels a subscription; later ones move up. With `discard`, its arrival is removed, too.
    /// Returns the subscription that this completes.
    pub(crate) fn cancel(&mut self, id: u64, discard: bool) -> Option<u64> {
        let position = self.position(id)?;
        let has_arrival = position < self.arrived();
        self.positions.remove(self.pending.remove(&id)?);
        let completed = match has_arrival {
            true if discard => {
                self.arrivals.remove(position - self.trimmed);
                None
            }
            // The first one without an arrival moves to the last arrival.
            true => self.pending_at(self.arrived() - 1),
            false => None,
        };
        self.trim();
        completed
    }

    /// The lowest position that a present or future subscription can read.
    fn floor(&self) -> usize {
        let first = self.pending.first_key_value();
        first.map_or(self.positions.len(), |(_, place)| self.positions.position(*place))
    }

    fn trim(&mut self) {
        let first = self.pending.first_key_value().map(|(_, place)| *place);
        self.positions.forget_before(first);
        let floor = self.floor();
        while self.trimmed < floor {
            let Some(arrival) = self.arrivals.pop_front() else { return };
            self.trimmed += 1;
            if !arrival.read {
                self.skipped.push(arrival);
            }
        }
    }

    /// Whether the lane holds nothing: a new lane behaves the same.
    pub(crate) fn is_idle(&self) -> bool {
        self.positions.len() == self.trimmed
            && self.pending.is_empty()
            && self.arrivals.is_empty()
            && self.skipped.is_empty()
    }

    /// The arrivals that no subscription read.
    pub(crate) fn unread(&self) -> impl Iterator<Item = &Arrival> {
        self.skipped.iter().chain(self.arrivals.iter().filter(|arrival| !arrival.read))
    }

    /// Arrivals beyond the subscriptions that count, read or not.
    pub(crate) fn beyond_subscriptions(&self) -> impl Iterator<Item = &Arrival> {
        self.arrivals.iter().skip(self.positions.len().saturating_sub(self.trimmed))
    }

    pub(crate) fn bytes(&self) -> usize {
        let arrivals = self.arrivals.iter().chain(&self.skipped);
        arrivals.map(|arrival| size_of::<Arrival>() + arrival.data.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrive_all(lane: &mut Lane, data: &[&str]) {
        for (sequence, text) in data.iter().enumerate() {
            lane.arrive(sequence as u64, (*text).to_owned());
        }
    }

    fn unread(lane: &Lane) -> Vec<&str> {
        lane.unread().map(|arrival| arrival.data.as_str()).collect()
    }

    #[test]
    fn the_nth_subscription_reads_the_nth_arrival() {
        let mut lane = Lane::default();
        lane.bind(2);
        lane.bind(3);
        arrive_all(&mut lane, &["a", "b"]);
        assert_eq!(lane.take(3).as_deref(), Some("b"));
        assert_eq!(lane.take(2).as_deref(), Some("a"));
        assert_eq!(lane.take(2), None);
    }

    #[test]
    fn a_cancelled_subscription_passes_its_arrival_to_the_next_one() {
        let mut lane = Lane::default();
        lane.bind(2);
        lane.bind(3);
        arrive_all(&mut lane, &["a"]);
        assert!(!lane.has_arrival(3));
        assert_eq!(lane.cancel(2, false), Some(3));
        assert_eq!(lane.take(3).as_deref(), Some("a"));
    }

    #[test]
    fn a_discarded_arrival_reaches_no_other_subscription() {
        let mut lane = Lane::default();
        lane.bind(2);
        lane.bind(3);
        arrive_all(&mut lane, &["a"]);
        assert_eq!(lane.cancel(2, true), None);
        assert!(lane.has_open_position());
        assert_eq!(lane.arrive(9, "b".to_owned()), Some(3));
    }

    #[test]
    fn cancelling_an_older_dequeue_after_a_newer_read_moves_later_positions() {
        let mut lane = Lane::default();
        lane.bind(2);
        lane.bind(3);
        arrive_all(&mut lane, &["a", "b", "c"]);
        assert_eq!(lane.take(3).as_deref(), Some("b"));
        lane.cancel(2, false);
        lane.bind(7);
        assert_eq!(lane.take(7).as_deref(), Some("b"));
        assert_eq!(unread(&lane), ["a", "c"]);
    }

    /// The rule itself, without optimizations: all arrivals, and all subscriptions that count.
    #[derive(Default)]
    struct Model {
        /// Id, and whether it was read.
        counting: Vec<(u64, bool)>,
        /// Data, and whether it was read.
        arrivals: Vec<(u64, bool)>,
    }

    impl Model {
        fn position(&self, id: u64) -> Option<usize> {
            self.counting.iter().position(|(other, read)| *other == id && !read)
        }

        fn take(&mut self, id: u64) -> Option<String> {
            let position = self.position(id)?;
            let (data, read) = self.arrivals.get_mut(position)?;
            *read = true;
            self.counting[position].1 = true;
            Some(data.to_string())
        }

        fn cancel(&mut self, id: u64, discard: bool) {
            let Some(position) = self.position(id) else { return };
            self.counting.remove(position);
            if discard && position < self.arrivals.len() {
                self.arrivals.remove(position);
            }
        }

        fn ready(&self) -> Vec<u64> {
            let with_arrival = self.counting.iter().take(self.arrivals.len());
            with_arrival.filter(|(_, read)| !read).map(|(id, _)| *id).collect()
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config {
            failure_persistence: None,
            rng_seed: proptest::test_runner::RngSeed::Fixed(31),
            ..proptest::test_runner::Config::with_cases(500)
        })]

        #[test]
        fn lanes_match_the_model(steps in proptest::collection::vec((0..6_u8, 0..12_u64), 0..60)) {
            let (mut lane, mut model) = (Lane::default(), Model::default());
            for (sequence, (step, id)) in (100..).zip(steps) {
                let before = model.ready();
                let completed = match step {
                    0 | 1 => {
                        lane.bind(sequence);
                        model.counting.push((sequence, false));
                        Vec::from_iter(lane.has_arrival(sequence).then_some(sequence))
                    }
                    2 => {
                        model.arrivals.push((sequence, false));
                        Vec::from_iter(lane.arrive(sequence, sequence.to_string()))
                    }
                    3 => {
                        let taken = lane.take(100 + id);
                        proptest::prop_assert_eq!(taken, model.take(100 + id));
                        Vec::new()
                    }
                    _cancels => {
                        model.cancel(100 + id, step == 5);
                        Vec::from_iter(lane.cancel(100 + id, step == 5))
                    }
                };
                let mut new = model.ready();
                new.retain(|id| !before.contains(id));
                proptest::prop_assert_eq!(completed, new, "each step returns what it completes");
                proptest::prop_assert_eq!(
                    lane.has_open_position(),
                    model.counting.len() > model.arrivals.len()
                );
                let unread = model.arrivals.iter().filter(|(_, read)| !read);
                let unread: Vec<u64> = unread.map(|(data, _)| *data).collect();
                let mut kept: Vec<u64> = lane.unread().map(|arrival| arrival.sequence).collect();
                kept.sort_unstable();
                proptest::prop_assert_eq!(kept, unread);
                let beyond: Vec<u64> =
                    lane.beyond_subscriptions().map(|arrival| arrival.sequence).collect();
                let rest = model.arrivals.iter().skip(model.counting.len());
                proptest::prop_assert_eq!(beyond, rest.map(|(data, _)| *data).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn arrivals_that_no_subscription_can_reach_are_removed() {
        let mut lane = Lane::default();
        for id in 0..100 {
            lane.arrive(id, "x".to_owned());
            lane.bind(id);
            assert!(lane.take(id).is_some());
        }
        assert_eq!(lane.bytes(), 0);
        assert_eq!(lane.trimmed, 100);
    }
}
