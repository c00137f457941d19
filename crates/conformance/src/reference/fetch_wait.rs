//! Waiting for work without asking again and again.
//!
//! Make the watch, then look, then wait: a change between the look and the wait is not missed. A
//! wait ends at a change, when something becomes due although nothing changes, or when the
//! caller's time is up. Between a look that found something and the answer there is no await, so
//! a fetch that is dropped has leased nothing.

use std::time::Duration;

use duroxide_core::providers::{ChangeScope, ChangeWatch, Clock};
use tokio::time::Instant;

use super::provider::MemoryProvider;

/// A wait is never longer than this, so that sums of times cannot overflow.
const POLL_TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// What a look found.
pub(crate) struct Look<T> {
    pub(crate) found: Vec<T>,
    /// When something may become fetchable although nothing changes.
    pub(crate) next_due: Option<u64>,
}

/// Looks until something is found or `poll_timeout` is over.
pub(crate) async fn fetch<T>(
    provider: &MemoryProvider,
    scope: ChangeScope<'_>,
    poll_timeout: Duration,
    look: impl Fn() -> Look<T>,
) -> Vec<T> {
    let deadline = Instant::now() + poll_timeout.min(POLL_TIMEOUT_MAX);
    let mut changes = provider.hub().watch(scope);
    loop {
        let Look { found, next_due } = look();
        if !found.is_empty() || Instant::now() >= deadline {
            return found;
        }
        let woken = tokio::select! {
            () = tokio::time::sleep_until(deadline) => false,
            () = change_or_due(&mut changes, provider.clock_ref(), next_due) => true,
        };
        if !woken {
            return Vec::new();
        }
    }
}

async fn change_or_due(changes: &mut ChangeWatch, clock: &dyn Clock, next_due: Option<u64>) {
    let due = async {
        match next_due {
            Some(due) => clock.sleep_until(due).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = changes.changed() => {}
        () = due => {}
    }
}
