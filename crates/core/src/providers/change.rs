//! Waiting for a change instead of polling.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use super::reports::Reports;
use super::{InstanceOutcome, InstanceStatus};
use crate::model::{Event, EventKind};

/// What a watcher is interested in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeScope<'a> {
    /// A message of the orchestrator queue may have become fetchable.
    OrchestratorQueue,
    /// An activity of the worker queue may have become fetchable.
    WorkerQueue,
    /// An activity with a schedule-to-start limit may have been added or released unstarted.
    StartLimits,
    /// A leased activity may have been cancelled or leased by another node: see
    /// [`find_lost_work_locks`](super::Provider::find_lost_work_locks).
    WorkLocks,
    /// History, status, key-value state or progress of one instance may have changed.
    Instance(&'a str),
    /// One instance may have completed or failed.
    Outcome(&'a str),
}

/// Notified of every change in its scope since it was made. Make it, then poll, then wait: no
/// change is missed.
#[derive(Debug)]
pub struct ChangeWatch {
    changes: Changes,
    // Keeps the entry of an instance in the hub; the last watch that is dropped removes it.
    interest: Option<Interest>,
}

#[derive(Debug)]
enum Changes {
    Any(watch::Receiver<()>),
    Ends { ends: watch::Receiver<Option<Arc<Ending>>>, number: u64 },
}

impl ChangeWatch {
    /// Returns at the next change, at once if there was one since the last call.
    pub async fn changed(&mut self) {
        let changed = match &mut self.changes {
            Changes::Any(changes) => changes.changed().await,
            Changes::Ends { ends, .. } => ends.changed().await,
        };
        if changed.is_err() {
            // The hub is gone, so no change follows; the caller's own timeout ends the wait.
            std::future::pending::<()>().await;
        }
    }

    /// Whether there was a change since the last call, without waiting for one.
    pub fn take_change(&mut self) -> bool {
        let is_new = match &self.changes {
            Changes::Any(changes) => changes.has_changed(),
            Changes::Ends { ends, .. } => ends.has_changed(),
        };
        match &mut self.changes {
            Changes::Any(changes) => changes.mark_unchanged(),
            Changes::Ends { ends, .. } => ends.mark_unchanged(),
        }
        is_new.unwrap_or(false)
    }

    /// Returns when the nodes of this process have counted what they have stored of the watched
    /// instance.
    pub(crate) async fn reported(&self) {
        if let Some(interest) = &self.interest {
            interest.shared.reports.settled(&interest.instance).await;
        }
    }

    /// Where the nodes of this process announce what they count; `None` for a watch of a queue.
    pub(crate) fn reports(&self) -> Option<Reports> {
        self.interest.as_ref().map(|interest| interest.shared.reports.clone())
    }

    /// How the watched instance ended, if the last change carried it. Otherwise read the status.
    pub fn ending(&self) -> Option<InstanceStatus> {
        let Changes::Ends { ends, number } = &self.changes else { return None };
        let ending = ends.borrow();
        ending.as_ref().filter(|it| *number <= it.since).map(|it| it.status.clone())
    }
}

/// The end of an instance that has waiters, about to be committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwaitedEnd {
    instance: String,
    event: Event,
    /// Watches with a higher number were made later.
    since: u64,
}

impl AwaitedEnd {
    /// The instance that is about to end.
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// What the waiters receive, with the custom status that the commit stored.
    pub fn with_custom_status(&self, custom_status: Option<String>, version: u64) -> InstanceEnd {
        let status = InstanceStatus {
            outcome: InstanceOutcome::Ended(Box::new(self.event.clone())),
            custom_status,
            custom_status_version: version,
        };
        InstanceEnd {
            instance: self.instance.clone(),
            ending: Ending { status, since: self.since },
        }
    }
}

/// How an instance ended, for those who already waited when the commit started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceEnd {
    instance: String,
    ending: Ending,
}

impl InstanceEnd {
    /// The instance that ended.
    pub fn instance(&self) -> &str {
        &self.instance
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Ending {
    status: InstanceStatus,
    since: u64,
}

/// Notifies watchers of changes. Each backend owns one.
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
    /// Watches of ends that were made so far.
    watches: AtomicU64,
    instances: Mutex<HashMap<String, Watched>>,
    reports: Reports,
}

/// An instance with at least one watch.
#[derive(Debug, Default)]
struct Watched {
    changes: watch::Sender<()>,
    /// Waiters for the outcome are not woken by every step.
    outcome: watch::Sender<Option<Arc<Ending>>>,
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
        // Our own receiver is gone by now: fields drop in order, and it is the first.
        if instances.get(&self.instance).is_some_and(Watched::is_left) {
            instances.remove(&self.instance);
        }
    }
}

impl ChangeHub {
    /// A watch that sees every change from now on.
    pub fn watch(&self, scope: ChangeScope<'_>) -> ChangeWatch {
        let shared = &self.shared;
        let queue = |changes: &watch::Sender<()>| ChangeWatch {
            changes: Changes::Any(changes.subscribe()),
            interest: None,
        };
        match scope {
            ChangeScope::OrchestratorQueue => queue(&shared.orchestrator),
            ChangeScope::WorkerQueue => queue(&shared.worker),
            ChangeScope::StartLimits => queue(&shared.start_limits),
            ChangeScope::WorkLocks => queue(&shared.work_locks),
            ChangeScope::Instance(instance) => {
                self.watch_instance(instance, |watched| Changes::Any(watched.changes.subscribe()))
            }
            ChangeScope::Outcome(instance) => {
                let number = shared.watches.fetch_add(1, Ordering::SeqCst) + 1;
                self.watch_instance(instance, |watched| Changes::Ends {
                    ends: watched.outcome.subscribe(),
                    number,
                })
            }
        }
    }

