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
    /// An activity that someone runs may have been cancelled or taken away: see
    /// [`find_lost_work_locks`](super::Provider::find_lost_work_locks).
    WorkLocks,
    /// History, status or key-value state of one instance may have changed.
    Instance(&'a str),
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
    work_locks: watch::Sender<()>,
    instances: Mutex<HashMap<String, watch::Sender<()>>>,
}

impl Shared {
    fn instances(&self) -> std::sync::MutexGuard<'_, HashMap<String, watch::Sender<()>>> {
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
        if instances.get(&self.instance).is_some_and(|sender| sender.receiver_count() == 0) {
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
            ChangeScope::WorkLocks => {
                ChangeWatch { changes: self.shared.work_locks.subscribe(), _interest: None }
            }
            ChangeScope::Instance(instance) => {
                let changes =
                    self.shared.instances().entry(instance.to_owned()).or_default().subscribe();
                let interest =
                    Interest { shared: Arc::clone(&self.shared), instance: instance.to_owned() };
                ChangeWatch { changes, _interest: Some(interest) }
            }
        }
    }

    /// Reports a change.
    pub fn notify(&self, scope: ChangeScope<'_>) {
        match scope {
            ChangeScope::OrchestratorQueue => self.shared.orchestrator.send_replace(()),
            ChangeScope::WorkerQueue => self.shared.worker.send_replace(()),
            ChangeScope::WorkLocks => self.shared.work_locks.send_replace(()),
            ChangeScope::Instance(instance) => {
                if let Some(sender) = self.shared.instances().get(instance) {
                    sender.send_replace(());
                }
            }
        }
    }

    /// Reports that anything may have changed, as after a commit of another process.
    pub fn notify_all(&self) {
        self.notify(ChangeScope::OrchestratorQueue);
        self.notify(ChangeScope::WorkerQueue);
        self.notify(ChangeScope::WorkLocks);
        for sender in self.shared.instances().values() {
            sender.send_replace(());
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
