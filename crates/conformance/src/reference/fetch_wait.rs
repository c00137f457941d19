//! Waiting for work without polling in a loop.
//!
//! Between a successful poll and the return there is no await, so a dropped fetch leases nothing.

use std::time::Duration;

use duroxide_core::providers::ChangeScope;
use duroxide_core::providers::kit::LongPoll;

use super::provider::MemoryProvider;

/// The result of a poll.
pub(crate) struct Polled<T> {
    pub(crate) found: Vec<T>,
    /// When an item may become fetchable without a change.
    pub(crate) next_due: Option<u64>,
}

/// Polls until an item is found or `poll_timeout` has passed.
pub(crate) async fn fetch<T>(
    provider: &MemoryProvider,
    scope: ChangeScope<'_>,
    poll_timeout: Duration,
    poll: impl Fn() -> Polled<T>,
) -> Vec<T> {
    let mut long_poll = LongPoll::new(provider.hub(), scope, poll_timeout);
    loop {
        let Polled { found, next_due } = poll();
        if !found.is_empty() || !long_poll.wait(provider.clock_ref(), next_due).await {
            return found;
        }
    }
}
