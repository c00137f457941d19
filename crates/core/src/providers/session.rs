//! Sessions: activities that must run on the same node.

use std::time::Duration;

/// Who fetches, so that activities of a session find their owner.
#[derive(Debug, Clone)]
pub struct SessionFetchConfig {
    /// The owner that a fetched session is leased to.
    pub owner_id: String,
    /// Length of that lease.
    pub lock_timeout: Duration,
}
