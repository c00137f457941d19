//! Jobs that are written by themselves: the jobs of a group that failed, and large ones.
//!
//! They have connections of their own, so that no lane waits for them. A job that meets a locked
//! row gives up at once and holds nothing while it waits for the next attempt.

use std::sync::Arc;

use crate::error::JobError;
use crate::statements::Attempts;
use crate::store::Store;
use crate::write::group::{Group, Outcome, no_result};
use crate::write::sender::Sending;
use crate::write::writer::{Job, Queue, respond_all};

/// An attempt that failed.
#[derive(Clone)]
pub(crate) struct Failed {
    pub(crate) error: JobError,
    pub(crate) sending: Sending,
}

/// Writes a job in a task of its own, after a group with it failed.
pub(crate) fn spawn(store: &Arc<Store>, queue: &Arc<Queue>, job: Job, failed: Option<Failed>) {
    let (store, queue) = (Arc::clone(store), Arc::clone(queue));
    let until_ended = queue.until_ended();
    // If the task panics, the caller sees that its response is gone.
    tokio::spawn(async move {
        let mut job = job;
        let outcome = write(&store, &queue, &mut job, failed).await;
        respond_all(&store, &queue, vec![job], vec![outcome]);
        drop(until_ended);
    });
}

async fn write(store: &Store, queue: &Queue, job: &mut Job, mut failed: Option<Failed>) -> Outcome {
    let mut attempts = Attempts::new(&store.settings);
    loop {
        if let Some(Failed { error, sending }) = failed {
            if error.is_uncertain()
                && let Some(changes) = job.work.may_have_run()
                && sending.settle(store).await?
            {
                return Ok((None, changes));
            }
            if error.is_uncertain() || error.is_unavailable() {
                attempts.pause_or_fail(error).await?;
            }
        }
        let mut sender = queue.sender();
        let sending = sender.next();
        match write_once(store, job, sending).await {
            Ok(mut outcomes) => {
                queue.keep_sender(sender);
                return outcomes.pop().unwrap_or(Err(no_result()));
            }
            Err(error) if error.is_uncertain() => failed = Some(Failed { error, sending }),
            Err(error) => {
                queue.keep_sender(sender);
                if !error.is_unavailable() {
                    return Err(error);
                }
                failed = Some(Failed { error, sending });
            }
        }
    }
}

async fn write_once(store: &Store, job: &Job, sending: Sending) -> Result<Vec<Outcome>, JobError> {
    let session = store.connections.single_writers.get().await?;
    let group = Group::of(std::iter::once(&job.work));
    let written = group.write(store, &session, sending).await;
    if group.has_commits() {
        // An earlier attempt may have committed at any time.
        store.notifier.turns_committed(None);
    }
    written
}
