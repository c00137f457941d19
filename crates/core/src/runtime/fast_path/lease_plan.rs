//! Activities that the commit of a turn leases to this node.
//!
//! The committer knows which activities a turn schedules and which slots are free. The commit
//! enqueues the activities under a lease of this node, and the node starts them when the commit is
//! durable, without a fetch. If the node dies, the leases expire and the queue redelivers.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::time::Instant;

use super::FastPath;
use crate::limits::{STEPS_IN_A_ROW_MAX, STEPS_IN_A_ROW_TIME_MAX};
use crate::model::WorkItem;
use crate::providers::{FetchedWork, LeasedWork, ScheduledActivity, TurnCommit};
use crate::runtime::slots::Slot;

/// An activity and where it runs.
pub(crate) struct Assignment {
    pub(crate) slot: Slot,
    pub(crate) fetched: FetchedWork,
    pub(crate) streak: Streak,
}

/// Activities that a slot has run in a row without a poll of the queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Streak {
    steps: u32,
    started: Instant,
}

impl Streak {
    /// The slot runs an activity that it has fetched.
    pub(crate) fn new() -> Self {
        Self { steps: 0, started: Instant::now() }
    }

    fn next(self) -> Self {
        Self { steps: self.steps + 1, ..self }
    }

    fn is_over(self) -> bool {
        self.steps >= STEPS_IN_A_ROW_MAX || self.started.elapsed() >= STEPS_IN_A_ROW_TIME_MAX
    }
}

/// Slots that are reserved for the activities of a commit.
pub(crate) struct LeasePlan {
    planned: Vec<Planned>,
}

struct Planned {
    /// Index among the activities of the commit.
    index: usize,
    /// Where it runs; `None` if it waits for a slot.
    place: Option<(Slot, Streak)>,
}

/// Activities that a commit has leased to this node.
#[derive(Default)]
pub(crate) struct LeasedActivities {
    assignments: Vec<Assignment>,
    /// These wait for a slot.
    prefetched: Vec<FetchedWork>,
}

impl LeasedActivities {
    /// Starts them all.
    pub(crate) fn start(self, fast_path: &Arc<FastPath>) {
        for assignment in self.assignments {
            fast_path.start(assignment);
        }
        fast_path.start_prefetched(self.prefetched);
    }

    /// Starts all but a single one, which the caller continues with.
    pub(super) fn start_others(mut self, fast_path: &Arc<FastPath>) -> Option<Assignment> {
        // Each activity is a task. The executor keeps the last started task on this thread and lets
        // other threads steal the rest: continuing with one of several here would keep two on this
        // thread, perhaps for long.
        let is_single = self.assignments.len() == 1 && self.prefetched.is_empty();
        let single = if is_single { self.assignments.pop() } else { None };
        self.start(fast_path);
        single
    }
}

impl LeasePlan {
    /// Reserves slots for activities of a commit and adds the wish for their leases to the commit.
    /// `own` is the slot of the caller, if it has one.
    pub(crate) fn plan(
        fast_path: &FastPath,
        commit: &mut TurnCommit,
        own: Option<(Slot, Streak)>,
    ) -> Self {
        let mut planned: Vec<Planned> = Vec::new();
        if commit.activities.is_empty() || fast_path.node().tasks.is_stopping() {
            return Self { planned };
        }
        let slots = &fast_path.activities.slots;
        // A slot whose streak is over stays occupied until the plan is made, or the plan would
        // reserve it as a free one.
        let (mut own, _stopping) = match own {
            Some((slot, streak)) if !may_continue(fast_path, &slot, streak) => (None, Some(slot)),
            own => (own, None),
        };
        let has_limits = commit.activities.iter().any(|activity| activity.start_limit.is_some());
        let mut room = if has_limits { 0 } else { fast_path.prefetch.room() };
        let cancelled: HashSet<u64> =
            commit.cancelled_activities.iter().map(|gone| gone.activity_id).collect();
        for (index, ScheduledActivity { item, .. }) in commit.activities.iter().enumerate() {
            if !runs_here(fast_path, &cancelled, item) {
                continue;
            }
            let place = match own.take() {
                Some((slot, streak)) => Some((slot, streak.next())),
                None => slots.claim_spare().map(|slot| (slot, Streak::new())),
            };
            if place.is_none() {
                if room == 0 {
                    break;
                }
                // Prefetch only behind an activity of this commit that frees its slot soon.
                let some_will = !planned.is_empty() && slots.has_free();
                if !some_will || !is_quick(fast_path, item) {
                    continue;
                }
                room -= 1;
            }
            planned.push(Planned { index, place });
        }
        for Planned { index, .. } in &planned {
            commit.activities[*index].lease = Some(fast_path.node().options.worker_lock_timeout);
        }
        Self { planned }
    }

    /// The activities that the store has leased to this node, each with its slot.
    pub(crate) fn assign(
        self,
        fast_path: &FastPath,
        commit: &TurnCommit,
        leased: &[LeasedWork],
    ) -> LeasedActivities {
        let mut activities = LeasedActivities::default();
        if leased.is_empty() {
            return activities;
        }
        let mut planned = self.planned.into_iter();
        for work in leased {
            let planned = planned.find(|planned| planned.index == work.index);
            let activity = commit.activities.get(work.index);
            let (Some(planned), Some(activity)) = (planned, activity) else { continue };
            let fetched = FetchedWork::new(activity.item.clone(), work.lock_token.clone(), 1)
                .with_slot(planned.place.as_ref().map_or(0, |(slot, _)| slot.index));
            match planned.place {
                Some((slot, streak)) => {
                    activities.assignments.push(Assignment { slot, fetched, streak });
                }
                None => activities.prefetched.push(fetched),
            }
        }
        // The metric counts every activity that starts, fetched or not.
        let started = activities.assignments.len() as u64;
        fast_path.node().metrics().record_worker_dispatcher_items_fetched(started);
        activities
    }
}

fn is_quick(fast_path: &FastPath, item: &WorkItem) -> bool {
    matches!(item, WorkItem::ActivityExecute { name, .. } if fast_path.durations.is_quick(name))
}

/// Whether a slot may continue with an activity that it has not fetched.
fn may_continue(fast_path: &FastPath, slot: &Slot, streak: Streak) -> bool {
    // A session that belongs to a slot waits for that slot, whether or not others are free.
    let others_serve = fast_path.activities.slots.has_free() && !slot.owns_session();
    others_serve || !streak.is_over()
}

fn runs_here(fast_path: &FastPath, cancelled: &HashSet<u64>, item: &WorkItem) -> bool {
    let WorkItem::ActivityExecute { id, name, session_id: None, tag, .. } = item else {
        return false;
    };
    let node = fast_path.node();
    !cancelled.contains(id)
        && node.options.worker_tag_filter.matches(tag.as_deref())
        && node.handlers.activity(name).is_some()
}
