//! Commits in groups: whatever waits while a commit is under way shares the next one.
//!
//! A few lanes take all jobs that wait, run them in one transaction and answer them: an answer
//! means durable. A transaction costs more than a job in it, so that a second lane begins only when
//! many wait. If the transaction fails, each job is run by itself, so that nobody suffers for
//! somebody else's mistake.

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
use crate::store::{Store, Tries};
use crate::write::group::{Group, Outcome, Work, no_answer};

/// What became of it. Only a commit has something to say.
pub(crate) type Answer = Result<Option<CommittedTurn>, JobError>;

struct Job {
    work: Work,
    reply: oneshot::Sender<Answer>,
}

/// Hands jobs to the lanes, which end when this is dropped.
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
    // Not bounded by itself: each caller waits for its answer, so there are at most as many jobs
    // as callers.
    jobs: VecDeque<Job>,
    closed: bool,
    /// Lanes that write a group.
    writing: usize,
    /// Commits whose answer was lost: the same call may come again.
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

    /// Everything that waits, once it is worth a transaction; `None` when there will be nothing
    /// more.
    async fn take(&self) -> Option<(Vec<Job>, Writing<'_>)> {
        loop {
            let arrived = self.arrived.notified();
            // No yielding here, to gather more jobs: a task that yields stays with its thread, and
            // code of a user may keep that thread for long.
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

/// A group that is being written. Whatever comes meanwhile waits for its end.
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

    /// Writes and answers once it is durable. It is written even if the caller goes away.
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
        // A lane that was about to wait finds this.
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
            // A lane outlives a bug of ours: those who wait see that their answer is gone.
            if AssertUnwindSafe(self.write_all(jobs, writing)).catch_unwind().await.is_err() {
                tracing::error!("writing a group of jobs panicked");
            }
        }
        // The next lane must not miss the end.
        self.queue.arrived.notify_one();
    }

    async fn write_all(&self, jobs: Vec<Job>, writing: Writing<'_>) {
        let written = self.write_group(&jobs, Some(writing)).await;
        match written {
            Ok(outcomes) => self.answer_all(jobs, outcomes),
            // Others need not wait for tries that may take long.
            Err(error) => {
                for mut job in jobs {
                    let outcome = self.write_alone(&mut job, &error).await;
                    self.answer_all(vec![job], vec![outcome]);
                }
            }
        }
    }

    /// Writes a job by itself after its group failed with `error`.
    async fn write_alone(&self, job: &mut Job, error: &JobError) -> Outcome {
        let mut error = error.clone();
        let mut tries = Tries::default();
        loop {
            if error.is_uncertain() && !job.work.expect_traces() {
                return Err(error);
            }
            if error.is_uncertain() || error.is_unavailable() {
                tries.pause_or_give_up(error).await?;
            }
            match self.write_group(std::slice::from_ref(job), None).await {
                Ok(mut outcomes) => return outcomes.pop().unwrap_or(Err(no_answer())),
                Err(again) if again.is_uncertain() || again.is_unavailable() => error = again,
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
        // By itself it is done again, and an earlier try may have ended at any time.
        let news = writing.is_some().then(|| self.store.queue_news());
        let group = Group::of(jobs.iter().map(|job| &job.work));
        let written = group.write(&self.store, &client).await;
        drop(writing);
        if group.has_commits() {
            self.store.look_again(news.filter(|_| written.is_ok()));
        }
        written
    }

    fn answer_all(&self, jobs: Vec<Job>, outcomes: Vec<Outcome>) {
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
                tracing::warn!(%error, "a storage job failed and nobody waits for its answer");
            }
        }
    }

    /// Remembers a commit while nobody knows whether it was done.
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
