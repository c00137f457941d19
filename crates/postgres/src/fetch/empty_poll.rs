//! Remembers that the last fetch of turns left nothing behind, so that the next one waits without
//! an empty poll.

use std::sync::{Mutex, MutexGuard, PoisonError};

use duroxide_core::providers::{ChangeWatch, FetchFilter, TurnFetch};
use tokio::time::Instant;

/// The last fetch that leased all fetchable turns, if no other fetch came since.
#[derive(Debug, Default)]
pub(crate) struct EmptyPoll(Mutex<Option<LastPoll>>);

/// A poll that left nothing fetchable for a caller that can run these versions.
#[derive(Debug)]
pub(crate) struct LastPoll {
    filter: FetchFilter,
    /// Created before the poll, so that it sees every change since.
    pub(crate) changes: ChangeWatch,
    /// When something may become fetchable although nothing changes.
    pub(crate) due: Option<u64>,
    pub(crate) polled_at: Instant,
}

impl EmptyPoll {
    fn lock(&self) -> MutexGuard<'_, Option<LastPoll>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a poll.
    pub(crate) fn keep(
        &self,
        fetch: &TurnFetch<'_>,
        changes: ChangeWatch,
        due: Option<u64>,
        polled_at: Instant,
    ) {
        *self.lock() = Some(LastPoll { filter: fetch.filter.clone(), changes, due, polled_at });
    }

    /// The poll that this fetch need not repeat. A caller that does not wait always polls.
    pub(crate) fn take(&self, fetch: &TurnFetch<'_>) -> Option<LastPoll> {
        if fetch.poll_timeout.is_zero() {
            return None;
        }
        let mut kept = self.lock();
        let fits = kept.as_ref().is_some_and(|last| last.filter == *fetch.filter);
        if fits { kept.take() } else { None }
    }
}
