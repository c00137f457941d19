//! The wait between two polls of a fetch.

use std::time::Duration;

use tokio::time::Instant;

use crate::clock::Clock;
use crate::providers::{ChangeHub, ChangeScope, ChangeWatch};

/// A wait is never longer than this, so that sums of times cannot overflow.
const POLL_TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The wait of a fetch that has found nothing.
///
/// Make it, poll, then [`wait`](Self::wait), and poll again while it returns true. The watch exists
/// before the first poll, so a change after that poll is not missed.
#[derive(Debug)]
pub struct LongPoll {
    changes: ChangeWatch,
    deadline: Instant,
    recheck_after: Option<Duration>,
}

impl LongPoll {
    /// Watches `scope` and waits for at most `poll_timeout` from now.
    pub fn new(hub: &ChangeHub, scope: ChangeScope<'_>, poll_timeout: Duration) -> Self {
        let deadline = Instant::now() + poll_timeout.min(POLL_TIMEOUT_MAX);
        Self { changes: hub.watch(scope), deadline, recheck_after: None }
    }

    /// Ends every wait after this long, in case a change was not notified, as of another process
    /// that crashed between its commit and its notification.
    #[must_use]
    pub fn recheck_after(mut self, interval: Duration) -> Self {
        self.recheck_after = Some(interval);
        self
    }

    /// Waits for a change, or for `due`: the time at which something becomes fetchable although
    /// nothing changes. Returns true if the caller polls again, false after the poll timeout.
    pub async fn wait(&mut self, clock: &dyn Clock, due: Option<u64>) -> bool {
        let now = Instant::now();
        if now >= self.deadline {
            return false;
        }
        let due = async {
            match due {
                Some(due) => clock.sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        let recheck = self.recheck_after.map(|interval| now + interval);
        let limit = recheck.map_or(self.deadline, |recheck| recheck.min(self.deadline));
        tokio::select! {
            () = self.changes.changed() => true,
            () = due => true,
            () = tokio::time::sleep_until(limit) => Instant::now() < self.deadline,
        }
    }

    /// Whether the poll timeout is over, so that [`wait`](Self::wait) returns at once.
    pub fn is_over(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// The watch, for a caller that checks it without waiting or keeps it for its next fetch.
    pub fn changes(&mut self) -> &mut ChangeWatch {
        &mut self.changes
    }

    /// Returns the watch, for the next fetch.
    pub fn into_changes(self) -> ChangeWatch {
        self.changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn a_change_before_the_wait_ends_it() {
        let hub = ChangeHub::default();
        let mut poll = LongPoll::new(&hub, ChangeScope::OrchestratorQueue, LONG);
        hub.notify(ChangeScope::OrchestratorQueue);
        let started = Instant::now();
        assert!(poll.wait(&SystemClock, None).await);
        assert_eq!(started.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn the_poll_timeout_ends_the_last_wait() {
        let hub = ChangeHub::default();
        let mut poll = LongPoll::new(&hub, ChangeScope::WorkerQueue, LONG);
        assert!(!poll.wait(&SystemClock, None).await);
        assert!(!poll.wait(&SystemClock, None).await);
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_notification_the_caller_polls_again_after_the_interval() {
        let hub = ChangeHub::default();
        let poll = LongPoll::new(&hub, ChangeScope::WorkerQueue, LONG);
        let mut poll = poll.recheck_after(LONG / 2);
        assert!(poll.wait(&SystemClock, None).await);
        assert!(!poll.wait(&SystemClock, None).await);
    }
}
