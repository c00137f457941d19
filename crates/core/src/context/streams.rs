//! The lanes of one kind: of positional signals, or of queues.

use std::collections::{BTreeMap, HashMap};

use super::lane::{Arrival, Lane};

/// Lanes by name.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    lanes: BTreeMap<String, Lane>,
    /// The name of every subscription that has not been read.
    names: HashMap<u64, String>,
    sequence_next: u64,
}

impl Streams {
    pub(crate) fn bind(&mut self, id: u64, name: &str) {
        self.lanes.entry(name.to_owned()).or_default().bind(id);
        self.names.insert(id, name.to_owned());
    }

    pub(crate) fn has_open_position(&self, name: &str) -> bool {
        self.lanes.get(name).is_some_and(Lane::has_open_position)
    }

    /// Adds an arrival. Returns the subscription that it completes.
    pub(crate) fn arrive(&mut self, name: String, data: String) -> Option<u64> {
        let sequence = self.sequence_next;
        self.sequence_next += 1;
        self.lanes.entry(name).or_default().arrive(sequence, data)
    }

    /// Whether the arrival of an unread subscription is here.
    pub(crate) fn has_arrival(&self, id: u64) -> bool {
        self.lane_of(id).is_some_and(|lane| lane.has_arrival(id))
    }

    pub(crate) fn take(&mut self, id: u64) -> Option<String> {
        let data = self.lanes.get_mut(self.names.get(&id)?)?.take(id)?;
        let name = self.names.remove(&id)?;
        self.forget_idle(&name);
        Some(data)
    }

    /// Cancels a subscription. Returns the subscription that this completes.
    pub(crate) fn cancel(&mut self, id: u64, discard: bool) -> Option<u64> {
        let name = self.names.remove(&id)?;
        let ready = self.lanes.get_mut(&name).and_then(|lane| lane.cancel(id, discard));
        self.forget_idle(&name);
        ready
    }

    /// Removes an idle lane. Names are often used once; a long execution must not keep them all.
    fn forget_idle(&mut self, name: &str) {
        if self.lanes.get(name).is_some_and(Lane::is_idle) {
            self.lanes.remove(name);
        }
    }

    /// Unread arrivals, in arrival order.
    pub(crate) fn unread(&self) -> Vec<(String, String)> {
        self.in_arrival_order(|lane| lane.unread().collect())
    }

    /// Arrivals beyond the subscriptions of their lane, in arrival order.
    pub(crate) fn beyond_subscriptions(&self) -> Vec<(String, String)> {
        self.in_arrival_order(|lane| lane.beyond_subscriptions().collect())
    }

    fn in_arrival_order<'a>(
        &'a self,
        select: impl Fn(&'a Lane) -> Vec<&'a Arrival>,
    ) -> Vec<(String, String)> {
        let mut selected: Vec<(&String, &Arrival)> = self
            .lanes
            .iter()
            .flat_map(|(name, lane)| select(lane).into_iter().map(move |arrival| (name, arrival)))
            .collect();
        selected.sort_by_key(|(_, arrival)| arrival.sequence);
        selected.into_iter().map(|(name, arrival)| (name.clone(), arrival.data.clone())).collect()
    }

    fn lane_of(&self, id: u64) -> Option<&Lane> {
        self.lanes.get(self.names.get(&id)?)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.lanes.values().map(Lane::bytes).sum()
    }
}
