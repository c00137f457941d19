//! Jobs that are written by themselves: the jobs of a group that failed, and large ones.
//!
//! They have connections of their own, so that no lane waits for them. A job that meets a locked
//! row gives up at once and holds nothing while it waits for the next attempt.

use std::sync::Arc;

use crate::error::JobError;
use crate::store::{Attempts, Store};
use crate::write::group::{Group, Outcome, no_result};
use crate::write::writer::{Job, Queue, respond_all};

/// Writes a job in a task of its own, after a group with it failed with `error`.
pub(crate) fn spawn(store: &Arc<Store>, queue: &Arc<Queue>, job: Job, error: Option<JobError>) {
    let (store, queue) = (Arc::clone(store), Arc::clone(queue));
    let until_ended = queue.until_ended();
    // If the task panics, the caller sees that its response is gone.
    tokio::spawn(async move {
        let mut job = job;
        let outcome = write(&store, &mut job, error).await;
        respond_all(&store, &queue, vec![job], vec![outcome]);
        drop(until_ended);
    });
}

async fn write(store: &Store, job: &mut Job, mut failed: Option<JobError>) -> Outcome {
    let mut attempts = Attempts::new(&store.settings);
    loop {
        if let Some(error) = failed {
            if error.is_uncertain() && !job.work.may_have_run() {
                return Err(error);
            }
            if error.is_uncertain() || error.is_unavailable() {
                attempts.pause_or_fail(error).await?;
            }
        }
        match write_once(store, job).await {
            Ok(mut outcomes) => return outcomes.pop().unwrap_or(Err(no_result())),
            Err(error) if error.is_uncertain() || error.is_unavailable() => failed = Some(error),
            Err(other) => return Err(other),
        }
    }
}

async fn write_once(store: &Store, job: &Job) -> Result<Vec<Outcome>, JobError> {
    let session = store.connections.single_writers.get().await?;
    let group = Group::of(std::iter::once(&job.work));
    let written = group.write(store, &session).await;
    if group.has_commits() {
        // An earlier attempt may have committed at any time.
        store.notifier.turns_committed(None);
    }
    written
}
