//! Activities that no worker started in time.
//!
//! An activity with a limit is in one of three states. While it waits, `start_by` is set. A lease
//! in time counts as its start and sets `starting` too, because the worker may still return the
//! activity unstarted, which makes it wait again. When that lease ends in any other way, `start_by`
//! is cleared and the limit is satisfied.

use duroxide_core::providers::FetchedWork;

use super::store::{Store, Work};
use super::worker_queue;

impl Work {
    /// Whether its limit has expired.
    pub(crate) fn is_overdue(&self, now: u64) -> bool {
        !self.starting && self.start_by.is_some_and(|start_by| start_by <= now)
    }

    /// Counts a lease as its start, unless the limit has expired.
    pub(crate) fn count_start(&mut self, now: u64) {
        if self.starting {
            self.start_by = None;
        }
        self.starting = self.start_by.is_some_and(|start_by| now < start_by);
    }

    /// Satisfies the limit if the lease that ends now counts as the start.
    pub(crate) fn satisfy_limit(&mut self) {
        if self.starting {
            self.start_by = None;
            self.starting = false;
        }
    }
}

/// Leases activities whose limit expired, the longest overdue first.
pub(crate) fn fetch_overdue(
    store: &mut Store,
    now: u64,
    work_max: usize,
    lock_for: u64,
) -> Vec<FetchedWork> {
    let work = store.work.iter();
    let mut overdue: Vec<(u64, u64)> = work
        .filter(|(_, work)| work.is_overdue(now) && !work.is_leased(now))
        .filter_map(|(number, work)| Some((work.start_by?, *number)))
        .collect();
    overdue.sort_unstable();
    let until = now.saturating_add(lock_for);
    let numbers = overdue.into_iter().map(|(_, number)| number).take(work_max);
    numbers.filter_map(|number| worker_queue::lease(store, now, number, until)).collect()
}

/// The next time at which a limit or the lease of an overdue activity expires.
pub(crate) fn next_due(store: &Store, now: u64) -> Option<u64> {
    let waiting = store.work.values().filter(|work| !work.starting);
    let due = waiting.filter_map(|work| {
        let start_by = work.start_by?;
        let leased_until = work.lock.as_ref().map_or(0, |lock| lock.until);
        Some(if start_by <= now { leased_until } else { start_by })
    });
    due.filter(|due| *due > now).min()
}
