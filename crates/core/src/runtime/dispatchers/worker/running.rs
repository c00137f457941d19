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
    /// Tells a redelivered activity from its earlier run, which may still be ending here.
    run_next: u64,
    /// Cancelled when they were not running here: perhaps fetched a moment ago.
    missed: VecDeque<ScheduledActivityIdentifier>,
}

#[derive(Debug)]
struct Run {
    number: u64,
    /// Proof of its lease.
    lock_token: String,
    unwanted: CancellationToken,
}

/// A registered activity; dropping it ends the registration.
#[derive(Debug)]
pub(crate) struct Registered {
    id: ScheduledActivityIdentifier,
    run: u64,
    /// Fires when nobody wants the activity any more: a turn has given it up, or its lease is lost.
    pub(crate) unwanted: CancellationToken,
    /// A turn may have cancelled it before it was registered; the lease tells.
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
        let begun = Run { number: run, lock_token, unwanted: unwanted.clone() };
        running.runs.insert(id.clone(), begun);
        let missed = running.missed.iter().position(|missed| *missed == id);
        if let Some(position) = missed {
            running.missed.remove(position);
        }
        let doubtful = missed.is_some();
        Registered { id, run, unwanted, doubtful, shared: Arc::clone(&self.shared) }
    }

    /// Tells activities that a committed turn no longer wants them.
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

    /// Proofs of the leases of everything that runs here.
    pub(crate) fn lock_tokens(&self) -> Vec<String> {
        self.lock().runs.values().map(|run| run.lock_token.clone()).collect()
    }

    /// Tells activities that their lease is gone.
    pub(crate) fn lose(&self, lock_tokens: &[String]) {
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
    fn the_end_of_an_earlier_run_does_not_unregister_the_next() {
        let running = RunningActivities::default();
        let first = running.register(id(), "lock".to_owned());
        let second = running.register(id(), "lock".to_owned());
        drop(first);
        running.cancel(&[id()]);
        assert!(second.unwanted.is_cancelled());
    }

    #[test]
    fn a_cancellation_that_came_before_the_registration_makes_it_doubtful_once() {
        let running = RunningActivities::default();
        running.cancel(&[id()]);
        assert!(running.register(id(), "lock".to_owned()).doubtful);
        assert!(!running.register(id(), "lock".to_owned()).doubtful);
    }
}
