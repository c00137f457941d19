//! Group commit: jobs that wait while a commit is under way share the next one.
//!
//! A few lanes claim all waiting jobs, run them in one transaction and respond: a response means
//! durable. A transaction costs more than a job in it, so that a second lane starts only when many
//! jobs wait or the first one is slow. If the transaction fails, each job is written by itself
//! (`single.rs`), so that one bad job does not fail the others and the lane is free at once. A
//! large job never shares a transaction.

use std::collections::{HashSet, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use duroxide_core::providers::CommittedTurn;
use futures_util::FutureExt;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use crate::error::JobError;
use crate::limits;
use crate::notify::change::Changes;
use crate::store::Store;
use crate::write::group::{Group, Outcome, Work};
use crate::write::sender::{Sender, Sending};
use crate::write::single::{self, Failed};

/// The result of a job. Only a commit returns a value.
pub(crate) type Answer = Result<Option<CommittedTurn>, JobError>;

pub(crate) struct Job {
    pub(crate) work: Work,
    bytes: usize,
    reply: oneshot::Sender<Answer>,
}

impl Job {
    fn new(work: Work, reply: oneshot::Sender<Answer>) -> Self {
        Self { bytes: work.bytes(), work, reply }
    }

    /// Whether other jobs should not wait for it.
    fn is_large(&self) -> bool {
        self.bytes >= limits::LARGE_JOB_BYTES || self.work.rows() >= limits::LARGE_JOB_ROWS
    }
}

/// Passes jobs to the lanes, which stop when this is dropped.
#[derive(Debug)]
pub(crate) struct Writer {
    store: Arc<Store>,
    queue: Arc<Queue>,
}

#[derive(Debug, Default)]
pub(crate) struct Queue {
    inner: Mutex<Waiting>,
    arrived: Notify,
    /// Each lane and each single job holds a receiver, so that the end of the last can be awaited.
    tasks: watch::Sender<()>,
}

#[derive(Default)]
struct Waiting {
    // Bounded by the callers: each waits for its result, so that there are no more jobs than
    // callers.
    jobs: VecDeque<Job>,
    closed: bool,
    /// Lanes that write a group, and when the last of them started.
    writing: usize,
    started: Option<Instant>,
    /// Commits whose response was lost: the same call may come again.
    uncertain: HashSet<Uuid>,
    /// Senders without a transaction, no more than there were transactions at once.
    senders: Vec<Sender>,
}

impl std::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiting")
            .field("jobs", &self.jobs.len())
            .field("closed", &self.closed)
            .field("uncertain", &self.uncertain.len())
            .finish()
    }
}

impl Waiting {
    /// The first jobs that may share a transaction, at least one.
    fn group(&mut self) -> Vec<Job> {
        let mut bytes = 0;
        let fits = |job: &&Job| {
            bytes += job.bytes;
            bytes <= limits::BYTES_PER_COMMIT_MAX
        };
        let count = self.jobs.iter().take(limits::JOBS_PER_COMMIT_MAX).take_while(fits).count();
        let count = count.max(1).min(self.jobs.len());
        self.jobs.drain(..count).collect()
    }

