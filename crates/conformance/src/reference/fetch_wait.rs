//! Waiting for work without polling in a loop.
//!
//! Create the watch, then poll, then wait: a change between the poll and the wait is not missed. A
//! wait ends at a change, when an item becomes due, or at the caller's timeout. Between a
//! successful poll and the return there is no await, so a dropped fetch leases nothing.

use std::time::Duration;

use duroxide_core::providers::{ChangeScope, ChangeWatch, Clock};
use tokio::time::Instant;

use super::provider::MemoryProvider;

/// A wait is never longer than this, so that sums of times cannot overflow.
const POLL_TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The result of a poll.
pub(crate) struct Look<T> {
    pub(crate) found: Vec<T>,
    /// When an item may become fetchable without a change.
    pub(crate) next_due: Option<u64>,
}

/// Polls until an item is found or `poll_timeout` has passed.
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
