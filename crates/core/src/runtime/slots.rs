//! Numbered slots that bound how much a node does at once.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// A fixed number of slots.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Free slots.
    free: Mutex<BTreeSet<usize>>,
    freed: Notify,
    /// Slots that have served a session. Only they may serve it again.
    owners: Mutex<BTreeSet<usize>>,
    owner_freed: Notify,
}

impl Shared {
    fn free(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn owners(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An occupied slot. Dropping it frees it.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) index: usize,
    shared: Arc<Shared>,
}

impl Slot {
    /// Whether sessions may wait for this slot.
    pub(crate) fn owns_session(&self) -> bool {
        self.shared.owners().contains(&self.index)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.shared.free().insert(self.index);
        self.shared.freed.notify_one();
        if self.shared.owners().contains(&self.index) {
            self.shared.owner_freed.notify_one();
        }
    }
}

impl Slots {
    pub(crate) fn new(count: usize) -> Self {
        let free = Mutex::new((0..count).collect());
        let shared = Shared {
            free,
            freed: Notify::new(),
            owners: Mutex::default(),
            owner_freed: Notify::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Whether any slot has served a session.
    pub(crate) fn own_sessions(&self) -> bool {
        !self.shared.owners().is_empty()
    }

    /// Marks a slot as the owner of a session from now on.
    pub(crate) fn own_session(&self, index: usize) {
        self.shared.owners().insert(index);
    }

    /// Returns when a slot that owns a session has become free since the last call. One caller at a
    /// time.
    pub(crate) async fn owner_freed(&self) {
        self.shared.owner_freed.notified().await;
    }

    /// Waits for a free slot and claims up to `count_max` of those that are free then. One caller
    /// at a time.
    pub(crate) async fn take(&self, count_max: usize) -> Vec<Slot> {
        self.wait_for_free().await;
        self.claim_up_to(count_max)
    }

    /// Waits until a slot is free and returns all free ones, without claiming any. One caller at a
    /// time.
    pub(crate) async fn wait_for_free(&self) -> Vec<usize> {
        loop {
            // Registered before the check, so that a slot freed in between is not missed.
            let freed = self.shared.freed.notified();
            let free: Vec<usize> = self.shared.free().iter().copied().collect();
            if !free.is_empty() {
                return free;
            }
            freed.await;
        }
    }

    /// Claims this slot, if it is free.
    pub(crate) fn claim(&self, index: usize) -> Option<Slot> {
        let free = self.shared.free().remove(&index);
        free.then(|| self.slot(index))
    }

    /// Claims any slot.
    pub(crate) fn claim_any(&self) -> Option<Slot> {
        self.claim_up_to(1).pop()
    }

    /// Claims any slot but the last free one.
    pub(crate) fn claim_spare(&self) -> Option<Slot> {
        let mut free = self.shared.free();
        let index = if free.len() > 1 { free.pop_first() } else { None };
        index.map(|index| self.slot(index))
    }

    /// Whether a slot is free.
    pub(crate) fn has_free(&self) -> bool {
        !self.shared.free().is_empty()
    }

    fn claim_up_to(&self, count_max: usize) -> Vec<Slot> {
        let mut free = self.shared.free();
        let claimed = std::iter::from_fn(|| free.pop_first()).take(count_max);
        claimed.map(|index| self.slot(index)).collect()
    }

    fn slot(&self, index: usize) -> Slot {
        Slot { index, shared: Arc::clone(&self.shared) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indexes(slots: &[Slot]) -> Vec<usize> {
        slots.iter().map(|slot| slot.index).collect()
    }

    #[tokio::test]
    async fn slots_are_claimed_lowest_first_and_freed_by_drop() {
        let slots = Slots::new(3);
        let first = slots.take(2).await;
        assert_eq!(indexes(&first), [0, 1]);
        assert_eq!(indexes(&slots.take(9).await), [2]);
        drop(first);
        assert_eq!(slots.take(9).await.len(), 3);
    }

    #[tokio::test]
    async fn the_last_free_slot_is_not_spare() {
        let slots = Slots::new(2);
        let spare = slots.claim_spare();
        assert_eq!(spare.as_ref().map(|slot| slot.index), Some(0));
        assert!(slots.claim_spare().is_none());
        assert_eq!(slots.wait_for_free().await, [1]);
        assert!(slots.claim(0).is_none() && slots.claim(1).is_some());
    }

    #[tokio::test]
    async fn claiming_waits_until_a_slot_is_free() {
        let slots = Slots::new(1);
        let held = slots.take(1).await;
        let waiting = tokio::spawn({
            let slots = slots.clone();
            async move { slots.take(1).await.len() }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(held);
        assert_eq!(waiting.await.unwrap(), 1);
    }
}
