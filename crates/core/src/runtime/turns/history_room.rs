//! Bounds the long histories that a node holds at once.
//!
//! A history is in memory only while its execution is rebuilt. After a restart many executions are
//! rebuilt together, and long histories add up.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::{EVENT_BYTES, HISTORY_BYTES_AT_ONCE_MAX};
use crate::providers::DeferredHistory;

/// Bytes that one permit stands for: a semaphore counts in 32 bits.
const UNIT: u64 = 1024;

/// Room for histories that turns read for themselves.
pub(crate) struct HistoryRoom {
    room: Arc<Semaphore>,
}

/// Room that one turn occupies until it is dropped.
pub(crate) struct ReservedRoom {
    _permits: Option<OwnedSemaphorePermit>,
}

impl HistoryRoom {
    pub(crate) fn new() -> Self {
        Self { room: Arc::new(Semaphore::new(units(u64::MAX) as usize)) }
    }

    /// Waits until there is room for a history. One that is too long waits for all of it.
    pub(crate) async fn reserve(&self, history: DeferredHistory) -> ReservedRoom {
        let bytes = history.bytes.saturating_add(history.events.saturating_mul(EVENT_BYTES));
        // The semaphore is never closed, so this cannot fail.
        let permits = Arc::clone(&self.room).acquire_many_owned(units(bytes)).await.ok();
        ReservedRoom { _permits: permits }
    }
}

fn units(bytes: u64) -> u32 {
    let bytes = bytes.min(HISTORY_BYTES_AT_ONCE_MAX);
    u32::try_from(bytes / UNIT).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn long_histories_wait_for_each_other_and_short_ones_do_not() {
        let room = HistoryRoom::new();
        let long = DeferredHistory::new(1_000_000, 1 << 40);
        let short = DeferredHistory::new(1_000, 100_000);
        let first = room.reserve(long).await;
        assert!(room.reserve(long).now_or_never().is_none());
        drop(first);
        let several: Vec<_> = (0..100).map(|_| room.reserve(short).now_or_never()).collect();
        assert!(several.iter().all(Option::is_some));
    }
}
