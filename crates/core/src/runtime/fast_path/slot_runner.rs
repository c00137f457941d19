//! Runs activities one after another in a slot, and delivers their results.

use std::sync::Arc;

use super::completions::Offered;
use super::{Assignment, FastPath, Streak};
use crate::runtime::activities::{
    Claimed, EarlierTry, Ended, FinishedActivity, Processed, claim_for_slot, process,
};
use crate::runtime::slots::Slot;

/// A claimed activity in its slot.
struct InSlot {
    slot: Slot,
    claimed: Claimed,
    streak: Streak,
}

impl FastPath {
    /// Runs an activity in its slot, and then those that follow from it or wait for a slot.
    pub(crate) fn start(self: &Arc<Self>, assignment: Assignment) {
        let fast_path = Arc::clone(self);
        let tasks = self.node().tasks.clone();
        let claimed = self.claim(assignment);
        tasks.spawn_work("activity", async move {
            let mut next = Some(claimed);
            while let Some(claimed) = next {
                next = fast_path.run(claimed).await.map(|next| fast_path.claim(next));
            }
            // In a task of its own: this task may have started others that stay on this thread.
            if let Some(next) = fast_path.next_prefetched(None) {
                fast_path.start(next);
            }
        });
    }

    /// Renews the lease of an assigned activity from now on.
    fn claim(&self, assignment: Assignment) -> InSlot {
        let Assignment { slot, fetched, streak } = assignment;
        let claimed = claim_for_slot(&self.activities, &slot, fetched);
        InSlot { slot, claimed, streak }
    }

    /// Runs one activity; returns what the same slot runs next.
    async fn run(self: &Arc<Self>, claimed: InSlot) -> Option<Assignment> {
        let InSlot { slot, claimed, streak } = claimed;
        let Processed { ended, session } = process(&self.activities, &slot, claimed).await?;
        if let Some((name, took)) = ended.as_ref().and_then(Ended::handler_time) {
            self.durations.record(name, took);
        }
        let finished = match ended {
            Some(Ended::Finished(finished)) => Some(finished),
            Some(Ended::Unwanted { .. }) | None => None,
        };
        if session.is_none() {
            return self.complete(finished?, Some((slot, streak))).await;
        }
        let next = match finished {
            Some(finished) => self.complete(finished, None).await,
            None => None,
        };
        drop((session, slot));
        self.activities.sessions.note_freed();
        next
    }

    /// Delivers the result of an activity to its orchestration: by a direct turn if the instance
    /// can take one, through the queue otherwise. `own` is the slot of the caller, if it has one;
    /// returns what that slot runs next.
    pub(crate) async fn complete(
        self: &Arc<Self>,
        finished: FinishedActivity,
        own: Option<(Slot, Streak)>,
    ) -> Option<Assignment> {
        if finished.attempt_count() > 1 {
            // If the code of the turn ended the last node, the queue counts that for the turn, and
            // the activity does not run again.
            finished.enqueue(EarlierTry::None).await;
            return self.next_prefetched(own);
        }
        let may_lead = self.may_lead(finished.instance());
        match self.completions.offer(finished, may_lead) {
            Offered::Lead(leader) => self.take_direct_turns(leader, own).await,
            Offered::Joined => self.next_prefetched(own),
            Offered::Declined(finished) => {
                finished.enqueue(EarlierTry::None).await;
                self.next_prefetched(own)
            }
        }
    }
}
