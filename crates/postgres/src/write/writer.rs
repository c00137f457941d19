//! Group commit: jobs that wait while a commit is under way share the next one.
//!
//! A few lanes claim all waiting jobs, run them in one transaction and respond: a response means
//! durable. A transaction costs more than a job in it, so that a second lane starts only when many
//! jobs wait. If the transaction fails, the lane runs each job by itself, so that one bad job does
//! not fail the others.

use std::collections::{HashSet, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use duroxide_core::providers::CommittedTurn;
use futures_util::FutureExt;
use tokio::sync::{Notify, oneshot};
use uuid::Uuid;

use crate::error::JobError;
use crate::limits;
use crate::notify::change::Changes;
use crate::store::{Attempts, Store};
use crate::write::group::{Group, Outcome, Work, no_result};

/// The result of a job. Only a commit returns a value.
pub(crate) type Answer = Result<Option<CommittedTurn>, JobError>;

struct Job {
    work: Work,
    reply: oneshot::Sender<Answer>,
}

/// Passes jobs to the lanes, which stop when this is dropped.
#[derive(Debug)]
pub(crate) struct Writer {
    queue: Arc<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    inner: Mutex<Waiting>,
    arrived: Notify,
}

#[derive(Default)]
struct Waiting {
    // Bounded by the callers: each waits for its result, so that there are no more jobs than
    // callers.
    jobs: VecDeque<Job>,
    closed: bool,
    /// Lanes that write a group.
    writing: usize,
    /// Commits whose response was lost: the same call may come again.
    uncertain: HashSet<Uuid>,
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

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All waiting jobs, once they are worth a transaction; `None` after the last one.
    async fn take(&self) -> Option<(Vec<Job>, Writing<'_>)> {
        loop {
            let arrived = self.arrived.notified();
            // Does not yield to gather more jobs: a task that yields stays on its thread, and user
            // code may block that thread for long.
            {
                let mut waiting = self.lock();
                let count = waiting.jobs.len();
                if count >= limits::JOBS_FOR_ANOTHER_WRITER || (count > 0 && waiting.writing == 0) {
                    waiting.writing += 1;
                    let count = count.min(limits::JOBS_PER_COMMIT_MAX);
                    let jobs = waiting.jobs.drain(..count).collect();
                    return Some((jobs, Writing(self)));
                }
                if waiting.closed && count == 0 {
                    return None;
                }
            }
            arrived.await;
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
            tokio::spawn(lane.serve());
        }
        Self { queue }
    }

    /// Writes a job and responds when it is durable. Writes it even if the caller goes away.
    pub(crate) async fn run(&self, mut work: Work) -> Answer {
        let (reply, answer) = oneshot::channel();
        {
            let mut waiting = self.queue.lock();
            if let Work::Commit(commit) = &mut work {
                commit.again = waiting.uncertain.contains(&commit.token.id);
            }
            waiting.jobs.push_back(Job { work, reply });
        }
        self.queue.arrived.notify_one();
        answer.await.unwrap_or_else(|_| Err(JobError::stopped("the writer has stopped")))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.lock().closed = true;
        self.queue.arrived.notify_waiters();
        // A lane that is about to wait finds this permit.
        self.queue.arrived.notify_one();
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
        let written = self.write_group(&jobs, Some(writing)).await;
        match written {
            Ok(outcomes) => self.respond_all(jobs, outcomes),
            // Other groups need not wait for attempts that may take long. The jobs share their
            // pauses: while the database is in trouble, each would otherwise hold up the next.
            Err(error) => {
                let mut attempts = Attempts::default();
                for mut job in jobs {
                    let outcome = self.write_alone(&mut job, &error, &mut attempts).await;
                    self.respond_all(vec![job], vec![outcome]);
                }
            }
        }
    }

    /// Writes a job by itself after its group failed with `error`.
    async fn write_alone(
        &self,
        job: &mut Job,
        error: &JobError,
        attempts: &mut Attempts,
    ) -> Outcome {
        let mut error = error.clone();
        let mut tries = 0;
        loop {
            if error.is_uncertain() && !job.work.may_have_run() {
                return Err(error);
            }
            let is_transient = error.is_uncertain() || error.is_unavailable();
            // Each job is tried by itself at least once.
            if is_transient && (tries > 0 || !attempts.are_used_up()) {
                attempts.pause_or_fail(error).await?;
            }
            tries += 1;
            match self.write_group(std::slice::from_ref(job), None).await {
                Ok(mut outcomes) => return outcomes.pop().unwrap_or(Err(no_result())),
                Err(next) if next.is_uncertain() || next.is_unavailable() => error = next,
                Err(other) => return Err(other),
            }
        }
    }

    /// Writes jobs in one transaction. `Err` means that none was written, unless it is uncertain.
    async fn write_group(
        &self,
        jobs: &[Job],
        writing: Option<Writing<'_>>,
    ) -> Result<Vec<Outcome>, JobError> {
        let client = self.store.connections.writers.get().await?;
        // A job that runs by itself is repeated; an earlier attempt may have committed at any time.
        let changes = writing.is_some().then(|| self.store.notifier.queue_changes());
        let group = Group::of(jobs.iter().map(|job| &job.work));
        let written = group.write(&self.store, &client).await;
        drop(writing);
        if group.has_commits() {
            self.store.notifier.turns_committed(changes.filter(|_| written.is_ok()));
        }
        written
    }

    fn respond_all(&self, jobs: Vec<Job>, outcomes: Vec<Outcome>) {
        let mut changes = Changes::default();
        let mut answers = Vec::with_capacity(jobs.len());
        for (job, outcome) in jobs.into_iter().zip(outcomes) {
            self.remember(&job.work, &outcome);
            answers.push((
                job.reply,
                outcome.map(|(answer, changed)| {
                    changes.merge(changed);
                    answer
                }),
            ));
        }
        self.store.publish(changes);
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

    /// Remembers a commit while its outcome is unknown.
    fn remember(&self, work: &Work, outcome: &Outcome) {
        let Work::Commit(commit) = work else { return };
        let mut waiting = self.queue.lock();
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
