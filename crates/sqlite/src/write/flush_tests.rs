//! Which calls wait for a flush, observed through the provider.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::Poll;
use std::time::Duration;

use duroxide_core::providers::{Provider, ProviderAdmin, TagFilter, WorkItem};
use tempfile::TempDir;

use crate::connect::options::Settings;
use crate::connect::url::{Location, OpenMode};
use crate::write::flush::{Log, OpenLog};
use crate::{SqliteProvider, Synchronous};

const LEASE: Duration = Duration::from_secs(30);
const LONG: Duration = Duration::from_secs(30);

/// A disk. While `is_held`, each flush completes with the result that the test sends.
#[derive(Clone)]
struct Disk {
    flushing: mpsc::Sender<()>,
    results: Arc<Mutex<mpsc::Receiver<io::Result<()>>>>,
    flushes: Arc<AtomicU32>,
    is_held: Arc<std::sync::atomic::AtomicBool>,
}

impl Log for Disk {
    fn flush(&mut self) -> io::Result<()> {
        self.flushes.fetch_add(1, Ordering::SeqCst);
        if !self.is_held.load(Ordering::SeqCst) {
            return Ok(());
        }
        self.flushing.send(()).unwrap();
        self.results.lock().unwrap().recv().unwrap()
    }
}

struct Rig {
    provider: SqliteProvider,
    disk: Disk,
    started: mpsc::Receiver<()>,
    results: mpsc::Sender<io::Result<()>>,
    _folder: TempDir,
}

impl Rig {
    async fn open(synchronous: Synchronous) -> Self {
        let (flushing, started) = mpsc::channel();
        let (results, next_result) = mpsc::channel();
        let disk = Disk {
            flushing,
            results: Arc::new(Mutex::new(next_result)),
            flushes: Arc::default(),
            is_held: Arc::default(),
        };
        let log = disk.clone();
        let open_log = OpenLog::with(move |_| Ok(Box::new(log.clone())));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let settings = Settings { synchronous, open_log, ..Settings::default() };
        let location = Location::File { path, mode: OpenMode::Create };
        let provider = SqliteProvider::open(location, settings).await.unwrap();
        Self { provider, disk, started, results, _folder: folder }
    }

    fn hold(&self) {
        self.disk.is_held.store(true, Ordering::SeqCst);
    }

    fn release(&self) {
        self.disk.is_held.store(false, Ordering::SeqCst);
        // The writer and the flusher may both be waiting.
        for _ in 0..2 {
            self.results.send(Ok(())).unwrap();
        }
    }

    /// Waits until a flush has started.
    fn wait_for_flush(&self) {
        self.started.recv_timeout(LONG).unwrap();
    }

    fn flushes(&self) -> u32 {
        self.disk.flushes.load(Ordering::SeqCst)
    }
}

fn activity(id: u64) -> WorkItem {
    WorkItem::ActivityExecute {
        instance: "a".to_owned(),
        execution_id: 1,
        id,
        name: "Act".to_owned(),
        input: String::new(),
        session_id: None,
        tag: None,
    }
}

/// Polls a future and returns whether it is still pending.
async fn is_pending<F: Future + Unpin>(future: &mut F) -> bool {
    std::future::poll_fn(|cx| {
        let polled = std::pin::Pin::new(&mut *future).poll(cx);
        Poll::Ready(polled.is_pending())
    })
    .await
}

#[tokio::test]
async fn a_write_returns_after_its_flush() {
    let rig = Rig::open(Synchronous::Full).await;
    rig.hold();
    let mut write = Box::pin(rig.provider.enqueue_for_worker(activity(1)));
    assert!(is_pending(&mut write).await);
    rig.wait_for_flush();
    assert!(is_pending(&mut write).await);
    rig.release();
    write.await.unwrap();
    assert_eq!(rig.flushes(), 1);
}

/// Two writes that share a commit, which is being flushed.
macro_rules! held_commit_of_two {
    ($rig:expr) => {{
        $rig.hold();
        // The first write occupies the writer, so that the next two share a commit.
        let mut first = Box::pin($rig.provider.enqueue_for_worker(activity(1)));
        assert!(is_pending(&mut first).await);
        $rig.wait_for_flush();
        let mut one = Box::pin($rig.provider.enqueue_for_worker(activity(2)));
        let mut two = Box::pin($rig.provider.enqueue_for_worker(activity(3)));
        assert!(is_pending(&mut one).await && is_pending(&mut two).await);
        $rig.results.send(Ok(())).unwrap();
        first.await.unwrap();
        $rig.wait_for_flush();
        (one, two)
    }};
}

