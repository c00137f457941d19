//! A few threads with read connections of their own, so that reads neither wait for the writer nor
//! block an async thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use duroxide_core::providers::{ProviderError, ProviderErrorKind};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::SqliteError;
use crate::connect::connection;
use crate::connect::options::Settings;
use crate::connect::url::OpenMode;
use crate::error::{During, JobError};
use crate::read::read_jobs::ReadJobs;
use crate::threads::{Thread, Threads};

type Job = Box<dyn FnOnce(Result<&Connection, rusqlite::Error>) + Send>;

/// Sends reads to the threads, which stop when this is dropped.
pub(crate) struct Readers {
    jobs: Arc<ReadJobs<Job>>,
    threads: Threads,
}

impl std::fmt::Debug for Readers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Readers").finish_non_exhaustive()
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.jobs.close();
    }
}

impl Readers {
    /// Starts the threads. Each opens its connection when it is first needed.
    pub(crate) fn start(
        path: PathBuf,
        mode: OpenMode,
        settings: &Settings,
    ) -> Result<Self, SqliteError> {
        let jobs = Arc::new(ReadJobs::new());
        let start = |_number| {
            let (jobs, path, settings) = (Arc::clone(&jobs), path.clone(), settings.clone());
            Thread::start("duroxide-read", move || {
                serve(&jobs, || connection::open_reader(&path, mode, &settings));
            })
        };
        let threads: Result<Vec<Thread>, SqliteError> = (0..settings.readers).map(start).collect();
        // If one cannot be started, the others must not wait for ever.
        let threads = threads.inspect_err(|_| jobs.close())?;
        Ok(Self { jobs, threads: Threads::new(threads) })
    }

    /// Finishes the reads that wait, refuses later ones, and returns when the threads have ended.
    pub(crate) async fn close(&self) {
        self.jobs.close();
        self.threads.ended().await;
    }

    /// Runs `read` on one snapshot.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        operation: &'static str,
        read: impl FnOnce(&Connection) -> Result<T, JobError> + Send + 'static,
    ) -> Result<T, ProviderError> {
        let (reply, response) = oneshot::channel();
        let job: Job = Box::new(move |conn| {
            if reply.is_closed() {
                return;
            }
            let outcome = conn.map_err(JobError::from).and_then(|conn| in_snapshot(conn, read));
            // The caller may be gone; then the result is discarded.
            drop(reply.send(outcome));
        });
        let closed = || {
            ProviderError::permanent(operation, SqliteError::Closed.to_string())
                .with_kind(ProviderErrorKind::Unavailable)
        };
        self.jobs.push(job);
        // A job that panicked dropped its reply.
        response.await.map_err(|_| closed())?.during(operation)
    }
}

fn in_snapshot<T>(
    conn: &Connection,
    read: impl FnOnce(&Connection) -> Result<T, JobError>,
) -> Result<T, JobError> {
    conn.prepare_cached("BEGIN")?.execute([])?;
    let outcome = read(conn);
    conn.prepare_cached("ROLLBACK")?.execute([])?;
    outcome
}

fn serve(jobs: &ReadJobs<Job>, open: impl Fn() -> rusqlite::Result<Connection>) {
    let mut conn = None;
    while let Some(job) = jobs.next() {
        let opened = match conn.take() {
            Some(open) => Ok(open),
            None => open(),
        };
        match opened {
            Ok(open) => {
                let survived = catch_unwind(AssertUnwindSafe(|| job(Ok(&open)))).is_ok();
                // After a panic the connection may be within a snapshot: a new one is cheap.
                conn = survived.then_some(open).filter(Connection::is_autocommit);
            }
            Err(error) => job(Err(error)),
        }
    }
}
