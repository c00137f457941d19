//! Waiting for a change instead of asking again and again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

/// What a watcher is interested in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeScope<'a> {
    /// A message of the orchestrator queue may have become fetchable.
    OrchestratorQueue,
    /// An activity of the worker queue may have become fetchable.
    WorkerQueue,
    /// An activity with a schedule-to-start limit may have been added or given back unstarted.
    StartLimits,
    /// An activity that someone runs may have been cancelled or taken away: see
    /// [`find_lost_work_locks`](super::Provider::find_lost_work_locks).
    WorkLocks,
    /// History, status, key-value state or progress of one instance may have changed.
    Instance(&'a str),
    /// One instance may have ended.
    Outcome(&'a str),
}

/// Told of every change in its scope since it was made. Make it, then look, then wait: no change
/// is missed.
#[derive(Debug)]
pub struct ChangeWatch {
    changes: watch::Receiver<()>,
    // Keeps the entry of an instance alive in the hub; the last one out removes it.
    _interest: Option<Interest>,
}

impl ChangeWatch {
    /// Ends at the next change, at once if there was one since the last call.
    pub async fn changed(&mut self) {
        if self.changes.changed().await.is_err() {
            // The hub is gone: nothing will ever change, and the caller's own limit ends the wait.
            std::future::pending::<()>().await;
        }
    }
}

/// Tells watchers of changes. Each backend owns one.
#[derive(Debug, Clone, Default)]
pub struct ChangeHub {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    orchestrator: watch::Sender<()>,
    worker: watch::Sender<()>,
    start_limits: watch::Sender<()>,
    work_locks: watch::Sender<()>,
    instances: Mutex<HashMap<String, Watched>>,
}

/// An instance that someone watches.
#[derive(Debug, Default)]
struct Watched {
    changes: watch::Sender<()>,
    /// Those who only wait for the end need not be woken by every step.
    outcome: watch::Sender<()>,
}

impl Watched {
    fn is_left(&self) -> bool {
        self.changes.receiver_count() == 0 && self.outcome.receiver_count() == 0
    }
}

impl Shared {
    fn instances(&self) -> std::sync::MutexGuard<'_, HashMap<String, Watched>> {
        self.instances.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct Interest {
    shared: Arc<Shared>,
    instance: String,
}

impl Drop for Interest {
    fn drop(&mut self) {
        let mut instances = self.shared.instances();
        // Our own receiver is gone by now: fields drop in order, and it stands first.
        if instances.get(&self.instance).is_some_and(Watched::is_left) {
            instances.remove(&self.instance);
        }
    }
}

impl ChangeHub {
    /// A watch that sees every change from now on.
    pub fn watch(&self, scope: ChangeScope<'_>) -> ChangeWatch {
        match scope {
            ChangeScope::OrchestratorQueue => {
                ChangeWatch { changes: self.shared.orchestrator.subscribe(), _interest: None }
            }
            ChangeScope::WorkerQueue => {
                ChangeWatch { changes: self.shared.worker.subscribe(), _interest: None }
            }
            ChangeScope::StartLimits => {
                ChangeWatch { changes: self.shared.start_limits.subscribe(), _interest: None }
            }
            ChangeScope::WorkLocks => {
                ChangeWatch { changes: self.shared.work_locks.subscribe(), _interest: None }
            }
            ChangeScope::Instance(instance) => {
                self.watch_instance(instance, |watched| watched.changes.subscribe())
            }
            ChangeScope::Outcome(instance) => {
                self.watch_instance(instance, |watched| watched.outcome.subscribe())
            }
        }
    }

    fn watch_instance(
        &self,
        instance: &str,
        subscribe: impl FnOnce(&Watched) -> watch::Receiver<()>,
    ) -> ChangeWatch {
        let changes = subscribe(self.shared.instances().entry(instance.to_owned()).or_default());
        let interest = Interest { shared: Arc::clone(&self.shared), instance: instance.to_owned() };
        ChangeWatch { changes, _interest: Some(interest) }
    }

    /// Reports a change. A change of an instance may always have been its end; see
    /// [`notify_step`](Self::notify_step).
    pub fn notify(&self, scope: ChangeScope<'_>) {
        match scope {
            ChangeScope::OrchestratorQueue => self.shared.orchestrator.send_replace(()),
            ChangeScope::WorkerQueue => self.shared.worker.send_replace(()),
            ChangeScope::StartLimits => self.shared.start_limits.send_replace(()),
            ChangeScope::WorkLocks => self.shared.work_locks.send_replace(()),
            ChangeScope::Instance(instance) => {
                if let Some(watched) = self.shared.instances().get(instance) {
                    watched.changes.send_replace(());
                    watched.outcome.send_replace(());
                }
            }
            ChangeScope::Outcome(instance) => {
                if let Some(watched) = self.shared.instances().get(instance) {
                    watched.outcome.send_replace(());
                }
            }
        }
    }

    /// Reports a change of an instance that has certainly not ended by it.
    pub fn notify_step(&self, instance: &str) {
        if let Some(watched) = self.shared.instances().get(instance) {
            watched.changes.send_replace(());
        }
    }

    /// Reports that anything may have changed, as after a commit of another process.
    pub fn notify_all(&self) {
        self.notify(ChangeScope::OrchestratorQueue);
        self.notify(ChangeScope::WorkerQueue);
        self.notify(ChangeScope::StartLimits);
        self.notify(ChangeScope::WorkLocks);
        self.notify_instances();
    }

    /// Reports that any instance may have changed.
    pub fn notify_instances(&self) {
        for watched in self.shared.instances().values() {
            watched.changes.send_replace(());
            watched.outcome.send_replace(());
        }
    }

    /// How many instances are being watched.
    pub fn watched_instances(&self) -> usize {
        self.shared.instances().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_watcher_is_woken_although_another_one_of_the_same_instance_left() {
        let hub = ChangeHub::default();
        let leaves = hub.watch(ChangeScope::Instance("a"));
        let mut stays = hub.watch(ChangeScope::Instance("a"));
        drop(leaves);
        hub.notify(ChangeScope::Instance("a"));
        tokio::time::timeout(std::time::Duration::from_secs(5), stays.changed())
            .await
            .expect("the change is told");
    }

    #[tokio::test]
    async fn who_waits_for_the_end_is_not_woken_by_a_step() {
        let hub = ChangeHub::default();
        let mut any = hub.watch(ChangeScope::Instance("a"));
        let mut end = hub.watch(ChangeScope::Outcome("a"));
        hub.notify_step("a");
        assert!(any.changes.has_changed().unwrap());
        assert!(!end.changes.has_changed().unwrap());
        hub.notify(ChangeScope::Instance("a"));
        any.changed().await;
        end.changed().await;
        drop((any, end));
        assert_eq!(hub.watched_instances(), 0);
    }

    #[test]
    fn the_last_watcher_of_an_instance_takes_its_entry_along() {
        let hub = ChangeHub::default();
        let first = hub.watch(ChangeScope::Instance("a"));
        let second = hub.watch(ChangeScope::Instance("a"));
        drop(first);
        assert_eq!(hub.watched_instances(), 1);
        drop(second);
        assert_eq!(hub.watched_instances(), 0);
    }
}
