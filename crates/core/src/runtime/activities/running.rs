//! Activities that run on this node, so that a cancellation reaches them at once.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::limits::CANCELLATIONS_REMEMBERED_MAX;
use crate::providers::ScheduledActivityIdentifier;

/// Running activities by what scheduled them.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunningActivities {
    shared: Arc<Mutex<Running>>,
}

#[derive(Debug, Default)]
struct Running {
    runs: HashMap<ScheduledActivityIdentifier, Run>,
    /// Distinguishes a redelivered activity from its earlier run, which may not have returned yet.
    run_next: u64,
    /// Cancelled before they were registered here; perhaps they are fetched but not yet started.
    missed: VecDeque<ScheduledActivityIdentifier>,
}

#[derive(Debug)]
struct Run {
    number: u64,
    /// The token of its lease.
    lock_token: String,
    unwanted: CancellationToken,
}

/// A registered activity. Dropping it removes the registration.
#[derive(Debug)]
pub(crate) struct Registered {
    id: ScheduledActivityIdentifier,
    run: u64,
    /// Fires when the result becomes unwanted: a turn cancelled the activity, or its lease is lost.
    pub(crate) unwanted: CancellationToken,
    /// A turn may have cancelled it before it was registered; a renewal of its lease will show.
    pub(crate) doubtful: bool,
    shared: Arc<Mutex<Running>>,
}

impl RunningActivities {
    fn lock(&self) -> MutexGuard<'_, Running> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn register(
        &self,
        id: ScheduledActivityIdentifier,
        lock_token: String,
    ) -> Registered {
        let unwanted = CancellationToken::new();
        let mut running = self.lock();
        let run = running.run_next;
        running.run_next += 1;
        let registered = Run { number: run, lock_token, unwanted: unwanted.clone() };
        running.runs.insert(id.clone(), registered);
        let missed = running.missed.iter().position(|missed| *missed == id);
        if let Some(position) = missed {
            running.missed.remove(position);
        }
        let doubtful = missed.is_some();
        Registered { id, run, unwanted, doubtful, shared: Arc::clone(&self.shared) }
    }

    /// Cancels activities that a committed turn no longer wants.
    pub(crate) fn cancel(&self, ids: &[ScheduledActivityIdentifier]) {
        if ids.is_empty() {
            return;
        }
        let mut running = self.lock();
        for id in ids {
            if let Some(run) = running.runs.get(id) {
                run.unwanted.cancel();
            } else {
                if running.missed.len() >= CANCELLATIONS_REMEMBERED_MAX {
                    running.missed.pop_front();
                }
                running.missed.push_back(id.clone());
            }
        }
    }

    /// The tokens of the leases of all registered activities.
    pub(crate) fn lock_tokens(&self) -> Vec<String> {
        self.lock().runs.values().map(|run| run.lock_token.clone()).collect()
    }

    /// Cancels the activities that hold these lost leases.
    pub(crate) fn cancel_lost(&self, lock_tokens: &[String]) {
        for run in self.lock().runs.values() {
            if lock_tokens.contains(&run.lock_token) {
                run.unwanted.cancel();
            }
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut running = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if running.runs.get(&self.id).is_some_and(|run| run.number == self.run) {
            running.runs.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> ScheduledActivityIdentifier {
        let instance = "order".to_owned();
        ScheduledActivityIdentifier { instance, execution_id: 1, activity_id: 2 }
    }

    #[test]
    fn an_earlier_run_does_not_unregister_the_next() {
        let running = RunningActivities::default();
        let first = running.register(id(), "lock".to_owned());
        let second = running.register(id(), "lock".to_owned());
        drop(first);
        running.cancel(&[id()]);
        assert!(second.unwanted.is_cancelled());
    }

    #[test]
    fn a_cancellation_before_the_registration_makes_it_doubtful_once() {
        let running = RunningActivities::default();
        running.cancel(&[id()]);
        assert!(running.register(id(), "lock".to_owned()).doubtful);
        assert!(!running.register(id(), "lock".to_owned()).doubtful);
    }
}