    fn watch_instance(
        &self,
        instance: &str,
        subscribe: impl FnOnce(&Watched) -> Changes,
    ) -> ChangeWatch {
        let changes = subscribe(self.shared.instances().entry(instance.to_owned()).or_default());
        let interest = Interest { shared: Arc::clone(&self.shared), instance: instance.to_owned() };
        ChangeWatch { changes, interest: Some(interest) }
    }

    /// The event of `delta` that ends an instance, if it has waiters. Called before the commit
    /// starts: a watch made later has to read the status, because the instance may have been
    /// deleted since and its id used again.
    pub fn awaited_end(&self, instance: &str, delta: &[Event]) -> Option<AwaitedEnd> {
        let ends = |event: &&Event| {
            matches!(
                event.kind,
                EventKind::OrchestrationCompleted { .. } | EventKind::OrchestrationFailed { .. }
            )
        };
        let event = delta.iter().rev().find(ends)?;
        let is_awaited = |watched: &Watched| watched.outcome.receiver_count() > 0;
        if !self.shared.instances().get(instance).is_some_and(is_awaited) {
            return None;
        }
        let since = self.shared.watches.load(Ordering::SeqCst);
        Some(AwaitedEnd { instance: instance.to_owned(), event: event.clone(), since })
    }

    /// Reports how an instance ended, so that its waiters need not read the status.
    pub fn notify_ended(&self, end: InstanceEnd) {
        if let Some(watched) = self.shared.instances().get(&end.instance) {
            watched.changes.send_replace(());
            watched.outcome.send_replace(Some(Arc::new(end.ending)));
        }
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
                    watched.outcome.send_replace(None);
                }
            }
            ChangeScope::Outcome(instance) => {
                if let Some(watched) = self.shared.instances().get(instance) {
                    watched.outcome.send_replace(None);
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
            watched.outcome.send_replace(None);
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
            .expect("the watch is notified");
    }

    #[tokio::test]
    async fn a_change_is_reported_once() {
        let hub = ChangeHub::default();
        let mut watch = hub.watch(ChangeScope::OrchestratorQueue);
        assert!(!watch.take_change());
        hub.notify(ChangeScope::OrchestratorQueue);
        assert!(watch.take_change());
        assert!(!watch.take_change());
    }

    #[tokio::test]
    async fn a_waiter_for_the_outcome_is_not_woken_by_a_step() {
        let hub = ChangeHub::default();
        let mut any = hub.watch(ChangeScope::Instance("a"));
        let mut end = hub.watch(ChangeScope::Outcome("a"));
        hub.notify_step("a");
        assert!(is_notified(&any));
        assert!(!is_notified(&end));
        hub.notify(ChangeScope::Instance("a"));
        any.changed().await;
        end.changed().await;
        drop((any, end));
        assert_eq!(hub.watched_instances(), 0);
    }

    fn is_notified(watch: &ChangeWatch) -> bool {
        match &watch.changes {
            Changes::Any(changes) => changes.has_changed().unwrap(),
            Changes::Ends { ends, .. } => ends.has_changed().unwrap(),
        }
    }

    fn delta() -> Vec<Event> {
        let kind = EventKind::OrchestrationCompleted { output: "done".to_owned() };
        vec![Event::with_event_id(2, "a", 1, None, kind)]
    }

    fn commit_the_end(hub: &ChangeHub, end: &AwaitedEnd) -> InstanceStatus {
        let notice = end.with_custom_status(Some("ready".to_owned()), 3);
        hub.notify_ended(notice.clone());
        notice.ending.status
    }

    #[tokio::test]
    async fn a_waiter_for_the_outcome_receives_it() {
        let hub = ChangeHub::default();
        let mut early = hub.watch(ChangeScope::Outcome("a"));
        assert_eq!(early.ending(), None);
        let status = commit_the_end(&hub, &hub.awaited_end("a", &delta()).unwrap());
        early.changed().await;
        assert_eq!(early.ending(), Some(status));
        hub.notify(ChangeScope::Instance("a"));
        assert_eq!(early.ending(), None, "something happened since");
    }

    #[test]
    fn a_watch_made_after_the_commit_started_has_to_read_the_status() {
        let hub = ChangeHub::default();
        let early = hub.watch(ChangeScope::Outcome("a"));
        let end = hub.awaited_end("a", &delta()).unwrap();
        let late = hub.watch(ChangeScope::Outcome("a"));
        let status = commit_the_end(&hub, &end);
        assert!(is_notified(&late));
        assert_eq!((early.ending(), late.ending()), (Some(status), None));
    }

    #[test]
    fn an_outcome_is_kept_only_for_waiters() {
        let hub = ChangeHub::default();
        assert_eq!(hub.awaited_end("a", &delta()), None);
        let any = hub.watch(ChangeScope::Instance("a"));
        assert_eq!(hub.awaited_end("a", &delta()), None);
        let end = hub.watch(ChangeScope::Outcome("a"));
        assert!(hub.awaited_end("a", &delta()).is_some());
        assert_eq!(hub.awaited_end("a", &[]), None);
        drop((any, end));
        assert_eq!(hub.awaited_end("a", &delta()), None);
    }

    #[test]
    fn the_last_watch_of_an_instance_removes_its_entry() {
        let hub = ChangeHub::default();
        let first = hub.watch(ChangeScope::Instance("a"));
        let second = hub.watch(ChangeScope::Instance("a"));
        drop(first);
        assert_eq!(hub.watched_instances(), 1);
        drop(second);
        assert_eq!(hub.watched_instances(), 0);
    }
}
