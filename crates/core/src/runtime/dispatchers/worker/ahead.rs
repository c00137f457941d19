//! Quick activities that are leased to this node and wait for a slot.
//!
//! A commit that schedules more activities than there are free slots takes quick ones all the same:
//! to find them in the queue later would cost more than to run them. They wait for a moment only.
//! What is not begun by then goes to the queue, where other nodes find it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use tokio::time::Instant;

use super::fetch::{begin, give_back};
use super::handover::{Assignment, Stint};
use crate::limits::{AHEAD_MAX, AHEAD_TIME_MAX, RETURNED_AT_ONCE_MAX};
use crate::model::WorkItem;
use crate::providers::{FetchedWork, ScheduledActivityIdentifier};
use crate::runtime::node::Node;
use crate::runtime::slots::Slot;

/// Activities that wait for a slot, the oldest first.
#[derive(Default)]
pub(crate) struct Ahead {
    waiting: Mutex<VecDeque<Waiting>>,
}

struct Waiting {
    fetched: FetchedWork,
    since: Instant,
}

impl Ahead {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many more may wait.
    pub(super) fn room(&self) -> usize {
        AHEAD_MAX.saturating_sub(self.lock().len())
    }

    /// The next one, in the slot of the caller or in a free one. Whoever frees a slot asks.
    pub(super) fn next(&self, node: &Node, own: Option<(Slot, Stint)>) -> Option<Assignment> {
        let mut waiting = self.lock();
        if waiting.front()?.since.elapsed() >= AHEAD_TIME_MAX || node.tasks.is_stopping() {
            return None;
        }
        // The last free slot is left to the queue, and one that owns a session to the session.
        let slot = match own {
            Some((slot, _)) => Some(slot),
            None => node.worker_slots.claim_spare(),
        };
        let slot = slot.filter(|slot| !slot.owns_session())?;
        let fetched = FetchedWork { slot: slot.index, ..waiting.pop_front()?.fetched };
        // Taken without a fetch, but taken all the same.
        node.metrics().record_worker_dispatcher_items_fetched(1);
        Some(Assignment { slot, fetched, stint: Stint::begin() })
    }

    /// A turn no longer wants these.
    fn forget(&self, ids: &[ScheduledActivityIdentifier]) {
        let is_wanted = |waiting: &Waiting| match &waiting.fetched.item {
            WorkItem::ActivityExecute { instance, execution_id, id, .. } => {
                !ids.iter().any(|gone| {
                    gone.activity_id == *id
                        && gone.execution_id == *execution_id
                        && gone.instance == *instance
                })
            }
            _other => true,
        };
        self.lock().retain(is_wanted);
    }

    /// What waits since then or longer.
    fn take_late(&self, since: Instant) -> Vec<FetchedWork> {
        let mut waiting = self.lock();
        let late = waiting.iter().take_while(|waiting| waiting.since <= since).count();
        waiting.drain(..late).map(|waiting| waiting.fetched).collect()
    }
}

/// Tells activities of this node that a committed turn no longer wants them.
pub(crate) fn cancel(node: &Node, ids: &[ScheduledActivityIdentifier]) {
    if !ids.is_empty() {
        node.ahead.forget(ids);
        node.running.cancel(ids);
    }
}

/// Runs activities as slots become free, for a moment.
pub(super) fn begin_ahead(node: &Arc<Node>, work: Vec<FetchedWork>) {
    if work.is_empty() {
        return;
    }
    let since = Instant::now();
    let waiting = work.into_iter().map(|fetched| Waiting { fetched, since });
    node.ahead.lock().extend(waiting);
    while let Some(assignment) = node.ahead.next(node, None) {
        begin(node, assignment);
    }
    let node = Arc::clone(node);
    let tasks = node.tasks.clone();
    tasks.spawn_work("activities that wait", async move {
        node.tasks.unless_stopped(tokio::time::sleep_until(since + AHEAD_TIME_MAX)).await;
        let late = node.ahead.take_late(since);
        for work in &late {
            node.pace.note_late(&work.item);
        }
        for some in late.chunks(RETURNED_AT_ONCE_MAX) {
            join_all(some.iter().map(|work| give_back(&node, &work.lock_token))).await;
        }
    });
}