    /// When the waiting jobs are worth a transaction; `None` while no job waits.
    fn worth_a_transaction(&self) -> Option<Instant> {
        let now = Instant::now();
        match (self.jobs.len(), self.started) {
            (0, _) => None,
            (limits::JOBS_FOR_ANOTHER_WRITER.., _) => Some(now),
            (_, Some(started)) if self.writing > 0 => Some(started + limits::SLOW_GROUP),
            _free => Some(now),
        }
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next group of jobs, once they are worth a transaction; `None` after the last one.
    async fn take(&self) -> Option<(Vec<Job>, Writing<'_>)> {
        loop {
            let arrived = self.arrived.notified();
            // Does not yield to gather more jobs: a task that yields stays on its thread, and user
            // code may block that thread for long.
            let worth_at = {
                let mut waiting = self.lock();
                let worth_at = waiting.worth_a_transaction();
                if worth_at.is_some_and(|at| at <= Instant::now()) {
                    waiting.writing += 1;
                    waiting.started = Some(Instant::now());
                    return Some((waiting.group(), Writing(self)));
                }
                if waiting.closed && worth_at.is_none() {
                    return None;
                }
                worth_at
            };
            match worth_at {
                // Either way it checks again.
                Some(at) => timeout_at(at, arrived).await.unwrap_or_default(),
                None => arrived.await,
            }
        }
    }

    /// Keeps [`Writer::close`] waiting until it is dropped.
    pub(crate) fn until_ended(&self) -> watch::Receiver<()> {
        self.tasks.subscribe()
    }

    /// A sender without a transaction.
    pub(crate) fn sender(&self) -> Sender {
        let kept = self.lock().senders.pop();
        kept.filter(Sender::is_fresh).unwrap_or_else(Sender::new)
    }

    /// Keeps a sender for the next transaction. One whose response was lost is dropped instead.
    pub(crate) fn keep_sender(&self, sender: Sender) {
        self.lock().senders.push(sender);
    }

    /// Remembers a commit while its outcome is unknown.
    fn remember(&self, work: &Work, outcome: &Outcome) {
        let Work::Commit(commit) = work else { return };
        let mut waiting = self.lock();
        match outcome {
            Err(error) if error.is_uncertain() => {
                if waiting.uncertain.len() >= limits::UNCERTAIN_MAX {
                    waiting.uncertain.clear();
                }
                waiting.uncertain.insert(commit.token.id);
            }
            Err(error) if error.is_unavailable() => {}
            Ok(_) | Err(_) => {
                waiting.uncertain.remove(&commit.token.id);
            }
        }
    }
}

/// A group that is being written. Jobs that arrive meanwhile wait for it.
struct Writing<'a>(&'a Queue);

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        let mut waiting = self.0.lock();
        waiting.writing = waiting.writing.saturating_sub(1);
        drop(waiting);
        self.0.arrived.notify_one();
    }
}

impl Writer {
    /// Starts the lanes.
    pub(crate) fn start(store: &Arc<Store>) -> Self {
        let queue = Arc::new(Queue::default());
        for _ in 0..store.settings.writers {
            let lane = Lane { store: Arc::clone(store), queue: Arc::clone(&queue) };
            let until_ended = queue.until_ended();
            tokio::spawn(async move {
                lane.serve().await;
                drop(until_ended);
            });
        }
        Self { store: Arc::clone(store), queue }
    }

    /// Writes a job and responds when it is durable. Writes it even if the caller goes away.
    pub(crate) async fn run(&self, mut work: Work) -> Answer {
        let (reply, answer) = oneshot::channel();
        {
            let mut waiting = self.queue.lock();
            if waiting.closed {
                return Err(JobError::stopped("the provider has been closed"));
            }
            if let Work::Commit(commit) = &mut work {
                commit.again = waiting.uncertain.contains(&commit.token.id);
            }
            let job = Job::new(work, reply);
            if job.is_large() {
                drop(waiting);
                single::spawn(&self.store, &self.queue, job, None);
            } else {
                waiting.jobs.push_back(job);
                drop(waiting);
                self.queue.arrived.notify_one();
            }
        }
        answer.await.unwrap_or_else(|_| Err(JobError::stopped("the writer has stopped")))
    }
}

impl Writer {
    /// Writes the jobs that wait, refuses later ones, and returns when all are written.
    pub(crate) async fn close(&self) {
        self.stop();
        self.queue.tasks.closed().await;
    }

