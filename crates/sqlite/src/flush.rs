//! Makes commits durable.
//!
//! SQLite writes its log without waiting for the disk. The log is flushed here, and only then is
//! anyone answered, woken or given what they read. The flush of a lone job is done by the writer
//! itself. Where several jobs share a commit there are likely more to come: another thread flushes,
//! the writer goes on, and commits that wait meanwhile share the next flush.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

use duroxide_core::providers::ChangeHub;
use tokio::sync::watch;

use crate::SqliteError;
use crate::change::Changes;
use crate::error::JobError;
use crate::job::Job;

/// Which commits are visible, and which of them are durable.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    begun: AtomicU64,
    flushed: watch::Sender<u64>,
}

impl Commits {
    /// Counts a commit, before anyone can see it.
    pub(crate) fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// A commit, and with it each one before, is over.
    pub(crate) fn end(&self, number: u64) {
        self.flushed.send_if_modified(|flushed| {
            let is_later = *flushed < number;
            *flushed = number.max(*flushed);
            is_later
        });
    }

    /// Waits until everything that can have been read until now is durable.
    pub(crate) async fn flushed(&self) {
        let seen = self.begun.load(Ordering::SeqCst);
        // The sender is `self`, so the wait cannot fail.
        drop(self.flushed.subscribe().wait_for(|flushed| *flushed >= seen).await);
    }
}

/// What has to reach the disk.
pub(crate) trait Log: Send + 'static {
    /// Ends when everything that was written before is on the disk.
    fn flush(&mut self) -> io::Result<()>;
}

/// The write-ahead log of a database.
pub(crate) struct WriteAheadLog {
    path: PathBuf,
    file: Option<File>,
}

impl WriteAheadLog {
    /// The log that lies beside a database.
    pub(crate) fn of(database: &Path) -> Self {
        let mut path = database.as_os_str().to_owned();
        path.push("-wal");
        Self { path: path.into(), file: None }
    }
}

impl Log for WriteAheadLog {
    fn flush(&mut self) -> io::Result<()> {
        // The log stays the same file for as long as our connection is open.
        let file = match self.file.take() {
            Some(file) => file,
            None => OpenOptions::new().write(true).open(&self.path)?,
        };
        self.file.insert(file).sync_data()
    }
}

/// Jobs whose changes are visible and not yet durable.
pub(crate) struct Committed {
    pub(crate) number: u64,
    pub(crate) jobs: Vec<Box<dyn Job>>,
    pub(crate) changes: Changes,
}

/// Flushes the log for whoever has committed.
pub(crate) struct Flusher<L> {
    log: L,
    queue: mpsc::Sender<Committed>,
    share: Share,
}

/// What both threads need.
#[derive(Clone)]
struct Share {
    commits: Arc<Commits>,
    hub: ChangeHub,
}

impl<L: Log> Flusher<L> {
    /// Starts the thread. It ends when this is dropped and all that was handed to it is answered.
    pub(crate) fn start(
        log: L,
        mut second: L,
        commits: Arc<Commits>,
        hub: ChangeHub,
    ) -> Result<Self, SqliteError> {
        let share = Share { commits, hub };
        let (queue, inbox) = mpsc::channel::<Committed>();
        let theirs = share.clone();
        std::thread::Builder::new()
            .name("duroxide-flush".to_owned())
            .spawn(move || {
                while let Ok(first) = inbox.recv() {
                    let waiting = std::iter::once(first).chain(inbox.try_iter()).collect();
                    theirs.finish(second.flush(), waiting);
                }
            })
            .map_err(SqliteError::Thread)?;
        Ok(Self { log, queue, share })
    }

    /// Answers the jobs of a commit once they are durable.
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
}

