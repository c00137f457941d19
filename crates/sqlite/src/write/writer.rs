//! One thread owns the write connection and commits all waiting jobs in one transaction.
//!
//! 1. If a job fails or panics, only its changes are undone; it may run again: see [`Round`].
//! 2. All jobs of a round share one commit. A caller gets its response once the commit is on the
//!    disk: see [`Flusher`]. Leases do not wait for the disk: a power loss that erases a lease also
//!    kills its holder.
//! 3. If the transaction cannot start or commit, every job of the round gets that error.
//! 4. Waiters are notified after the commit, so their next poll finds the change.
//! 5. A lease whose caller is gone is released: see [`Undo`].

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use duroxide_core::clock::Clock;
use duroxide_core::providers::kit::Changes;
use duroxide_core::providers::{ChangeHub, ProviderError, ProviderErrorKind};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::connect::connection;
use crate::connect::options::{Settings, Synchronous};
use crate::connect::url::{Location, OpenMode};
use crate::error::JobError;
use crate::files::neighbours::Neighbours;
use crate::notify::other_processes::OtherProcesses;
use crate::queues::future_times;
use crate::schema::number::to_db;
use crate::threads::{Thread, Threads};
use crate::write::flush::{Commits, Committed, Flusher};
use crate::write::holder::Holder;
use crate::write::job::{Job, TypedJob, Undo, Work};
use crate::write::round::{Ran, Round, execute};
use crate::write::take_over::TakeOver;
use crate::{SqliteError, limits};

/// What a job works with.
pub(crate) struct Tx<'a> {
    /// The write connection, within a transaction.
    pub(crate) conn: &'a Connection,
    /// The time at which the job runs.
    pub(crate) now: i64,
    /// Who holds the leases that the job acquires.
    pub(crate) holder: &'a Holder,
    /// What the job changes.
    pub(crate) changes: Changes,
}

/// Sends jobs to the thread. The thread stops when this and all pending responses are dropped.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    // Bounded by the callers: each waits for its response before it sends another job.
    commands: mpsc::Sender<Command>,
    waiting: Arc<AtomicUsize>,
    commits: Arc<Commits>,
    threads: Arc<Threads>,
}

/// Work on the write connection outside of a transaction.
pub(crate) type Maintenance = Box<dyn FnOnce(&Connection) + Send>;

pub(crate) enum Command {
    Run(Box<dyn Job>),
    Maintain(Maintenance),
    /// A caller started to wait: poll more often for commits of other processes.
    PollOtherProcesses,
    /// Run what has arrived, then end the thread.
    Close,
}

impl std::fmt::Debug for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Run(_) => "Run",
            Self::Maintain(_) => "Maintain",
            Self::PollOtherProcesses => "PollOtherProcesses",
            Self::Close => "Close",
        })
    }
}

impl Writer {
    /// Starts the thread, which opens the database; returns when it is open or has failed.
    pub(crate) async fn start(
        location: Location,
        settings: Settings,
        hub: ChangeHub,
    ) -> Result<Self, SqliteError> {
        let (commands, inbox) = mpsc::channel();
        let (opened, open) = oneshot::channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let commits = Arc::new(Commits::default());
        let theirs = Opened {
            location,
            settings,
            hub,
            waiting: Arc::clone(&waiting),
            commits: Arc::clone(&commits),
        };
        let thread = Thread::start("duroxide-write", move || match WriterThread::open(theirs) {
            Ok(thread) => {
                if opened.send(Ok(())).is_ok() {
                    thread.serve(inbox);
                }
            }
            Err(error) => drop(opened.send(Err(error))),
        })?;
        open.await.map_err(|_| SqliteError::Closed)??;
        Ok(Self { commands, waiting, commits, threads: Arc::new(Threads::new(vec![thread])) })
    }

