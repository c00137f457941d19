//! Activities that must be started in time.

use std::time::Duration;

/// A schedule-to-start limit of one activity of a commit.
///
/// It is kept beside the activity and not in it, because the stored form of messages is fixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartLimit {
    /// Schedule event id of the activity, which is among the commit's `worker_items`.
    pub activity_id: u64,
    /// How long the activity may wait for a worker, counted by the provider from the commit.
    pub limit: Duration,
}

/// A request for activities that nobody started in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverdueFetch {
    /// How many at the most.
    pub work_max: usize,
    /// Length of each lease.
    pub lock_timeout: Duration,
    /// How long to wait for the first.
    pub poll_timeout: Duration,
}
