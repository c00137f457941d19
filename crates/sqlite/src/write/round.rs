//! The jobs of one transaction.
//!
//! They run one after another without savepoints: as long as all of them succeed, or fail before
//! they have changed anything, nothing has to be undone. When one fails half-way, the transaction
//! is rolled back and all of them run again, each in a savepoint of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Instant;

use duroxide_core::clock::Clock;
use duroxide_core::providers::kit::Changes;
use rusqlite::Connection;

use crate::error::JobError;
use crate::limits;
use crate::schema::number::to_db;
use crate::write::holder::Holder;
use crate::write::job::Job;
use crate::write::writer::{Command, Maintenance, Tx};

/// Jobs that share a commit, and what follows it.
pub(crate) struct Round {
    pub(crate) jobs: Vec<Box<dyn Job>>,
    /// Runs after the commit, outside of a transaction.
    pub(crate) maintenance: Vec<Maintenance>,
    /// Whether the thread ends after this round.
    pub(crate) is_last: bool,
    /// A job that arrived meanwhile and cannot share this commit.
    pub(crate) next: Option<Box<dyn Job>>,
}

/// The outcome of the jobs of a round.
pub(crate) enum Ran {
    /// What they changed.
    All(Changes),
    /// One failed half-way; the transaction must be rolled back.
    HalfWay,
}

impl Round {
    /// A round of these jobs and of the commands that wait already.
    pub(crate) fn gather(
        jobs: Vec<Box<dyn Job>>,
        first: Option<Command>,
        inbox: &mpsc::Receiver<Command>,
    ) -> Self {
        let mut round = Self { jobs, maintenance: Vec::new(), is_last: false, next: None };
        if let Some(command) = first {
            round.add(command);
        }
        while round.jobs.len() < limits::JOBS_PER_COMMIT_MAX
            && let Ok(command) = inbox.try_recv()
        {
            round.add(command);
        }
        round
    }

    /// Whether its commit must survive a power loss.
    pub(crate) fn is_durable(&self) -> bool {
        self.jobs.iter().any(|job| job.is_durable())
    }

    /// Runs all jobs, and those that arrive meanwhile: a commit costs the same for all.
    pub(crate) fn run(
        &mut self,
        conn: &Connection,
        clock: &dyn Clock,
        holder: &Holder,
        inbox: &mpsc::Receiver<Command>,
    ) -> Result<Ran, JobError> {
        let started = Instant::now();
        let mut changes = Changes::default();
        let mut done = 0;
        loop {
            let Some(job) = self.jobs.get_mut(done) else {
                if started.elapsed() < limits::ROUND_LENGTH_MAX && self.receive_more(inbox) {
                    continue;
                }
                return Ok(Ran::All(changes));
            };
            let before = conn.total_changes();
            let ran = run_job(conn, clock, holder, job.as_mut());
            if conn.is_autocommit() {
                self.transaction_lost(done, ran.is_none())?;
                return Ok(Ran::All(changes));
            }
            match ran {
                Some(changed) => changes.merge(changed),
                None if conn.total_changes() == before => {}
                None => return Ok(Ran::HalfWay),
            }
            done += 1;
        }
    }

    /// Runs all jobs, each in a savepoint, so that a failure undoes only its own changes.
    pub(crate) fn run_with_savepoints(
        &mut self,
        conn: &Connection,
        clock: &dyn Clock,
        holder: &Holder,
    ) -> Result<Changes, JobError> {
        let mut changes = Changes::default();
        for (done, job) in self.jobs.iter_mut().enumerate() {
            execute(conn, "SAVEPOINT job")?;
            let ran = run_job(conn, clock, holder, job.as_mut());
            if conn.is_autocommit() {
                self.transaction_lost(done, ran.is_none())?;
                return Ok(changes);
            }
            match ran {
                Some(changed) => changes.merge(changed),
                None => execute(conn, "ROLLBACK TO job")?,
            }
            execute(conn, "RELEASE job")?;
        }
        Ok(changes)
    }

    /// SQLite ends the whole transaction when the disk is full or fails. All jobs get the reason
    /// why the last one failed, since any of them may be the one that a person reads.
    fn transaction_lost(&self, last: usize, last_failed: bool) -> Result<(), JobError> {
        if last_failed && self.jobs.len() == 1 {
            // The job has an error of its own, which is more precise.
            return Ok(());
        }
        let text = "Storage error: the shared transaction was rolled back";
        let failure = self.jobs.get(last).filter(|_| last_failed).and_then(|job| job.failure());
        Err(JobError::Unavailable(match failure {
            Some(failure) => format!("{text}: {failure}"),
            None => text.to_owned(),
        }))
    }

    fn receive_more(&mut self, inbox: &mpsc::Receiver<Command>) -> bool {
        let before = self.jobs.len();
        while self.jobs.len() < limits::JOBS_PER_COMMIT_MAX
            && self.next.is_none()
            && let Ok(command) = inbox.try_recv()
        {
            match command {
                Command::Run(job) if !self.may_join(job.as_ref()) => self.next = Some(job),
                Command::Run(_)
                | Command::Maintain(_)
                | Command::PollOtherProcesses
                | Command::Close => self.add(command),
            }
        }
        self.jobs.len() > before
    }

    fn may_join(&self, job: &dyn Job) -> bool {
        // Leases whose caller is gone are released first: otherwise the job would not find them.
        !job.acquires_leases()
            || !self.jobs.iter().any(|job| job.acquires_leases() && job.is_abandoned())
    }

    fn add(&mut self, command: Command) {
        match command {
            Command::Run(job) => self.jobs.push(job),
            Command::Maintain(work) => self.maintenance.push(work),
            Command::PollOtherProcesses => {}
            Command::Close => self.is_last = true,
        }
    }
}

/// Runs one job; `None` if it failed and its changes must not last.
fn run_job(
    conn: &Connection,
    clock: &dyn Clock,
    holder: &Holder,
    job: &mut dyn Job,
) -> Option<Changes> {
    let mut tx = Tx { conn, now: to_db(clock.now_ms()), holder, changes: Changes::default() };
    // Unwind safety: what a panic left half done is undone like a failure.
    let good = catch_unwind(AssertUnwindSafe(|| job.run(&mut tx))).unwrap_or_else(|_panic| {
        job.fail(&JobError::Broken("a storage job panicked".to_owned()));
        false
    });
    good.then_some(tx.changes)
}

/// Runs a statement without parameters.
pub(crate) fn execute(conn: &Connection, sql: &str) -> rusqlite::Result<()> {
    conn.prepare_cached(sql)?.execute([]).map(drop)
}
