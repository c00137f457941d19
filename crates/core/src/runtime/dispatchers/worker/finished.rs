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
use crate::model::WorkItem;
use crate::runtime::limits::FINISHED_WAITING_MAX;

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

type Waiting = HashMap<String, Vec<Finished>>;

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
        let instance = finished.instance().to_owned();
        waiting.insert(instance.clone(), vec![finished]);
        Offered::Lead(Leading { instance, waiting: Arc::clone(&self.waiting) })
    }
}

/// The right to take the direct turns of an instance. Dropping it lets what still waits be
/// redelivered.
pub(crate) struct Leading {
    instance: String,
    waiting: Arc<Mutex<Waiting>>,
}

impl Leading {
    /// The instance.
    pub(crate) fn instance(&self) -> &str {
        &self.instance
    }

    /// What has ended since the last call; `None`, and the lead is over, if nothing has.
    pub(crate) fn next(&self) -> Option<Vec<Finished>> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = std::mem::take(waiting.get_mut(&self.instance)?);
        if ended.is_empty() {
            waiting.remove(&self.instance);
            return None;
        }
        Some(ended)
    }
}

impl Drop for Leading {
    fn drop(&mut self) {
        let left =
            self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.instance);
        drop(left);
    }
}
