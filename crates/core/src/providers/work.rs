//! Activities: what a commit schedules, and what workers fetch, one for each free slot.

use std::time::{Duration, Instant};

use super::{FetchFilter, SessionFetchConfig};
use crate::model::WorkItem;

/// An activity that a commit enqueues, with what is kept beside its message.
///
/// The limit and the lease are not part of the message, because its stored form is fixed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduledActivity {
    /// The activity.
    pub item: WorkItem,
    /// How long it may wait for a worker, counted by the provider from the commit.
    pub start_limit: Option<Duration>,
    /// The caller starts it at once and asks for a lease of this length, so that it need not be
    /// fetched. An activity of a session is never leased this way.
    pub lease: Option<Duration>,
}

impl ScheduledActivity {
    /// An activity that may wait for any worker without a limit.
    pub fn new(item: WorkItem) -> Self {
        Self { item, start_limit: None, lease: None }
    }

    /// How long it may wait for a worker.
    #[must_use]
    pub fn with_start_limit(mut self, start_limit: Duration) -> Self {
        self.start_limit = Some(start_limit);
        self
    }

    /// Asks for a lease of this length.
    #[must_use]
    pub fn with_lease(mut self, lock_timeout: Duration) -> Self {
        self.lease = Some(lock_timeout);
        self
    }
}

impl From<WorkItem> for ScheduledActivity {
    fn from(item: WorkItem) -> Self {
        Self::new(item)
    }
}

/// A slot that wants an activity.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct WorkSlot {
    /// Who owns the sessions that are leased for this slot; `None` means session-less activities
    /// only.
    pub session: Option<SessionFetchConfig>,
}

impl WorkSlot {
    /// A slot for session-less activities and, with an owner, for those of its sessions.
    pub const fn new(session: Option<SessionFetchConfig>) -> Self {
        Self { session }
    }
}

/// A request for activities.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WorkFetch<'a> {
    /// The free slots, each of which gets at most one activity.
    pub slots: &'a [WorkSlot],
    /// Length of each lease.
    pub lock_timeout: Duration,
    /// How long to wait for the first activity.
    pub poll_timeout: Duration,
    /// What the caller can run.
    pub filter: &'a FetchFilter,
}

impl<'a> WorkFetch<'a> {
    /// A request that does not wait, with no filter.
    pub fn new(slots: &'a [WorkSlot], lock_timeout: Duration) -> Self {
        let filter = FetchFilter::unlimited();
        Self { slots, lock_timeout, poll_timeout: Duration::ZERO, filter }
    }

    /// How long to wait for the first activity.
    #[must_use]
    pub fn with_poll_timeout(mut self, poll_timeout: Duration) -> Self {
        self.poll_timeout = poll_timeout;
        self
    }

    /// What the caller can run.
    #[must_use]
    pub fn with_filter(mut self, filter: &'a FetchFilter) -> Self {
        self.filter = filter;
        self
    }
}

/// A request for activities that no worker started in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OverdueFetch {
    /// How many at the most.
    pub work_max: usize,
    /// Length of each lease.
    pub lock_timeout: Duration,
    /// How long to wait for the first.
    pub poll_timeout: Duration,
}

impl OverdueFetch {
    /// A request that does not wait.
    pub const fn new(work_max: usize, lock_timeout: Duration) -> Self {
        Self { work_max, lock_timeout, poll_timeout: Duration::ZERO }
    }

    /// How long to wait for the first.
    #[must_use]
    pub const fn with_poll_timeout(mut self, poll_timeout: Duration) -> Self {
        self.poll_timeout = poll_timeout;
        self
    }
}

/// One fetched activity.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FetchedWork {
    /// Index of the slot in the request.
    pub slot: usize,
    /// The activity.
    pub item: WorkItem,
    /// Proof of the lease.
    pub lock_token: String,
    /// How often the message was fetched, this time included.
    pub attempt_count: u32,
    /// What an earlier attempt has last reported.
    pub progress: Option<String>,
    /// The schedule-to-start limit, if it expired before a worker started the activity. Such an
    /// activity must not be run: it has failed.
    pub overdue: Option<Duration>,
    /// When the lease began, if the provider says so; else it begins when the caller gets the
    /// activity.
    pub leased_at: Option<Instant>,
}

impl FetchedWork {
    /// An activity for the first slot, without a report of an earlier attempt.
    pub fn new(item: WorkItem, lock_token: String, attempt_count: u32) -> Self {
        Self {
            slot: 0,
            item,
            lock_token,
            attempt_count,
            progress: None,
            overdue: None,
            leased_at: None,
        }
    }

    /// When the lease began: at this time or a little later.
    #[must_use]
    pub fn with_leased_at(mut self, leased_at: Instant) -> Self {
        self.leased_at = Some(leased_at);
        self
    }

    /// Index of the slot in the request.
    #[must_use]
    pub fn with_slot(mut self, slot: usize) -> Self {
        self.slot = slot;
        self
    }

    /// What an earlier attempt has last reported.
    #[must_use]
    pub fn with_progress(mut self, progress: Option<String>) -> Self {
        self.progress = progress;
        self
    }

    /// The schedule-to-start limit, if it expired.
    #[must_use]
    pub fn with_overdue(mut self, overdue: Option<Duration>) -> Self {
        self.overdue = overdue;
        self
    }
}
