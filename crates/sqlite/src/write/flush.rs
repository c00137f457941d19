//! Makes commits durable.
//!
//! SQLite writes its log without waiting for the disk. The flusher flushes the log, and only then
//! do callers get their response, waiters their notification and readers what they read. The
//! writer thread itself flushes the commit of a lone job. Where several jobs share a commit, more
//! are likely to come: a second thread flushes, the writer continues, and commits that wait
//! meanwhile share the next flush.

use std::fs::{File, OpenOptions};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, mpsc};

use duroxide_core::providers::kit::Changes;
use duroxide_core::providers::{ChangeHub, ProviderErrorKind};
use rusqlite::Connection;
use tokio::sync::watch;

use crate::SqliteError;
use crate::error::JobError;
use crate::threads::Thread;
use crate::write::job::Job;

/// Which commits are visible, and which of them are durable.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    started: AtomicU64,
    flushed: watch::Sender<u64>,
}

impl Commits {
    /// Counts a commit before it is visible.
    fn start_commit(&self) -> u64 {
        self.started.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Records that a commit, and with it each one before, is durable or has failed.
    fn finish_commit(&self, number: u64) {
        self.flushed.send_if_modified(|flushed| {
            let is_later = *flushed < number;
            *flushed = number.max(*flushed);
            is_later
        });
    }

    /// Waits until everything that a reader can have seen so far is durable.
    pub(crate) async fn flushed(&self) {
        let seen = self.started.load(Ordering::SeqCst);
        // The sender is `self`, so the wait cannot fail.
        drop(self.flushed.subscribe().wait_for(|flushed| *flushed >= seen).await);
    }
}

/// What has to reach the disk.
pub(crate) trait Log: Send {
    /// Returns when everything that was written before is on the disk.
    fn flush(&mut self) -> io::Result<()>;
}

impl Log for File {
    fn flush(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

type Open = dyn Fn(&Path) -> io::Result<Box<dyn Log>> + Send + Sync;

/// Opens the log of a database.
#[derive(Clone)]
pub(crate) struct OpenLog(Arc<Open>);

impl OpenLog {
    /// Opens logs in another way.
    #[cfg(test)]
    pub(crate) fn with(
        open: impl Fn(&Path) -> io::Result<Box<dyn Log>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(open))
    }
}

impl Default for OpenLog {
    /// The write-ahead log beside the database, which stays the same file for as long as a
    /// connection is open.
    fn default() -> Self {
        Self(Arc::new(|database| {
            let mut path = database.as_os_str().to_owned();
            path.push("-wal");
            Ok(Box::new(OpenOptions::new().write(true).open(path)?))
        }))
    }
}

impl std::fmt::Debug for OpenLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OpenLog")
    }
}

/// Jobs whose changes are visible and not yet durable.
pub(crate) struct Committed {
    pub(crate) number: u64,
    pub(crate) jobs: Vec<Box<dyn Job>>,
    pub(crate) changes: Changes,
}

/// Flushes the log for the jobs of a commit.
pub(crate) struct Flusher {
    log: Box<dyn Log>,
    queue: mpsc::Sender<Committed>,
    share: Share,
    thread: Thread,
}

/// What both threads share.
#[derive(Clone)]
struct Share {
    commits: Arc<Commits>,
    hub: ChangeHub,
    /// Why the log could not be flushed. The system reports that once and then calls the pages
    /// clean, so a flush that succeeds later would prove nothing.
    failure: Arc<OnceLock<String>>,
}

impl Flusher {
    /// Starts the thread. It stops when this is dropped and all its jobs have their response.
    ///
    /// `None` if the log cannot be found: then SQLite waits for the disk by itself.
    pub(crate) fn start(
        conn: &Connection,
        open: OpenLog,
        commits: Arc<Commits>,
        hub: ChangeHub,
    ) -> Result<Option<Self>, SqliteError> {
        // The name as SQLite resolved it: the log lies beside the file that a link points to.
        let logs = conn.path().and_then(|path| {
            let open = || (open.0)(path.as_ref()).ok();
            open().zip(open())
        });
        let Some((log, second)) = logs else {
            let path = conn.path().unwrap_or_default();
            conn.execute_batch("PRAGMA synchronous = FULL")
                .map_err(|error| SqliteError::about(path.as_ref(), error))?;
            return Ok(None);
        };
        let share = Share { commits, hub, failure: Arc::default() };
        Self::start_with(log, second, share).map(Some)
    }

    fn start_with(
        log: Box<dyn Log>,
        mut second: Box<dyn Log>,
        share: Share,
    ) -> Result<Self, SqliteError> {
        let (queue, inbox) = mpsc::channel::<Committed>();
        let theirs = share.clone();
        let thread = Thread::start("duroxide-flush", move || {
            while let Ok(first) = inbox.recv() {
                let waiting = std::iter::once(first).chain(inbox.try_iter()).collect();
                // Waking a caller may panic; later jobs still need their response.
                let finish = AssertUnwindSafe(|| theirs.finish(second.flush(), waiting));
                if catch_unwind(finish).is_err() {
                    tracing::error!(
                        target: "duroxide::providers::sqlite",
                        "responding to a storage job panicked; continuing with the next"
                    );
                }
            }
        })?;
        Ok(Self { log, queue, share, thread })
    }

    /// Ends the thread. When this returns, all its jobs have their response.
    pub(crate) fn stop(self) {
        drop(self.queue);
        self.thread.join();
    }

    /// Counts a commit before it is visible; the caller must settle it.
    pub(crate) fn start_commit(&self) -> u64 {
        self.share.commits.start_commit()
    }

    /// Responds to the jobs of a commit once they are durable.
    pub(crate) fn settle(&mut self, committed: Committed) {
        let here = match committed.jobs.as_slice() {
            [] | [_] => committed,
            _ => match self.queue.send(committed) {
                Ok(()) => return,
                Err(mpsc::SendError(committed)) => committed,
            },
        };
        self.share.finish(self.log.flush(), vec![here]);
    }

    /// Why nothing can become durable any more, after a failed flush.
    pub(crate) fn failure(&self) -> Option<JobError> {
        self.share.failure.get().map(|reason| {
            JobError::Unavailable(format!(
                "Storage error: the log could not be flushed to the disk ({reason}); nothing is \
                 written until the database is opened again"
            ))
        })
    }
}

impl Share {
    fn finish(&self, flushed: io::Result<()>, mut waiting: Vec<Committed>) {
        if let Err(error) = flushed {
            tracing::error!(
                target: "duroxide::providers::sqlite",
                %error,
                "the log cannot be flushed to the disk; refusing writes until the file is reopened"
            );
            drop(self.failure.set(error.to_string()));
        }
        if let Some(reason) = self.failure.get() {
            // Permanent: the changes are visible, and may or may not survive a power loss.
            let text = format!(
                "Storage error: the log could not be flushed to the disk ({reason}); whether the \
                 change lasts is unknown"
            );
            let error = JobError::refused(ProviderErrorKind::Unavailable, text);
            for job in waiting.iter_mut().flat_map(|committed| &mut committed.jobs) {
                job.fail(&error);
            }
        }
        // Before anything that can panic, so that no reader waits for ever.
        for committed in &waiting {
            self.commits.finish_commit(committed.number);
        }
        for committed in waiting {
            // Also after a failure: the changes are visible.
            committed.changes.publish(&self.hub);
            // No job follows: only leases are released, and their jobs are not durable.
            committed.jobs.into_iter().for_each(|job| drop(job.respond()));
        }
    }
}
