//! Numbered places for work, so that a node takes no more than it can do.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// A fixed number of slots.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Free slots, the next one to take last.
    free: Mutex<Vec<usize>>,
    freed: Notify,
}

impl Shared {
    fn free(&self) -> MutexGuard<'_, Vec<usize>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A taken slot; dropping it frees it.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) index: usize,
    shared: Arc<Shared>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.shared.free().push(self.index);
        self.shared.freed.notify_one();
    }
}

impl Slots {
    pub(crate) fn new(count: usize) -> Self {
        let free = Mutex::new((0..count).rev().collect());
        Self { shared: Arc::new(Shared { free, freed: Notify::new() }) }
    }

    /// Waits for a free slot and takes up to `count_max` of those that are free then. For one
    /// caller at a time.
    pub(crate) async fn take(&self, count_max: usize) -> Vec<Slot> {
        loop {
            // Made before looking: a slot freed in between is not missed.
            let freed = self.shared.freed.notified();
            let taken = self.take_free(count_max);
            if !taken.is_empty() {
                return taken;
            }
            freed.await;
        }
    }

    fn take_free(&self, count_max: usize) -> Vec<Slot> {
        let mut free = self.shared.free();
        let keep = free.len().saturating_sub(count_max);
        free.split_off(keep)
            .into_iter()
            .rev()
            .map(|index| Slot { index, shared: Arc::clone(&self.shared) })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indexes(slots: &[Slot]) -> Vec<usize> {
        slots.iter().map(|slot| slot.index).collect()
    }

    #[tokio::test]
    async fn slots_are_taken_lowest_first_and_freed_by_drop() {
        let slots = Slots::new(3);
        let first = slots.take(2).await;
        assert_eq!(indexes(&first), [0, 1]);
        assert_eq!(indexes(&slots.take(9).await), [2]);
        drop(first);
        assert_eq!(slots.take(9).await.len(), 3);
    }

    #[tokio::test]
    async fn taking_waits_until_a_slot_is_free() {
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
