//! Results of activities that wait for the next direct turn of their instance.

use std::collections::HashMap;

use super::sync::{Arc, Mutex, MutexGuard, PoisonError};
use crate::limits::FINISHED_WAITING_MAX;
use crate::runtime::activities::FinishedActivity;

/// Finished activities by instance, for the instances that have a leader.
#[derive(Clone, Default)]
pub(super) struct Completions {
    waiting: Arc<Mutex<Waiting>>,
}

type Waiting<T = FinishedActivity> = HashMap<String, Vec<T>>;

/// What happens with a finished activity.
pub(super) enum Offered {
    /// The caller takes the turn.
    Lead(TurnLeader),
    /// It is part of the leader's next turn.
    Joined,
    /// It must go through the queue.
    Declined(Box<FinishedActivity>),
}

impl Completions {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a finished activity to the next turn of its instance's leader, or makes the caller the
    /// leader if it `may_lead`.
    pub(super) fn offer(&self, finished: FinishedActivity, may_lead: bool) -> Offered {
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
        let leader = self.leader(finished.instance());
        waiting.insert(finished.instance().to_owned(), vec![finished]);
        Offered::Lead(leader)
    }

    /// Makes the caller the leader of an instance that has none.
    pub(super) fn lead(&self, instance: &str) -> Option<TurnLeader> {
        let mut waiting = self.lock();
        if waiting.contains_key(instance) {
            return None;
        }
        waiting.insert(instance.to_owned(), Vec::new());
        Some(self.leader(instance))
    }

    fn leader(&self, instance: &str) -> TurnLeader {
        let instance = instance.to_owned();
        TurnLeader { instance, waiting: Arc::clone(&self.waiting), over: false }
    }
}

/// The right to take the direct turns of an instance. Dropping it drops the results that still
/// wait; the queue redelivers their activities.
pub(crate) struct TurnLeader<T = FinishedActivity> {
    instance: String,
    waiting: Arc<Mutex<Waiting<T>>>,
    /// Another task may lead by now.
    over: bool,
}

impl<T> TurnLeader<T> {
    /// The instance.
    pub(super) fn instance(&self) -> &str {
        &self.instance
    }

    /// The results that arrived since the last call. `None`, and the lead is over, if there is
    /// none.
    pub(super) fn next(&mut self) -> Option<Vec<T>> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let finished = std::mem::take(waiting.get_mut(&self.instance)?);
        if finished.is_empty() {
            waiting.remove(&self.instance);
            self.over = true;
            return None;
        }
        Some(finished)
    }
}

impl<T> Drop for TurnLeader<T> {
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

    fn leader(waiting: &Arc<Mutex<Waiting<u32>>>) -> TurnLeader<u32> {
        let instance = "order".to_owned();
        TurnLeader { instance, waiting: Arc::clone(waiting), over: false }
    }

    /// An activity that finished after a leader had found nothing more led the next turn. The drop
    /// of the first leader removed its result, so it ran again when its lease had expired.
    #[test]
    fn a_leader_that_is_over_removes_nothing_of_the_next_leader() {
        let waiting = Arc::new(Mutex::new(HashMap::from([("order".to_owned(), vec![1])])));
        let mut first = leader(&waiting);
        assert_eq!(first.next(), Some(vec![1]));
        assert_eq!(first.next(), None);
        waiting.lock().unwrap().insert("order".to_owned(), vec![2]);
        drop(first);
        assert_eq!(leader(&waiting).next(), Some(vec![2]));
    }

    #[test]
    fn a_dropped_leader_drops_the_waiting_results() {
        let waiting = Arc::new(Mutex::new(HashMap::from([("order".to_owned(), vec![1])])));
        drop(leader(&waiting));
        assert!(waiting.lock().unwrap().is_empty());
    }
}