    fn stop(&self) {
        self.queue.lock().closed = true;
        self.queue.arrived.notify_waiters();
        // A lane that is about to wait finds this permit.
        self.queue.arrived.notify_one();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Lane {
    store: Arc<Store>,
    queue: Arc<Queue>,
}

impl Lane {
    async fn serve(self) {
        while let Some((jobs, writing)) = self.queue.take().await {
            // A lane survives a panic: callers see that their response is gone.
            if AssertUnwindSafe(self.write_all(jobs, writing)).catch_unwind().await.is_err() {
                tracing::error!(
                    target: "duroxide::providers::postgres",
                    "writing a group of jobs panicked; its callers get an error"
                );
            }
        }
        // The next lane must see the end too.
        self.queue.arrived.notify_one();
    }

    async fn write_all(&self, jobs: Vec<Job>, writing: Writing<'_>) {
        let mut sender = self.queue.sender();
        let sending = sender.next();
        let written = self.write_group(&jobs, sending, writing).await;
        if !written.as_ref().is_err_and(JobError::is_uncertain) {
            self.queue.keep_sender(sender);
        }
        match written {
            Ok(outcomes) => respond_all(&self.store, &self.queue, jobs, outcomes),
            Err(error) => {
                // If one of several met a locked row, the others need not wait for it.
                let passed = jobs.len() > 1 && error.is_locked();
                let failed = Some(Failed { error, sending }).filter(|_| !passed);
                for job in jobs {
                    single::spawn(&self.store, &self.queue, job, failed.clone());
                }
            }
        }
    }

    /// Writes jobs in one transaction. `Err` means that none was written, unless it is uncertain.
    async fn write_group(
        &self,
        jobs: &[Job],
        sending: Sending,
        writing: Writing<'_>,
    ) -> Result<Vec<Outcome>, JobError> {
        let session = self.store.connections.writers.get().await?;
        let changes = self.store.notifier.queue_changes();
        let group = Group::of(jobs.iter().map(|job| &job.work));
        let written = group.write(&self.store, &session, sending).await;
        drop(writing);
        if group.has_commits() {
            let since = Some(changes).filter(|_| written.is_ok());
            self.store.notifier.turns_committed(since);
        }
        written
    }
}

/// Publishes what jobs changed, and responds to their callers.
pub(crate) fn respond_all(store: &Store, queue: &Queue, jobs: Vec<Job>, outcomes: Vec<Outcome>) {
    let mut changes = Changes::default();
    let mut answers = Vec::with_capacity(jobs.len());
    for (job, outcome) in jobs.into_iter().zip(outcomes) {
        queue.remember(&job.work, &outcome);
        answers.push((
            job.reply,
            outcome.map(|(answer, changed)| {
                changes.merge(changed);
                answer
            }),
        ));
    }
    store.publish(changes);
    for (reply, answer) in answers {
        if let Err(Err(error)) = reply.send(answer) {
            tracing::warn!(
                target: "duroxide::providers::postgres",
                %error,
                "a storage job failed after its caller went away"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use duroxide_core::providers::WorkItem;

    use super::*;
    use crate::queues::orchestrator_queue::{DelayedMessage, NewMessage};

    fn job(bytes: usize) -> Job {
        let item = WorkItem::QueueMessage {
            instance: "i".to_owned(),
            name: "q".to_owned(),
            data: "x".repeat(bytes),
        };
        let message = NewMessage::encode(&item).unwrap().unwrap();
        Job::new(
            Work::Message(DelayedMessage { message, delay: 0, lease: None }),
            oneshot::channel().0,
        )
    }

    #[test]
    fn jobs_share_a_transaction_up_to_a_number_of_bytes() {
        const MB: usize = 1 << 20;
        let mut waiting = Waiting::default();
        waiting.jobs.extend([MB, MB, MB, MB, 3 * MB, 10, 10 * MB, 10].map(job));
        let mut groups = Vec::new();
        while !waiting.jobs.is_empty() {
            groups.push(waiting.group().len());
        }
        assert_eq!(groups, [3, 1, 2, 1, 1]);
    }
}
