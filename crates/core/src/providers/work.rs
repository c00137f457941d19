//! Activities in batches, one for each free slot.

use std::time::Duration;

use super::{SessionFetchConfig, TagFilter};
use crate::model::WorkItem;

/// A slot that wants an activity.
#[derive(Debug, Clone)]
pub struct WorkSlot {
    /// Who takes sessions for this slot; `None` means session-less activities only.
    pub session: Option<SessionFetchConfig>,
}

/// A request for activities.
#[derive(Debug, Clone)]
pub struct WorkFetch<'a> {
    /// The free slots, each of which gets at most one activity.
    pub slots: &'a [WorkSlot],
    /// Length of each lease.
    pub lock_timeout: Duration,
    /// How long to wait for the first activity.
    pub poll_timeout: Duration,
    /// What the caller takes.
    pub tag_filter: &'a TagFilter,
}

/// One fetched activity.
#[derive(Debug, Clone)]
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
    /// The schedule-to-start limit, if it ran out before anyone started the activity. Such an
    /// activity must not be run: it has failed.
    pub overdue: Option<Duration>,
}