    /// Runs `work` and returns once it is durable. It runs even if the caller drops the future.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnMut(&mut Tx<'_>) -> Result<T, JobError> + Send + 'static,
    ) -> Result<T, ProviderError> {
        let job = TypedJob::new(operation, Box::new(work));
        self.submit(job).await.map_err(|_| closed(operation))?
    }

    /// Runs `work`, which only extends a lease and so need not survive a power loss.
    pub(crate) async fn keep<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnMut(&mut Tx<'_>) -> Result<T, JobError> + Send + 'static,
    ) -> Result<T, ProviderError> {
        let job = TypedJob { durable: false, ..TypedJob::new(operation, Box::new(work)) };
        self.submit(job).await.map_err(|_| closed(operation))?
    }

    /// Runs `work`, which acquires leases. Unless the caller takes them, they are released.
    pub(crate) async fn lease<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnMut(&mut Tx<'_>) -> Result<T, JobError> + Send + 'static,
        undo: Undo<T>,
    ) -> Result<Lease<T>, ProviderError> {
        self.request_lease(operation, Box::new(work), undo).arrived().await
    }

    /// Like [`lease`](Self::lease) for a caller that takes the leases at once, and waits until
    /// everything that `work` may have seen is durable: an activity has side effects, so the turn
    /// that scheduled it must not be lost.
    pub(crate) async fn lease_work<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnMut(&mut Tx<'_>) -> Result<T, JobError> + Send + 'static,
        undo: Undo<T>,
    ) -> Result<T, ProviderError> {
        let lease = self.request_lease(operation, Box::new(work), undo).arrived().await?;
        self.flushed().await;
        lease.take()
    }

    fn request_lease<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: Work<T>,
        undo: Undo<T>,
    ) -> Lease<T> {
        let job = TypedJob { undo: Some(undo), durable: false, ..TypedJob::new(operation, work) };
        Lease { response: self.submit(job), held: None, undo, writer: self.clone(), operation }
    }

    /// Waits until everything that a reader can have seen so far is durable.
    pub(crate) async fn flushed(&self) {
        self.commits.flushed().await;
    }

    /// Runs `work` on the write connection, outside of a transaction. No job runs meanwhile.
    pub(crate) async fn maintain<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T, SqliteError> {
        let (reply, response) = oneshot::channel();
        let work: Maintenance = Box::new(move |conn| drop(reply.send(work(conn))));
        self.commands.send(Command::Maintain(work)).map_err(|_| SqliteError::Closed)?;
        response.await.map_err(|_| SqliteError::Closed)?
    }

    /// Runs the jobs that wait, refuses later ones, and returns when the thread has ended and the
    /// database is closed.
    pub(crate) async fn close(&self) {
        // If the thread has ended before, it is only awaited.
        drop(self.commands.send(Command::Close));
        self.threads.ended().await;
    }

    /// Wakes the thread because a caller started to wait, so that it chooses a shorter pause.
    pub(crate) fn poll_other_processes(&self) {
        // If the thread has stopped, nothing changes any more.
        drop(self.commands.send(Command::PollOtherProcesses));
    }

    /// While the guard exists, the thread polls eagerly for commits of other processes.
    pub(crate) fn wait_guard(&self) -> WaitGuard {
        // The thread chose its pause when no caller waited; for later callers it polls eagerly.
        if self.waiting.fetch_add(1, Ordering::Relaxed) == 0 {
            self.poll_other_processes();
        }
        WaitGuard { waiting: Arc::clone(&self.waiting) }
    }

    /// Sends a job. A closed channel drops it and with it its reply, which the caller sees.
    pub(crate) fn send(&self, job: Box<dyn Job>) {
        drop(self.commands.send(Command::Run(job)));
    }

    fn submit<T: Send + 'static>(&self, mut job: TypedJob<T>) -> Response<T> {
        let (reply, response) = oneshot::channel();
        job.reply = Some(reply);
        self.send(Box::new(job));
        response
    }
}

type Response<T> = oneshot::Receiver<Result<T, ProviderError>>;

pub(crate) fn closed(operation: &'static str) -> ProviderError {
    ProviderError::permanent(operation, SqliteError::Closed.to_string())
        .with_kind(ProviderErrorKind::Unavailable)
}

/// Counts one waiter.
#[derive(Debug)]
pub(crate) struct WaitGuard {
    waiting: Arc<AtomicUsize>,
}

impl Drop for WaitGuard {
    fn drop(&mut self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A response that holds leases until the caller takes it.
pub(crate) struct Lease<T: Send + 'static> {
    response: Response<T>,
    /// The response, until the caller receives it.
    held: Option<T>,
    undo: Undo<T>,
    writer: Writer,
    operation: &'static str,
}

impl<T: Send + 'static> Lease<T> {
    async fn arrived(mut self) -> Result<Self, ProviderError> {
        let response = (&mut self.response).await.map_err(|_| closed(self.operation))?;
        self.held = Some(response?);
        Ok(self)
    }

