//! Quick activities that are leased to this node and wait for a slot.
//!
//! A commit that schedules more activities than there are free slots leases quick ones all the
//! same: fetching them from the queue later would cost more than running them. They wait for a
//! bounded time. What has not started by then is released to the queue, where other nodes find it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use tokio::time::Instant;

use super::{Assignment, FastPath, Streak};
use crate::limits::{PREFETCH_TIME_MAX, PREFETCHED_MAX, RETURNED_AT_ONCE_MAX};
use crate::model::WorkItem;
use crate::providers::{FetchedWork, ScheduledActivityIdentifier};
use crate::runtime::slots::Slot;
use crate::runtime::storage_retry::{log_unreleased, retry_for_ever};

/// Activities that wait for a slot, the oldest first.
#[derive(Default)]
pub(super) struct Prefetch {
    waiting: Mutex<VecDeque<Waiting>>,
}

struct Waiting {
    fetched: FetchedWork,
    since: Instant,
}

impl Prefetch {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many more activities may wait.
    pub(super) fn room(&self) -> usize {
        PREFETCHED_MAX.saturating_sub(self.lock().len())
    }

    /// Drops activities that a turn no longer wants.
    pub(super) fn forget(&self, ids: &[ScheduledActivityIdentifier]) {
        let is_wanted = |waiting: &Waiting| {
            let WorkItem::ActivityExecute { instance, execution_id, id, .. } =
                &waiting.fetched.item
            else {
                return true;
            };
            !ids.iter().any(|cancelled| {
                cancelled.activity_id == *id
                    && cancelled.execution_id == *execution_id
                    && cancelled.instance == *instance
            })
        };
        self.lock().retain(is_wanted);
    }

    /// Removes the activities that have waited since this time or longer.
    fn take_late(&self, since: Instant) -> Vec<FetchedWork> {
        let mut waiting = self.lock();
        let late = waiting.iter().take_while(|waiting| waiting.since <= since).count();
        waiting.drain(..late).map(|waiting| waiting.fetched).collect()
    }
}

impl FastPath {
    /// The next prefetched activity, in the slot of the caller or in a free one. Every task that
    /// frees a slot calls this.
    pub(super) fn next_prefetched(&self, own: Option<(Slot, Streak)>) -> Option<Assignment> {
        let mut waiting = self.prefetch.lock();
        let is_late = waiting.front()?.since.elapsed() >= PREFETCH_TIME_MAX;
        if is_late || self.node().tasks.is_stopping() {
            return None;
        }
        // The last free slot stays with the queue, and one that owns a session with the session.
        let slot = match own {
            Some((slot, _)) => Some(slot),
            None => self.activities.slots.claim_spare(),
        };
        let slot = slot.filter(|slot| !slot.owns_session())?;
        let fetched = waiting.pop_front()?.fetched.with_slot(slot.index);
        // The metric counts every activity that starts, fetched or not.
        self.node().metrics().record_worker_dispatcher_items_fetched(1);
        Some(Assignment { slot, fetched, streak: Streak::new() })
    }

    /// Starts prefetched activities as slots become free, and releases what has not started in
    /// time.
    pub(super) fn start_prefetched(self: &Arc<Self>, work: Vec<FetchedWork>) {
        if work.is_empty() {
            return;
        }
        let since = Instant::now();
        let waiting = work.into_iter().map(|fetched| Waiting { fetched, since });
        self.prefetch.lock().extend(waiting);
        while let Some(assignment) = self.next_prefetched(None) {
            self.start(assignment);
        }
        let fast_path = Arc::clone(self);
        let tasks = self.node().tasks.clone();
        tasks.spawn_work("release of late activities", async move {
            let expired = tokio::time::sleep_until(since + PREFETCH_TIME_MAX);
            fast_path.node().tasks.unless_stopped(expired).await;
            fast_path.release_late(since).await;
        });
    }

    pub(super) async fn release_late(&self, since: Instant) {
        let late = self.prefetch.take_late(since);
        for work in &late {
            self.durations.record_late(&work.item);
        }
        for some in late.chunks(RETURNED_AT_ONCE_MAX) {
            join_all(some.iter().map(|work| self.release(&work.lock_token))).await;
        }
    }

    /// Releases an activity that found no slot.
    pub(crate) async fn release(&self, lock_token: &str) {
        let provider = &self.node().provider;
        let released = retry_for_ever("return_unstarted_work_item", || {
            provider.return_unstarted_work_item(lock_token, None, true)
        });
        log_unreleased("activity", released.await);
    }
}