#[tokio::test]
async fn a_read_returns_only_durable_data() {
    let rig = Rig::open(Synchronous::Full).await;
    let (mut one, two) = held_commit_of_two!(rig);
    let mut read = Box::pin(rig.provider.get_queue_depths());
    let early = tokio::time::timeout(Duration::from_millis(50), &mut read).await;
    assert!(early.is_err(), "the read returned data that a power loss erases");
    assert!(is_pending(&mut one).await);
    rig.release();
    assert_eq!(read.await.unwrap().worker_queue, 3);
    one.await.unwrap();
    two.await.unwrap();
}

#[tokio::test]
async fn an_activity_does_not_start_before_its_schedule_is_durable() {
    let rig = Rig::open(Synchronous::Full).await;
    let (one, two) = held_commit_of_two!(rig);
    let mut fetch =
        Box::pin(rig.provider.fetch_work_item(LEASE, LONG, None, &TagFilter::DefaultOnly));
    let early = tokio::time::timeout(Duration::from_millis(50), &mut fetch).await;
    assert!(early.is_err(), "the worker runs an activity that a power loss erases");
    rig.release();
    assert!(fetch.await.unwrap().is_some());
    one.await.unwrap();
    two.await.unwrap();
}

#[tokio::test]
async fn a_fetch_dropped_before_the_flush_releases_its_lease() {
    let rig = Rig::open(Synchronous::Full).await;
    let (one, two) = held_commit_of_two!(rig);
    let mut fetch =
        Box::pin(rig.provider.fetch_work_item(LEASE, LONG, None, &TagFilter::DefaultOnly));
    let early = tokio::time::timeout(Duration::from_millis(50), &mut fetch).await;
    assert!(early.is_err());
    drop(fetch);
    rig.release();
    one.await.unwrap();
    two.await.unwrap();
    for _ in 0..3 {
        let fetched = rig.provider.fetch_work_item(LEASE, LONG, None, &TagFilter::DefaultOnly);
        let (_, _, attempts) = fetched.await.unwrap().expect("none of the three is leased");
        assert_eq!(attempts, 1);
    }
}

#[tokio::test]
async fn after_a_failed_flush_the_provider_refuses_writes() {
    let rig = Rig::open(Synchronous::Full).await;
    rig.hold();
    rig.results.send(Err(io::Error::other("disk on fire"))).unwrap();
    let error = rig.provider.enqueue_for_worker(activity(1)).await.unwrap_err();
    assert!(!error.is_retryable(), "the write may be stored: a retry could store it twice");
    assert!(error.message.contains("disk on fire"), "{error}");
    let error = rig.provider.enqueue_for_worker(activity(2)).await.unwrap_err();
    assert!(error.is_retryable() && error.message.contains("opened again"), "{error}");
    assert_eq!(rig.provider.get_queue_depths().await.unwrap().worker_queue, 1, "reads still work");
    assert_eq!(rig.flushes(), 1);
}

#[tokio::test]
async fn without_full_durability_nothing_is_flushed() {
    let rig = Rig::open(Synchronous::Normal).await;
    rig.provider.enqueue_for_worker(activity(1)).await.unwrap();
    assert_eq!(rig.provider.get_queue_depths().await.unwrap().worker_queue, 1);
    assert_eq!(rig.flushes(), 0);
}

#[tokio::test]
async fn leases_need_no_flush_and_jobs_of_one_commit_share_one() {
    let rig = Rig::open(Synchronous::Full).await;
    let (one, two) = held_commit_of_two!(rig);
    rig.release();
    one.await.unwrap();
    two.await.unwrap();
    assert_eq!(rig.flushes(), 2, "one for the first write, one for the two that share a commit");
    let fetched = rig.provider.fetch_work_item(LEASE, LONG, None, &TagFilter::DefaultOnly);
    let (_, token, _) = fetched.await.unwrap().unwrap();
    rig.provider.renew_work_item_lock(&token, LEASE).await.unwrap();
    assert_eq!(rig.flushes(), 2, "neither the lease nor its renewal flushes");
}

#[tokio::test]
async fn without_access_to_the_log_sqlite_flushes_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let open_log = OpenLog::with(|_| Err(io::ErrorKind::NotFound.into()));
    let location = Location::File { path, mode: OpenMode::Create };
    let settings = Settings { open_log, ..Settings::default() };
    let provider = SqliteProvider::open(location, settings).await.unwrap();
    provider.enqueue_for_worker(activity(1)).await.unwrap();
    let level: i64 = provider
        .writer()
        .run("test", |tx| Ok(tx.conn.query_row("PRAGMA synchronous", [], |row| row.get(0))?))
        .await
        .unwrap();
    assert_eq!(level, 2, "FULL");
}