    /// What the job returned, if the response has arrived.
    pub(crate) fn value(&self) -> Option<&T> {
        self.held.as_ref()
    }

    pub(crate) fn take(mut self) -> Result<T, ProviderError> {
        self.held.take().ok_or_else(|| closed(self.operation))
    }
}

impl<T: Send + 'static> Drop for Lease<T> {
    fn drop(&mut self) {
        // After this a response is either here already or fails to be sent, in which case the
        // writer releases the lease.
        self.response.close();
        let arrived = self.response.try_recv().ok().and_then(Result::ok);
        if let Some(value) = self.held.take().or(arrived) {
            let undo = self.undo;
            let job = TypedJob::new(self.operation, Box::new(move |tx| undo(tx, &value)));
            drop(self.writer.submit(job));
        }
    }
}

/// What the thread is started with.
struct Opened {
    location: Location,
    settings: Settings,
    hub: ChangeHub,
    waiting: Arc<AtomicUsize>,
    commits: Arc<Commits>,
}

struct WriterThread {
    conn: Connection,
    clock: Arc<dyn Clock>,
    hub: ChangeHub,
    waiting: Arc<AtomicUsize>,
    poll: Duration,
    /// How many polls for other processes in a row found nothing.
    empty_polls: u32,
    other_processes: OtherProcesses,
    /// `None` if this process cannot find out whether others are alive.
    neighbours: Option<Neighbours>,
    holder: Holder,
    /// `None` if commits need not survive a power loss, or SQLite flushes by itself.
    flusher: Option<Flusher>,
    /// Whether another process has committed something that waiters here are not notified of yet.
    foreign: bool,
    /// Corrects stored times before anything else is done.
    correction: Option<Box<dyn Job>>,
}

impl WriterThread {
    fn open(opened: Opened) -> Result<Self, SqliteError> {
        let Opened { location, settings, hub, waiting, commits } = opened;
        let conn = connection::open_writer(&location, &settings)?;
        let writes =
            matches!(&location, Location::File { mode, .. } if *mode != OpenMode::ReadOnly);
        let flusher = if writes && settings.synchronous == Synchronous::Full {
            Flusher::start(&conn, settings.open_log, commits, hub.clone())?
        } else {
            None
        };
        let neighbours = if settings.upkeep { Neighbours::of(&location) } else { None };
        let is_alone = neighbours.as_ref().is_none_or(Neighbours::are_absent);
        let now = to_db(settings.clock.now_ms());
        let correction = if writes && settings.upkeep {
            future_times::correction(&conn, now, is_alone)
        } else {
            None
        };
        let holder = neighbours.as_ref().map_or_else(Holder::unknown, |own| Holder::new(own.id()));
        Ok(Self {
            neighbours,
            holder,
            poll: settings.cross_process_poll,
            other_processes: OtherProcesses::new(&location, &conn),
            clock: settings.clock,
            empty_polls: 0,
            conn,
            hub,
            waiting,
            flusher,
            foreign: false,
            correction,
        })
    }

    fn serve(mut self, inbox: mpsc::Receiver<Command>) {
        let mut waiting: Vec<Box<dyn Job>> = self.correction.take().into_iter().collect();
        let mut is_closing = false;
        while !is_closing || !waiting.is_empty() {
            if let Some(neighbours) = &mut self.neighbours {
                waiting.extend(neighbours.find_dead().into_iter().map(TakeOver::job));
            }
            let jobs = std::mem::take(&mut waiting);
            let first = if jobs.is_empty() {
                match self.next(&inbox) {
                    Ok(Some(Command::PollOtherProcesses) | None) => continue,
                    Ok(command) => command,
                    Err(mpsc::RecvError) => break,
                }
            } else {
                None
            };
            let mut round = Round::gather(jobs, first, &inbox);
            is_closing |= round.is_last;
            if !round.jobs.is_empty() {
                waiting.extend(self.commit(&mut round, &inbox));
                is_closing |= round.is_last;
                waiting.extend(round.next);
            }
            for work in round.maintenance {
                work(&self.conn);
            }
        }
        // Callers whose commands are left learn that they were not run.
        drop(inbox);
        if let Some(flusher) = self.flusher {
            flusher.stop();
        }
        // Callers that wait for a change poll again and get the error.
        self.hub.notify_all();
    }

