//! Commits in groups: whatever waits while a commit is under way shares the next one.
//!
//! A few lanes take all jobs that wait, run them in one transaction and answer them: an answer
//! means durable. A transaction costs more than a job in it, so that a second lane begins only when
//! many wait. If the transaction fails, each job is run by itself, so that nobody suffers for
//! somebody else's mistake.

use std::collections::{HashSet, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deadpool_postgres::Object;
use duroxide_core::providers::CommittedTurn;
use futures_util::FutureExt;
use tokio::sync::{Notify, oneshot};
use uuid::Uuid;

use crate::change::Changes;
use crate::commit::{self, EncodedCommit};
use crate::error::JobError;
use crate::limits;
use crate::orchestrator_queue::{self, DelayedMessage};
use crate::store::{Store, Tries};
use crate::worker_queue::{self, Finished, NewWork};

/// Something that is written in a group.
#[derive(Debug)]
pub(crate) enum Work {
    Commit(Box<EncodedCommit>),
    Finish(Finished),
    Message(DelayedMessage),
    Activity(NewWork),
}

impl Work {
    /// An earlier try may have been done. False if it could not be told from a new one, so that it
    /// must not be tried again.
    fn expect_traces(&mut self) -> bool {
        match self {
            Self::Commit(commit) => commit.again = true,
            Self::Finish(finished) => finished.again = true,
            Self::Message(_) | Self::Activity(_) => return false,
        }
        true
    }
}

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
            // Whoever is ready to run may have a job that fits into the same group.
            for _ in 0..limits::YIELDS_BEFORE_COMMIT {
                tokio::task::yield_now().await;
            }
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
        answer.await.unwrap_or_else(|_| Err(JobError::Failed("the writer has stopped".to_owned())))
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
        let written = self.write_group(&jobs).await;
        drop(writing);
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
            match self.write_group(std::slice::from_ref(job)).await {
                Ok(mut outcomes) => return outcomes.pop().unwrap_or(Err(no_answer())),
                Err(again) if again.is_uncertain() || again.is_unavailable() => error = again,
                Err(other) => return Err(other),
            }
        }
    }

    /// Writes jobs in one transaction. `Err` means that none was written, unless it is uncertain.
    async fn write_group(&self, jobs: &[Job]) -> Result<Vec<Outcome>, JobError> {
        let client = self.store.connections.writers.get().await?;
        let group = Group::of(jobs);
        if group.kinds() <= 1 {
            return group.write(&self.store, &client, jobs.len()).await;
        }
        // Preparing takes a round trip, and would let the end of the transaction overtake it.
        group.prepare(&self.store, &client).await?;
        // One after the other without waiting: the whole transaction is one round trip.
        let (begun, written, committed) = tokio::join!(
            client.batch_execute("BEGIN"),
            group.write(&self.store, &client, jobs.len()),
            client.batch_execute("COMMIT"),
        );
        begun?;
        let outcomes = written?;
        committed?;
        Ok(outcomes)
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

type Outcome = Result<(Option<CommittedTurn>, Changes), JobError>;

fn no_answer() -> JobError {
    JobError::Broken("the database gave no answer for a job".to_owned())
}

/// Jobs by kind, each with its place.
#[derive(Default)]
struct Group<'a> {
    commits: Vec<(usize, &'a EncodedCommit)>,
    finished: Vec<(usize, &'a Finished)>,
    messages: Vec<(usize, &'a DelayedMessage)>,
    activities: Vec<(usize, &'a NewWork)>,
}

impl<'a> Group<'a> {
    fn of(jobs: &'a [Job]) -> Self {
        let mut group = Self::default();
        for (index, job) in jobs.iter().enumerate() {
            match &job.work {
                Work::Commit(commit) => group.commits.push((index, commit)),
                Work::Finish(finished) => group.finished.push((index, finished)),
                Work::Message(message) => group.messages.push((index, message)),
                Work::Activity(work) => group.activities.push((index, work)),
            }
        }
        group
    }

    fn kinds(&self) -> usize {
        [
            self.commits.is_empty(),
            self.finished.is_empty(),
            self.messages.is_empty(),
            self.activities.is_empty(),
        ]
        .iter()
        .filter(|empty| !**empty)
        .count()
    }

    async fn prepare(&self, store: &Store, client: &Object) -> Result<(), JobError> {
        let statements = [
            (self.commits.is_empty(), commit::COMMIT_SQL),
            (self.finished.is_empty(), worker_queue::FINISH_SQL),
            (self.messages.is_empty(), orchestrator_queue::INSERT_SQL),
            (self.activities.is_empty(), worker_queue::INSERT_SQL),
        ];
        for (_, template) in statements.iter().filter(|(empty, _)| !empty) {
            client.prepare_cached(&store.schema.sql(template)).await?;
        }
        Ok(())
    }

    async fn write(
        &self,
        store: &Store,
        client: &Object,
        jobs: usize,
    ) -> Result<Vec<Outcome>, JobError> {
        let (finished, messages, activities, commits) = tokio::join!(
            self.write_finished(store, client),
            self.write_messages(store, client),
            self.write_activities(store, client),
            self.write_commits(store, client),
        );
        let mut outcomes: Vec<Outcome> = Vec::with_capacity(jobs);
        outcomes.resize_with(jobs, || Err(no_answer()));
        let written = [finished?, messages?, activities?, commits?];
        for (index, outcome) in written.into_iter().flatten() {
            if let Some(place) = outcomes.get_mut(index) {
                *place = outcome;
            }
        }
        Ok(outcomes)
    }

    async fn write_finished(&self, store: &Store, client: &Object) -> Written {
        if self.finished.is_empty() {
            return Ok(Vec::new());
        }
        let (places, finished) = unzip(&self.finished);
        let outcomes = worker_queue::finish_all(store, client, &finished).await?;
        let outcomes = outcomes.into_iter().map(|outcome| Ok((None, outcome?)));
        Ok(places.into_iter().zip(outcomes).collect())
    }

    async fn write_messages(&self, store: &Store, client: &Object) -> Written {
        if self.messages.is_empty() {
            return Ok(Vec::new());
        }
        let (places, messages) = unzip(&self.messages);
        let changes = orchestrator_queue::insert_all(store, client, &messages).await?;
        Ok(all_good(places, &changes))
    }

    async fn write_activities(&self, store: &Store, client: &Object) -> Written {
        if self.activities.is_empty() {
            return Ok(Vec::new());
        }
        let (places, activities) = unzip(&self.activities);
        let changes = worker_queue::insert_all(store, client, &activities).await?;
        Ok(all_good(places, &changes))
    }

    async fn write_commits(&self, store: &Store, client: &Object) -> Written {
        if self.commits.is_empty() {
            return Ok(Vec::new());
        }
        let (places, commits) = unzip(&self.commits);
        let outcomes = commit::commit_turns(store, client, &commits).await?;
        Ok(places.into_iter().zip(outcomes).collect())
    }
}

type Written = Result<Vec<(usize, Outcome)>, JobError>;

fn unzip<'a, T>(placed: &[(usize, &'a T)]) -> (Vec<usize>, Vec<&'a T>) {
    placed.iter().copied().unzip()
}

fn all_good(places: Vec<usize>, changes: &Changes) -> Vec<(usize, Outcome)> {
    let good = |index| (index, Ok((None, changes.clone())));
    places.into_iter().map(good).collect()
}
