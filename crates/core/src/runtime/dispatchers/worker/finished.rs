//! Activities that have ended and wait for the turn that hears of them.
//!
//! While an instance is warm here, the end of an activity causes a turn directly, without a message
//! in between. The first to end leads: it takes the turn, and those that end meanwhile join the
//! next one. At most one turn of an instance is taken like that at a time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::process::{InHand, Work};
use super::report::{self, Stored};
use crate::limits::FINISHED_WAITING_MAX;
use crate::model::WorkItem;

/// An ended activity whose result is not stored yet. Its lease is kept until this is dropped.
pub(crate) struct Finished {
    pub(super) in_hand: InHand,
    pub(super) work: Work,
    pub(super) completion: WorkItem,
    /// How metrics name the outcome.
    pub(super) outcome: &'static str,
    pub(super) took: Duration,
}

impl Finished {
    /// The instance that asked for it.
    pub(crate) fn instance(&self) -> &str {
        &self.work.id.instance
    }

    /// The execution that asked for it.
    pub(crate) fn execution_id(&self) -> u64 {
        self.work.id.execution_id
    }

    /// What the orchestration is to be told.
    pub(crate) fn completion(&self) -> &WorkItem {
        &self.completion
    }

    /// Proof of its lease.
    pub(crate) fn lock_token(&self) -> &str {
        &self.in_hand.lock_token
    }

    /// Where it ran.
    pub(crate) fn worker_id(&self) -> &str {
        &self.in_hand.worker_id
    }

    /// Counts it: its result is durable.
    pub(crate) fn record_stored(&self) {
        report::record(&self.in_hand, &self.work, self.outcome, self.took);
    }

    /// Stores the result as a message for a turn that is fetched.
    pub(crate) async fn enqueue(self) {
        match report::store(&self.in_hand, self.completion).await {
            Stored::Durable => report::record(&self.in_hand, &self.work, self.outcome, self.took),
            // Cancelled while it was ending; that is no fault of the infrastructure.
            Stored::Unwanted => {
                report::record(&self.in_hand, &self.work, "cancelled", self.took);
            }
            Stored::Failed => self.in_hand.node.metrics().record_activity_infra_error(),
        }
    }
}

/// Ended activities by instance, for the instances that have a leader.
#[derive(Clone, Default)]
pub(crate) struct FinishedWork {
    waiting: Arc<Mutex<Waiting>>,
}

type Waiting<T = Finished> = HashMap<String, Vec<T>>;

/// What becomes of an ended activity.
pub(crate) enum Offered {
    /// The caller takes the turn.
    Lead(Leading),
    /// The leader takes it along.
    Joined,
    /// It has to go through the queue.
    Declined(Box<Finished>),
}

impl FinishedWork {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands an ended activity to the leader of its instance, or makes the caller the leader if
    /// `may_lead`.
    pub(crate) fn offer(&self, finished: Finished, may_lead: bool) -> Offered {
        let mut waiting = self.lock();
        if let Some(others) = waiting.get_mut(finished.instance()) {
            if others.len() >= FINISHED_WAITING_MAX {
                return Offered::Declined(Box::new(finished));
            }
            others.push(finished);
            return Offered::Joined;
        }
        if !may_lead {
            return Offered::Declined(Box::new(finished));
        }
        let leading = self.leading(finished.instance());
        waiting.insert(finished.instance().to_owned(), vec![finished]);
        Offered::Lead(leading)
    }

    /// Makes the caller the leader of an instance that has none.
    pub(crate) fn lead(&self, instance: &str) -> Option<Leading> {
        let mut waiting = self.lock();
        if waiting.contains_key(instance) {
            return None;
        }
        waiting.insert(instance.to_owned(), Vec::new());
        Some(self.leading(instance))
    }

    fn leading(&self, instance: &str) -> Leading {
        let instance = instance.to_owned();
        Leading { instance, waiting: Arc::clone(&self.waiting), over: false }
    }
}

/// The right to take the direct turns of an instance. Dropping it lets what still waits be
/// redelivered.
pub(crate) struct Leading<T = Finished> {
    instance: String,
    waiting: Arc<Mutex<Waiting<T>>>,
    /// Somebody else may lead by now.
    over: bool,
}

impl<T> Leading<T> {
    /// The instance.
    pub(crate) fn instance(&self) -> &str {
        &self.instance
    }

    /// What has ended since the last call; `None`, and the lead is over, if nothing has.
    pub(crate) fn next(&mut self) -> Option<Vec<T>> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = std::mem::take(waiting.get_mut(&self.instance)?);
        if ended.is_empty() {
            waiting.remove(&self.instance);
            self.over = true;
            return None;
        }
        Some(ended)
    }
}

impl<T> Drop for Leading<T> {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let left =
            self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.instance);
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leading(waiting: &Arc<Mutex<Waiting<u32>>>) -> Leading<u32> {
        let instance = "order".to_owned();
        Leading { instance, waiting: Arc::clone(waiting), over: false }
    }

    /// An activity that ended between the last look of a leader and its end led the next turn. The
    /// end of the first leader took its result away; it ran again when its lease had run out.
    #[test]
    fn a_leader_that_has_nothing_left_takes_nothing_from_the_next_one() {
        let waiting = Arc::new(Mutex::new(HashMap::from([("order".to_owned(), vec![1])])));
        let mut first = leading(&waiting);
        assert_eq!(first.next(), Some(vec![1]));
        assert_eq!(first.next(), None);
        waiting.lock().unwrap().insert("order".to_owned(), vec![2]);
        drop(first);
        assert_eq!(leading(&waiting).next(), Some(vec![2]));
    }

    #[test]
    fn a_leader_that_is_dropped_lets_go_of_what_waits() {
        let waiting = Arc::new(Mutex::new(HashMap::from([("order".to_owned(), vec![1])])));
        drop(leading(&waiting));
        assert!(waiting.lock().unwrap().is_empty());
    }
}