    /// The next command; `None` if the pause ended first and the thread polled for other processes.
    fn next(
        &mut self,
        inbox: &mpsc::Receiver<Command>,
    ) -> Result<Option<Command>, mpsc::RecvError> {
        if !self.other_processes.are_possible() {
            return inbox.recv().map(Some);
        }
        let pause = self.poll.saturating_mul(self.poll_factor());
        match inbox.recv_timeout(pause.min(limits::POLL_TIMEOUT_MAX)) {
            Ok(command) => {
                self.empty_polls = 0;
                Ok(Some(command))
            }
            Err(RecvTimeoutError::Disconnected) => Err(mpsc::RecvError),
            Err(RecvTimeoutError::Timeout) => {
                self.empty_polls = self.empty_polls.saturating_add(1);
                if self.other_processes.may_have_committed(&self.conn) {
                    self.empty_polls = 0;
                    self.hub.notify_all();
                }
                Ok(None)
            }
        }
    }

    /// The more polls found nothing, the longer the pause; it is longest while no caller waits.
    fn poll_factor(&self) -> u32 {
        let is_awaited =
            self.waiting.load(Ordering::Relaxed) > 0 || self.hub.watched_instances() > 0;
        if is_awaited {
            (1 + self.empty_polls).min(limits::EMPTY_POLL_FACTOR)
        } else {
            limits::IDLE_POLL_FACTOR
        }
    }

    /// Commits a round and responds to its jobs; returns the jobs that must follow.
    fn commit(&mut self, round: &mut Round, inbox: &mpsc::Receiver<Command>) -> Vec<Box<dyn Job>> {
        let committed = self.try_commit(round, inbox);
        let jobs = std::mem::take(&mut round.jobs);
        match (committed, &mut self.flusher) {
            (Ok((changes, Some(number))), Some(flusher)) => {
                let (jobs, leases) = jobs.into_iter().partition(|job| job.is_durable());
                let follow_ups = respond(leases);
                flusher.settle(Committed { number, jobs, changes });
                follow_ups
            }
            (Ok((changes, _)), _) => {
                changes.publish(&self.hub);
                respond(jobs)
            }
            (Err(error), _) => {
                if !self.conn.is_autocommit()
                    && let Err(error) = execute(&self.conn, "ROLLBACK")
                {
                    tracing::error!(
                        target: "duroxide::providers::sqlite",
                        %error,
                        "a failed transaction could not be rolled back; the next one will fail"
                    );
                }
                if std::mem::take(&mut self.foreign) {
                    self.hub.notify_all();
                }
                let failed = jobs.into_iter().map(|mut job| {
                    job.fail(&error);
                    job
                });
                respond(failed.collect())
            }
        }
    }

    /// What was changed, and the number of the commit if it has to be flushed.
    fn try_commit(
        &mut self,
        round: &mut Round,
        inbox: &mpsc::Receiver<Command>,
    ) -> Result<(Changes, Option<u64>), JobError> {
        if let Some(failure) = self.flusher.as_ref().and_then(Flusher::failure) {
            return Err(failure);
        }
        execute(&self.conn, "BEGIN IMMEDIATE")?;
        self.foreign |= self.other_processes.have_committed(&self.conn);
        let mut changes = match round.run(&self.conn, self.clock.as_ref(), &self.holder, inbox)? {
            Ran::All(changes) => changes,
            Ran::HalfWay => {
                execute(&self.conn, "ROLLBACK")?;
                execute(&self.conn, "BEGIN IMMEDIATE")?;
                round.run_with_savepoints(&self.conn, self.clock.as_ref(), &self.holder)?
            }
        };
        if self.foreign {
            changes.everything();
        }
        if self.conn.is_autocommit() {
            return Ok((changes, None));
        }
        // Another process may not have flushed yet what it has committed.
        let must_last = round.is_durable() || self.foreign;
        let number = self.flusher.as_ref().filter(|_| must_last).map(Flusher::start_commit);
        let committed = execute(&self.conn, "COMMIT");
        if let (Err(_), Some(flusher), Some(number)) = (&committed, &mut self.flusher, number) {
            // Readers that wait for this number wait for the earlier ones, too.
            flusher.settle(Committed { number, jobs: Vec::new(), changes: Changes::default() });
        }
        committed?;
        self.foreign = false;
        Ok((changes, number))
    }
}

/// Responds to jobs; returns the jobs that must follow because a caller is gone.
fn respond(jobs: Vec<Box<dyn Job>>) -> Vec<Box<dyn Job>> {
    jobs.into_iter().filter_map(Job::respond).collect()
}
