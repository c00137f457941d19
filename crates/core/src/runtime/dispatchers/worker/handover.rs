//! Activities that start on this node by the commit that schedules them.
//!
//! Whoever commits a turn knows which activities it schedules and which slots are free. It has them
//! enqueued under a lease of this node and starts them when the commit is durable: nothing has to
//! be fetched. Quick activities may be more than there are slots. The queue remains the truth: if
//! this node dies, the leases run out.

use std::sync::Arc;

use tokio::time::Instant;

use super::ahead::begin_ahead;
use super::fetch::begin;
use crate::limits::{STEPS_IN_A_ROW_MAX, STEPS_IN_A_ROW_TIME_MAX};
use crate::model::WorkItem;
use crate::providers::{FetchedWork, LeasedWork, TurnCommit, WorkLease};
use crate::runtime::node::Node;
use crate::runtime::slots::Slot;

/// An activity and where it runs.
pub(crate) struct Assignment {
    pub(crate) slot: Slot,
    pub(crate) fetched: FetchedWork,
    pub(crate) stint: Stint,
}

/// How long a slot has gone on without a look at the queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stint {
    steps: u32,
    began: Instant,
}

impl Stint {
    /// The slot took its activity from the queue.
    pub(crate) fn begin() -> Self {
        Self { steps: 0, began: Instant::now() }
    }

    fn next(self) -> Self {
        Self { steps: self.steps + 1, ..self }
    }

    fn is_over(self) -> bool {
        self.steps >= STEPS_IN_A_ROW_MAX || self.began.elapsed() >= STEPS_IN_A_ROW_TIME_MAX
    }
}

/// Slots set aside for activities of a commit.
pub(crate) struct Handover {
    planned: Vec<Planned>,
}

struct Planned {
    /// Index among the worker items of the commit.
    index: usize,
    /// Where it runs; nowhere yet if it has to wait.
    place: Option<(Slot, Stint)>,
}

/// Activities that a commit has leased to this node.
#[derive(Default)]
pub(crate) struct Begins {
    assignments: Vec<Assignment>,
    /// These wait for a slot.
    ahead: Vec<FetchedWork>,
}

impl Begins {
    /// Begins them all.
    pub(crate) fn begin(self, node: &Arc<Node>) {
        for assignment in self.assignments {
            begin(node, assignment);
        }
        begin_ahead(node, self.ahead);
    }

    /// Begins all but a lone one, which the caller goes on with.
    pub(crate) fn begin_others(mut self, node: &Arc<Node>) -> Option<Assignment> {
        // Each is a task of its own. The last one that was begun stays with this thread, the others
        // may go to another: what we go on with ourselves would keep both here, perhaps for long.
        let is_lone = self.assignments.len() == 1 && self.ahead.is_empty();
        let lone = if is_lone { self.assignments.pop() } else { None };
        self.begin(node);
        lone
    }
}

impl Handover {
    /// Finds slots for activities of a commit and has the commit ask for their leases; `own` is the
    /// slot of the caller, if it has one.
    pub(crate) fn plan(node: &Node, commit: &mut TurnCommit, own: Option<(Slot, Stint)>) -> Self {
        let mut planned: Vec<Planned> = Vec::new();
        if commit.worker_items.is_empty() || node.tasks.is_stopping() {
            return Self { planned };
        }
        // A slot that has to stop is held until all is planned: it must not be found free here.
        let (mut own, _stopping) = match own {
            Some((slot, stint)) if !may_go_on(node, &slot, stint) => (None, Some(slot)),
            own => (own, None),
        };
        let mut room = if commit.start_limits.is_empty() { node.ahead.room() } else { 0 };
        for (index, item) in commit.worker_items.iter().enumerate() {
            if !runs_here(node, commit, item) {
                continue;
            }
            let place = match own.take() {
                Some((slot, stint)) => Some((slot, stint.next())),
                // The last free slot is left to the queue, which others may wait in.
                None => node.worker_slots.claim_spare().map(|slot| (slot, Stint::begin())),
            };
            if place.is_none() {
                if room == 0 {
                    break;
                }
                // Without a slot that will be free soon, nothing could wait for one.
                let some_will = !planned.is_empty() && node.worker_slots.has_free();
                if !some_will || !is_quick(node, item) {
                    continue;
                }
                room -= 1;
            }
            planned.push(Planned { index, place });
        }
        commit.lease_work = (!planned.is_empty()).then(|| WorkLease {
            indexes: planned.iter().map(|planned| planned.index).collect(),
            lock_timeout: node.options.worker_lock_timeout,
        });
        Self { planned }
    }

    /// What the store has leased to this node, each with its slot.
    pub(crate) fn assign(self, node: &Node, commit: &TurnCommit, leased: &[LeasedWork]) -> Begins {
        let mut begins = Begins::default();
        if leased.is_empty() {
            return begins;
        }
        let mut planned = self.planned.into_iter();
        for work in leased {
            let planned = planned.find(|planned| planned.index == work.index);
            let item = commit.worker_items.get(work.index);
            let (Some(planned), Some(item)) = (planned, item) else { continue };
            let fetched = FetchedWork {
                slot: planned.place.as_ref().map_or(0, |(slot, _)| slot.index),
                item: item.clone(),
                lock_token: work.lock_token.clone(),
                attempt_count: 1,
                progress: None,
                overdue: None,
            };
            match planned.place {
                Some((slot, stint)) => {
                    begins.assignments.push(Assignment { slot, fetched, stint });
                }
                None => begins.ahead.push(fetched),
            }
        }
        // Taken without a fetch, but taken all the same.
        let begun = begins.assignments.len() as u64;
        node.metrics().record_worker_dispatcher_items_fetched(begun);
        begins
    }
}

fn is_quick(node: &Node, item: &WorkItem) -> bool {
    matches!(item, WorkItem::ActivityExecute { name, .. } if node.pace.is_quick(name))
}

/// Whether a slot may take one more activity of its own accord.
fn may_go_on(node: &Node, slot: &Slot, stint: Stint) -> bool {
    // A session that belongs to a slot waits for that very slot, whether or not others are free.
    let others_serve = node.worker_slots.has_free() && !slot.owns_session();
    others_serve || !stint.is_over()
}

fn runs_here(node: &Node, commit: &TurnCommit, item: &WorkItem) -> bool {
    let WorkItem::ActivityExecute { id, name, session_id: None, tag, .. } = item else {
        return false;
    };
    let cancelled = commit.cancelled_activities.iter().any(|gone| gone.activity_id == *id);
    !cancelled
        && node.options.worker_tag_filter.matches(tag.as_deref())
        && node.activity(name).is_some()
}
