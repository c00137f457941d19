//! Activities that run on this node, so that a cancellation reaches them at once.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::limits::{CANCELLATIONS_REMEMBERED_FOR, CANCELLATIONS_REMEMBERED_MAX};
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
    missed: Missed,
}

/// Cancellations that are remembered for a while.
#[derive(Debug, Default)]
struct Missed {
    /// When each was last cancelled.
    at: HashMap<ScheduledActivityIdentifier, Instant>,
    /// The same, in order of time. An entry is outdated if its activity was cancelled again or
    /// registered since.
    order: VecDeque<(Instant, ScheduledActivityIdentifier)>,
}

impl Missed {
    fn remember(&mut self, id: &ScheduledActivityIdentifier, now: Instant) {
        self.at.insert(id.clone(), now);
        self.order.push_back((now, id.clone()));
        self.forget(now);
    }

    /// Whether a cancellation is remembered; it is forgotten then.
    fn take(&mut self, id: &ScheduledActivityIdentifier, now: Instant) -> bool {
        self.forget(now);
        self.at.remove(id).is_some()
    }

    fn forget(&mut self, now: Instant) {
        while let Some((at, _)) = self.order.front() {
            let is_old = now.duration_since(*at) > CANCELLATIONS_REMEMBERED_FOR;
            if !is_old && self.order.len() <= CANCELLATIONS_REMEMBERED_MAX {
                return;
            }
            if let Some((at, id)) = self.order.pop_front()
                && self.at.get(&id) == Some(&at)
            {
                self.at.remove(&id);
            }
        }
    }
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
        let doubtful = running.missed.take(&id, Instant::now());
        Registered { id, run, unwanted, doubtful, shared: Arc::clone(&self.shared) }
    }

    /// Cancels activities that a committed turn no longer wants.
    pub(crate) fn cancel(&self, ids: &[ScheduledActivityIdentifier]) {
        if ids.is_empty() {
            return;
        }
        let now = Instant::now();
        let mut running = self.lock();
        for id in ids {
            if let Some(run) = running.runs.get(id) {
                run.unwanted.cancel();
            } else {
                running.missed.remember(id, now);
            }
        }
    }

    /// The tokens of the leases of all registered activities.
    pub(crate) fn lock_tokens(&self) -> Vec<String> {
        self.lock().runs.values().map(|run| run.lock_token.clone()).collect()
    }

    /// Cancels the activities that hold these lost leases.
    pub(crate) fn cancel_lost(&self, lock_tokens: &[String]) {
        let lost: HashSet<&String> = lock_tokens.iter().collect();
        for run in self.lock().runs.values() {
            if lost.contains(&run.lock_token) {
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

    #[tokio::test(start_paused = true)]
    async fn remembered_cancellations_expire_and_are_bounded() {
        let running = RunningActivities::default();
        let numbered = |activity_id| ScheduledActivityIdentifier { activity_id, ..id() };
        let ids: Vec<_> = (0..2 * CANCELLATIONS_REMEMBERED_MAX as u64).map(numbered).collect();
        running.cancel(&ids);
        assert_eq!(running.lock().missed.order.len(), CANCELLATIONS_REMEMBERED_MAX);
        assert_eq!(running.lock().missed.at.len(), CANCELLATIONS_REMEMBERED_MAX);
        tokio::time::advance(2 * CANCELLATIONS_REMEMBERED_FOR).await;
        assert!(!running.register(ids.last().unwrap().clone(), "lock".to_owned()).doubtful);
        assert_eq!(running.lock().missed.order.len(), 0);
        assert_eq!(running.lock().missed.at.len(), 0);
    }
}
