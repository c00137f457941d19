//! Everything a runtime spawns, so that it can be stopped and waited for.

use std::future::Future;
use std::time::Duration;

use tokio::task::{AbortHandle, JoinHandle};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The tasks of one runtime.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
    kill: CancellationToken,
}

impl Tasks {
    /// Runs a task until it ends or the runtime is aborted; `None` means aborted.
    pub(crate) fn spawn<F>(&self, task: F) -> JoinHandle<Option<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let kill = self.kill.clone();
        self.tracker.spawn(async move { kill.run_until_cancelled(task).await })
    }

    /// Waits for something, unless the runtime is told to stop first.
    pub(crate) async fn unless_stopped<F: Future>(&self, waiting: F) -> Option<F::Output> {
        self.stop.run_until_cancelled(waiting).await
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Tells all tasks to finish, aborts them after `grace`, and returns when none is left.
    pub(crate) async fn shutdown(&self, grace: Duration) {
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
                    "shutdown grace is over; unfinished work is aborted and redelivered later"
                );
            }
        }
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
