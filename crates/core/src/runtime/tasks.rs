//! All tasks of a runtime, so that they can be stopped and awaited.

use std::future::Future;
use std::time::Duration;

use tokio::task::{AbortHandle, JoinHandle};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::error;

use crate::limits::FETCH_RETRY_STEP;
use crate::panics;

/// The tasks of one runtime.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
    kill: CancellationToken,
}

impl Tasks {
    /// Runs a task until it completes or the runtime is aborted; `None` means aborted.
    pub(crate) fn spawn<F>(&self, task: F) -> JoinHandle<Option<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let kill = self.kill.clone();
        // Boxed at once: each layer around a future would copy it and hold it twice.
        let task = Box::pin(task);
        self.tracker.spawn(async move { kill.run_until_cancelled(task).await })
    }

    /// Runs a task until the runtime stops. If it panics, it is restarted after a pause.
    pub(crate) fn supervise<F>(
        &self,
        name: &'static str,
        start: impl Fn() -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let tasks = self.clone();
        self.spawn(async move {
            while let Err(panic) = panics::caught(async { start().await }).await {
                error!(
                    target: "duroxide::runtime",
                    task = name, panic,
                    "a task of the runtime panicked; restarting it"
                );
                if tasks.unless_stopped(tokio::time::sleep(FETCH_RETRY_STEP)).await.is_none() {
                    return;
                }
            }
        });
    }

    /// Runs a piece of work. If it panics, that is logged; its lease expires and the store
    /// redelivers it.
    pub(crate) fn spawn_work<F>(&self, name: &'static str, work: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let work = Box::pin(work);
        self.spawn(async move {
            if let Err(panic) = panics::caught(work).await {
                error!(
                    target: "duroxide::runtime",
                    work = name, panic,
                    "a panic of the runtime interrupted work; the store redelivers it"
                );
            }
        });
    }

    /// Awaits a future, unless the runtime stops first.
    pub(crate) async fn unless_stopped<F: Future>(&self, waiting: F) -> Option<F::Output> {
        self.stop.run_until_cancelled(waiting).await
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Asks all tasks to finish, and returns when none is left or `grace` is over.
    pub(crate) async fn drain(&self, grace: Duration) {
        self.stop.cancel();
        self.tracker.close();
        // Without grace no timer is made, so this may run outside a tokio context.
        if !grace.is_zero() {
            let drained = tokio::time::timeout(grace, self.tracker.wait()).await;
            if drained.is_err() {
                tracing::warn!(
                    target: "duroxide::runtime",
                    unfinished = self.tracker.len(),
                    ?grace,
                    "shutdown grace period is over; aborting unfinished work"
                );
            }
        }
    }

    /// Aborts all tasks, and returns when none is left.
    pub(crate) async fn abort(&self) {
        self.stop.cancel();
        self.tracker.close();
        self.kill.cancel();
        self.tracker.wait().await;
    }
}

/// Aborts its task when dropped.
#[derive(Debug)]
pub(crate) struct AbortOnDrop(AbortHandle);

impl AbortOnDrop {
    pub(crate) fn new<T>(handle: &JoinHandle<T>) -> Self {
        Self(handle.abort_handle())
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::sync::Notify;

    use super::*;
    use crate::runtime::slots::Slots;

    #[tokio::test(start_paused = true)]
    async fn a_supervised_task_that_panics_is_restarted() {
        let tasks = Tasks::default();
        let (starts, third) = (Arc::new(AtomicU32::new(0)), Arc::new(Notify::new()));
        tasks.supervise("test", {
            let (starts, third, tasks) = (Arc::clone(&starts), Arc::clone(&third), tasks.clone());
            move || {
                let number = starts.fetch_add(1, Ordering::SeqCst) + 1;
                assert_ne!(number, 1, "before its first await");
                let (third, tasks) = (Arc::clone(&third), tasks.clone());
                async move {
                    tokio::task::yield_now().await;
                    assert_ne!(number, 2, "after its first await");
                    third.notify_one();
                    tasks.unless_stopped(std::future::pending::<()>()).await;
                }
            }
        });
        third.notified().await;
        tasks.drain(Duration::from_secs(1)).await;
        tasks.abort().await;
        assert_eq!(starts.load(Ordering::SeqCst), 3);
    }

    #[tokio::test]
    async fn work_that_panics_frees_its_slot() {
        let (tasks, slots) = (Tasks::default(), Slots::new(1));
        let slot = slots.take(1).await;
        tasks.spawn_work("test", async move {
            let _held = slot;
            panic!("in the middle of it");
        });
        assert_eq!(slots.take(1).await.len(), 1);
        tasks.drain(Duration::from_secs(1)).await;
        tasks.abort().await;
    }
}
