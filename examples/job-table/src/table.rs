//! The job table, as many programs have one.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, Result, Row, params};
use serde::{Deserialize, Serialize};

/// Attempts after which a job has failed.
pub const ATTEMPTS_MAX: u32 = 5;

/// A row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The key of the row.
    pub id: i64,
    /// What is to be done.
    pub kind: String,
    /// To what.
    pub payload: String,
    /// Attempts so far.
    pub attempts: u32,
    /// Not before this time, in seconds since 1970.
    pub run_after: u64,
}

/// How many rows have which status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Waiting for an old worker.
    pub pending: u32,
    /// In the hands of an old worker, or of one that died.
    pub running: u32,
    /// Claimed by the change-over, which starts instances for them.
    pub moving: u32,
    /// Instances now.
    pub moved: u32,
    /// Done by old workers.
    pub done: u32,
    /// Given up by old workers.
    pub failed: u32,
}

/// The table.
#[derive(Debug)]
pub struct JobTable {
    connection: Mutex<Connection>,
}

impl JobTable {
    /// Opens the table, and creates it if it is missing.
    ///
    /// # Errors
    /// When the file cannot be used.
    pub fn open(path: &Path) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_secs(10))?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL;
             CREATE TABLE IF NOT EXISTS jobs (
                 id INTEGER PRIMARY KEY AUTOINCREMENT,
                 kind TEXT NOT NULL,
                 payload TEXT NOT NULL,
                 status TEXT NOT NULL DEFAULT 'pending',
                 attempts INTEGER NOT NULL DEFAULT 0,
                 run_after INTEGER NOT NULL,
                 error TEXT
             );
             CREATE INDEX IF NOT EXISTS jobs_by_status ON jobs (kind, status, run_after);",
        )?;
        Ok(Self { connection: Mutex::new(connection) })
    }

    /// Adds a job, to be done after so many seconds.
    ///
    /// # Errors
    /// When the table cannot be written.
    pub fn insert(&self, kind: &str, payload: &str, delay_seconds: u32) -> Result<i64> {
        let insert =
            "INSERT INTO jobs (kind, payload, run_after) VALUES (?1, ?2, unixepoch() + ?3)";
        let connection = self.connection();
        connection.execute(insert, params![kind, payload, delay_seconds])?;
        Ok(connection.last_insert_rowid())
    }

    /// Claims a job that is due, as old workers do.
    ///
    /// # Errors
    /// When the table cannot be written.
    pub fn claim(&self) -> Result<Option<Job>> {
        let claim = "UPDATE jobs SET status = 'running', attempts = attempts + 1
             WHERE id = (SELECT id FROM jobs WHERE status = 'pending' AND run_after <= unixepoch()
                         ORDER BY run_after, id LIMIT 1)
             RETURNING id, kind, payload, attempts, run_after";
        let connection = self.connection();
        let mut claim = connection.prepare_cached(claim)?;
        let mut rows = claim.query_map([], job)?;
        rows.next().transpose()
    }

    /// Records the end of a job, or when it is attempted again.
    ///
    /// # Errors
    /// When the table cannot be written.
    pub fn finish(&self, job: &Job, outcome: std::result::Result<(), String>) -> Result<()> {
        let (status, delay, error) = match outcome {
            Ok(()) => ("done", 0, None),
            Err(error) if job.attempts >= ATTEMPTS_MAX => ("failed", 0, Some(error)),
            Err(error) => ("pending", 1 << job.attempts, Some(error)),
        };
        let finish = "UPDATE jobs SET status = ?2, run_after = unixepoch() + ?3, error = ?4
             WHERE id = ?1";
        self.connection().execute(finish, params![job.id, status, delay, error]).map(drop)
    }

    /// Claims up to `limit` pending jobs of a kind for the change-over, due or not, and returns all
    /// that are claimed for it: also those of a run that did not come to its end.
    ///
    /// # Errors
    /// When the table cannot be written.
    pub fn claim_for_move(&self, kind: &str, limit: u32) -> Result<Vec<Job>> {
        let claim = "UPDATE jobs SET status = 'moving'
             WHERE id IN (SELECT id FROM jobs WHERE kind = ?1 AND status = 'pending' LIMIT ?2)";
        let list = "SELECT id, kind, payload, attempts, run_after FROM jobs
             WHERE kind = ?1 AND status = 'moving' ORDER BY id";
        let connection = self.connection();
        connection.execute(claim, params![kind, limit])?;
        connection.prepare_cached(list)?.query_map([kind], job)?.collect()
    }

    /// Records that a job has its instance.
    ///
    /// # Errors
    /// When the table cannot be written.
    pub fn mark_moved(&self, id: i64) -> Result<()> {
        let mark = "UPDATE jobs SET status = 'moved' WHERE id = ?1 AND status = 'moving'";
        self.connection().execute(mark, [id]).map(drop)
    }

    /// Makes the jobs pending again that died with their workers. Only when all have stopped: the
    /// table does not say which worker lives, which is one reason to leave it.
    ///
    /// # Errors
    /// When the table cannot be written.
    pub fn release_running(&self, kind: &str) -> Result<()> {
        let release = "UPDATE jobs SET status = 'pending' WHERE kind = ?1 AND status = 'running'";
        self.connection().execute(release, [kind]).map(drop)
    }

    /// Counts the rows of a kind.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn count(&self, kind: &str) -> Result<Counts> {
        let count = "SELECT count(*) FILTER (WHERE status = 'pending'),
             count(*) FILTER (WHERE status = 'running'), count(*) FILTER (WHERE status = 'moving'),
             count(*) FILTER (WHERE status = 'moved'), count(*) FILTER (WHERE status = 'done'),
             count(*) FILTER (WHERE status = 'failed') FROM jobs WHERE kind = ?1";
        self.connection().query_row(count, [kind], |row| {
            let [pending, running, moving] = [row.get(0)?, row.get(1)?, row.get(2)?];
            let [moved, done, failed] = [row.get(3)?, row.get(4)?, row.get(5)?];
            Ok(Counts { pending, running, moving, moved, done, failed })
        })
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    /// Whether no row waits for anything.
    pub fn is_drained(&self) -> bool {
        self.pending + self.running + self.moving == 0
    }
}

fn job(row: &Row<'_>) -> Result<Job> {
    let (id, kind, payload) = (row.get(0)?, row.get(1)?, row.get(2)?);
    // A time before 1970 is as much in the past as 1970 itself.
    let run_after = u64::try_from(row.get::<_, i64>(4)?).unwrap_or(0);
    Ok(Job { id, kind, payload, attempts: row.get(3)?, run_after })
}
