//! Names for commits: they distinguish a history in memory from a stored one of the same length.

use std::sync::atomic::{AtomicU64, Ordering};

use uuid::Uuid;

/// The commit ids of one node: a random number and those after it. Random, because a store that was
/// restored from a backup has forgotten which ids were used.
pub(crate) struct CommitIds {
    next: AtomicU64,
}

impl CommitIds {
    pub(crate) fn new() -> Self {
        let (random, _) = Uuid::new_v4().as_u64_pair();
        Self { next: AtomicU64::new(random) }
    }

    /// An id that no other commit has.
    pub(crate) fn next(&self) -> u64 {
        // Databases have signed numbers.
        self.next.fetch_add(1, Ordering::Relaxed) & (u64::MAX >> 1)
    }
}