impl Share {
    fn finish(&self, flushed: io::Result<()>, waiting: Vec<Committed>) {
        let failure = flushed.err().map(|error| {
            tracing::error!(%error, "the log cannot be flushed to the disk");
            JobError::Unavailable(format!("Storage error: the log cannot be flushed: {error}"))
        });
        for mut committed in waiting {
            if let Some(error) = &failure {
                committed.jobs.iter_mut().for_each(|job| job.fail(error));
            }
            self.commits.end(committed.number);
            // Also after a failure: what was changed can be seen.
            committed.changes.publish(&self.hub);
            for job in committed.jobs {
                let follow_up = job.answer();
                debug_assert!(follow_up.is_none(), "only leases, which are not durable, go back");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use duroxide_core::providers::ProviderError;
    use tokio::sync::oneshot;

    use super::*;
    use crate::job::TypedJob;

    /// A disk that answers each flush when the test says how.
    #[derive(Clone)]
    struct Disk {
        asked: mpsc::Sender<()>,
        answers: Arc<Mutex<mpsc::Receiver<io::Result<()>>>>,
    }

    impl Log for Disk {
        fn flush(&mut self) -> io::Result<()> {
            self.asked.send(()).unwrap();
            self.answers.lock().unwrap().recv().unwrap()
        }
    }

    type Answer = oneshot::Receiver<Result<u32, ProviderError>>;

    fn done_job(value: u32) -> (Box<dyn Job>, Answer) {
        let (reply, answer) = oneshot::channel();
        let mut job = TypedJob::new("test", Box::new(move |_| Ok(value)));
        job.outcome = Some(Ok(value));
        job.reply = Some(reply);
        (Box::new(job), answer)
    }

    /// A commit of two jobs, which is flushed by the thread.
    fn commit_of_two(commits: &Commits) -> (Committed, Answer, Answer) {
        let ((one, first), (two, second)) = (done_job(1), done_job(2));
        let (jobs, changes) = (vec![one, two], Changes::default());
        (Committed { number: commits.begin(), jobs, changes }, first, second)
    }

    struct Rig {
        flusher: Flusher<Disk>,
        commits: Arc<Commits>,
        asked: mpsc::Receiver<()>,
        answers: mpsc::Sender<io::Result<()>>,
    }

    fn rig() -> Rig {
        let (asking, asked) = mpsc::channel();
        let (answers, coming) = mpsc::channel();
        let disk = Disk { asked: asking, answers: Arc::new(Mutex::new(coming)) };
        let commits = Arc::new(Commits::default());
        let flusher =
            Flusher::start(disk.clone(), disk, Arc::clone(&commits), ChangeHub::default()).unwrap();
        Rig { flusher, commits, asked, answers }
    }

    async fn is_pending(future: impl Future) -> bool {
        tokio::time::timeout(Duration::ZERO, future).await.is_err()
    }

    #[tokio::test]
    async fn nobody_is_answered_before_the_flush_and_those_who_wait_share_one() {
        let mut rig = rig();
        let (first, mut one, _two) = commit_of_two(&rig.commits);
        rig.flusher.settle(first);
        rig.asked.recv().unwrap();
        // The first flush is under way: it need not hold what is committed now.
        let (second, mut three, _four) = commit_of_two(&rig.commits);
        let (third, mut five, _six) = commit_of_two(&rig.commits);
        rig.flusher.settle(second);
        rig.flusher.settle(third);
        assert!(is_pending(&mut one).await);
        assert!(is_pending(rig.commits.flushed()).await, "what was read is not durable either");
        rig.answers.send(Ok(())).unwrap();
        assert_eq!(one.await.unwrap().unwrap(), 1);
        rig.asked.recv().unwrap();
        assert!(is_pending(&mut three).await && is_pending(&mut five).await);
        rig.answers.send(Ok(())).unwrap();
        assert_eq!(three.await.unwrap().unwrap(), 1);
        assert_eq!(five.await.unwrap().unwrap(), 1);
        rig.commits.flushed().await;
        assert!(rig.asked.try_recv().is_err(), "two flushes were enough");
    }

    #[tokio::test]
    async fn a_failed_flush_is_told_and_the_next_one_is_tried() {
        let mut rig = rig();
        let (first, one, two) = commit_of_two(&rig.commits);
        rig.answers.send(Err(io::Error::other("disk on fire"))).unwrap();
        rig.flusher.settle(first);
        for answer in [one, two] {
            let error = answer.await.unwrap().unwrap_err();
            assert!(error.is_retryable());
            assert!(error.message.contains("disk on fire"), "{error}");
        }
        rig.commits.flushed().await;
        // A lone job is flushed here and now.
        rig.answers.send(Ok(())).unwrap();
        let (job, answer) = done_job(7);
        let number = rig.commits.begin();
        rig.flusher.settle(Committed { number, jobs: vec![job], changes: Changes::default() });
        assert_eq!(answer.await.unwrap().unwrap(), 7);
    }

    #[test]
    fn a_log_that_is_not_there_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = WriteAheadLog::of(&folder.path().join("store.db"));
        assert_eq!(log.flush().unwrap_err().kind(), io::ErrorKind::NotFound);
        std::fs::write(folder.path().join("store.db-wal"), "x").unwrap();
        log.flush().unwrap();
    }
}
