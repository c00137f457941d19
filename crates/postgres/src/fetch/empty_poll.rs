//! What a fetch of turns saw at its end: nothing else to take. The next one need not look to know.

use std::sync::{Mutex, MutexGuard, PoisonError};

use duroxide_core::providers::{ChangeWatch, FetchFilter, TurnFetch};
use tokio::time::Instant;

/// The end of the last fetch that took all there was.
#[derive(Debug, Default)]
pub(crate) struct EmptyPoll(Mutex<Option<LastPoll>>);

/// A look that left nothing to take, for a caller with these abilities.
#[derive(Debug)]
pub(crate) struct LastPoll {
    filter: FetchFilter,
    /// Made before the look, so that it knows of every change since.
    pub(crate) changes: ChangeWatch,
    /// When something may become fetchable although nothing changes.
    pub(crate) due: Option<u64>,
    pub(crate) looked: Instant,
}

impl EmptyPoll {
    fn lock(&self) -> MutexGuard<'_, Option<LastPoll>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what a fetch saw.
    pub(crate) fn keep(
        &self,
        fetch: &TurnFetch<'_>,
        changes: ChangeWatch,
        due: Option<u64>,
        looked: Instant,
    ) {
        *self.lock() = Some(LastPoll { filter: fetch.filter.clone(), changes, due, looked });
    }

    /// What is known to a fetch before it looks. A caller who does not wait wants a look.
    pub(crate) fn take(&self, fetch: &TurnFetch<'_>) -> Option<LastPoll> {
        if fetch.poll_timeout.is_zero() {
            return None;
        }
        let mut kept = self.lock();
        let fits = kept.as_ref().is_some_and(|last| last.filter == *fetch.filter);
        if fits { kept.take() } else { None }
    }
}
