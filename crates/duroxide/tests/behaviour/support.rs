//! Starts nodes and waits for what they do.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use duroxide::client::Client;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::providers::{ChangeScope, ManualClock, Provider};
use duroxide::runtime::observability::MetricsSnapshot;
use duroxide::runtime::registry::{
    ActivityRegistry, ActivityRegistryBuilder, OrchestrationRegistry, OrchestrationRegistryBuilder,
};
use duroxide::runtime::{Runtime, RuntimeOptions, UnregisteredBackoffConfig};
use duroxide::{ErrorDetails, Event, EventKind, OrchestrationStatus};
use tokio::sync::Notify;

/// How long a test waits for an expected condition.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// The start of the manual clock.
pub(crate) const NOW_MS: u64 = 1_700_000_000_000;

/// A way to run a node. Results must be the same in every mode.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mode {
    pub(crate) warm: bool,
    pub(crate) concurrency: usize,
}

/// The mode of tests that run in one mode only.
pub(crate) const DEFAULT_MODE: Mode = Mode { warm: true, concurrency: 4 };

impl Mode {
    pub(crate) fn options(self) -> RuntimeOptions {
        let mut options = RuntimeOptions {
            orchestration_concurrency: self.concurrency,
            worker_concurrency: self.concurrency,
            ..RuntimeOptions::default()
        };
        options.warm_cache.enabled = self.warm;
        options
    }
}

/// Makes a module of four tests from a scenario: warm or replayed executions, on many threads or on
/// one thread with a single slot for turns and one for activities.
macro_rules! in_every_mode {
    ($($scenario:ident,)*) => {$(
        mod $scenario {
            use crate::support::Mode;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn warm_on_many_threads() {
                super::$scenario(Mode { warm: true, concurrency: 4 }).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn replayed_on_many_threads() {
                super::$scenario(Mode { warm: false, concurrency: 4 }).await;
            }

            #[tokio::test]
            async fn warm_on_one_thread() {
                super::$scenario(Mode { warm: true, concurrency: 1 }).await;
            }

            #[tokio::test]
            async fn replayed_on_one_thread() {
                super::$scenario(Mode { warm: false, concurrency: 1 }).await;
            }
        }
    )*};
}
pub(crate) use in_every_mode;

/// A node, its store and a client of the store.
pub(crate) struct Node {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) client: Client,
    pub(crate) store: Arc<dyn Provider>,
}

impl Node {
    /// Starts a node on a store.
    pub(crate) async fn on(
        store: &Arc<dyn Provider>,
        options: RuntimeOptions,
        orchestrations: OrchestrationRegistryBuilder,
        activities: ActivityRegistryBuilder,
    ) -> Self {
        let runtime = Runtime::start_with_options(
            Arc::clone(store),
            activities.build_result().unwrap(),
            orchestrations.build_result().unwrap(),
            options,
        )
        .await;
        Self { runtime, client: Client::new(Arc::clone(store)), store: Arc::clone(store) }
    }

    /// Starts a node on a store of its own.
    pub(crate) async fn start(
        mode: Mode,
        orchestrations: OrchestrationRegistryBuilder,
        activities: ActivityRegistryBuilder,
    ) -> Self {
        Self::on(&memory().await, mode.options(), orchestrations, activities).await
    }

    /// Starts an instance.
    pub(crate) async fn start_instance(&self, instance: &str, orchestration: &str, input: &str) {
        self.client.start_orchestration(instance, orchestration, input).await.unwrap();
    }

    /// Starts an instance and waits for its output.
    pub(crate) async fn run(&self, instance: &str, orchestration: &str, input: &str) -> String {
        self.start_instance(instance, orchestration, input).await;
        self.output(instance).await
    }

    /// Waits for the output of an instance that must complete.
    pub(crate) async fn output(&self, instance: &str) -> String {
        match self.client.wait_for_orchestration(instance, TIMEOUT).await {
            Ok(OrchestrationStatus::Completed { output, .. }) => output,
            other => panic!("{instance} did not complete: {other:?}"),
        }
    }

    /// Waits for the failure of an instance that must fail.
    pub(crate) async fn failure(&self, instance: &str) -> ErrorDetails {
        match self.client.wait_for_orchestration(instance, TIMEOUT).await {
            Ok(OrchestrationStatus::Failed { details, .. }) => details,
            other => panic!("{instance} did not fail: {other:?}"),
        }
    }

    /// Waits for the text of the failure of an instance that must fail.
    pub(crate) async fn failure_text(&self, instance: &str) -> String {
        self.failure(instance).await.display_message()
    }

    pub(crate) async fn history(&self, instance: &str) -> Vec<Event> {
        self.store.read(instance).await.unwrap()
    }

    /// Waits until the latest history of an instance meets a condition.
    pub(crate) async fn wait_for_history(
        &self,
        instance: &str,
        condition: impl Fn(&[Event]) -> bool,
    ) {
        let mut changes = self.store.watch(ChangeScope::Instance(instance)).unwrap();
        let waiting = async {
            while !condition(&self.history(instance).await) {
                changes.changed().await;
            }
        };
        if tokio::time::timeout(TIMEOUT, waiting).await.is_err() {
            panic!("{instance} timed out with {:?}", kinds(&self.history(instance).await));
        }
    }

    /// Waits until an event of this kind is stored.
    pub(crate) async fn wait_for_event(&self, instance: &str, kind: &str) {
        self.wait_for_history(instance, |history| has(history, kind)).await;
    }

    /// Waits until the orchestrator queue is empty.
    pub(crate) async fn wait_until_drained(&self) {
        within(async {
            while self.client.get_queue_depths().await.unwrap().orchestrator_queue > 0 {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    /// Stops the node and returns its final metrics.
    pub(crate) async fn stop_and_count(self) -> MetricsSnapshot {
        Arc::clone(&self.runtime).shutdown(None).await;
        self.runtime.metrics_snapshot().unwrap()
    }

    pub(crate) async fn stop(self) {
        self.runtime.shutdown(None).await;
    }
}

/// A store in memory.
pub(crate) async fn memory() -> Arc<dyn Provider> {
    Arc::new(SqliteProvider::new_in_memory().await.unwrap())
}

/// A store in memory with a clock that only the test moves.
pub(crate) async fn memory_with_clock() -> (Arc<dyn Provider>, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(NOW_MS));
    let store = SqliteProvider::builder(":memory:")
        .with_clock(Arc::clone(&clock) as _)
        .open()
        .await
        .unwrap();
    (Arc::new(store), clock)
}

/// A database file that a test can read and change directly.
pub(crate) struct Database {
    directory: tempfile::TempDir,
}

impl Database {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> String {
        self.directory.path().join("store.db").to_str().unwrap().to_owned()
    }

    /// Opens the file with a clock that only the test moves.
    pub(crate) async fn open(&self) -> (Arc<dyn Provider>, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::new(NOW_MS));
        let builder = SqliteProvider::builder(&self.path()).with_clock(Arc::clone(&clock) as _);
        (Arc::new(builder.open().await.unwrap()), clock)
    }

    /// Opens the file with the clock of the machine.
    pub(crate) async fn open_in_real_time(&self) -> Arc<dyn Provider> {
        Arc::new(SqliteProvider::new(&self.path(), None).await.unwrap())
    }

    /// Changes the file without the provider.
    pub(crate) fn execute(&self, sql: &str) {
        let connection = rusqlite::Connection::open(self.path()).unwrap();
        connection.execute_batch(sql).unwrap();
    }

    /// Reads one number from the file.
    pub(crate) fn number(&self, sql: &str) -> i64 {
        let connection = rusqlite::Connection::open(self.path()).unwrap();
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

/// A short delay, by the clock of the machine, for work without a registered handler.
pub(crate) fn short_backoff() -> UnregisteredBackoffConfig {
    let delay = Duration::from_millis(1);
    UnregisteredBackoffConfig { base_delay: delay, max_delay: delay }
}

pub(crate) fn orchestrations() -> OrchestrationRegistryBuilder {
    OrchestrationRegistry::builder()
}

pub(crate) fn activities() -> ActivityRegistryBuilder {
    ActivityRegistry::builder()
}

/// The types of events, in order.
pub(crate) fn kinds(history: &[Event]) -> Vec<&'static str> {
    history.iter().map(|event| event.kind.type_tag()).collect()
}

pub(crate) fn has(history: &[Event], kind: &str) -> bool {
    count(history, kind) > 0
}

pub(crate) fn count(history: &[Event], kind: &str) -> usize {
    history.iter().filter(|event| event.kind.type_tag() == kind).count()
}

/// The cancelled schedules of a history, with their reasons.
pub(crate) fn cancellations(history: &[Event]) -> Vec<(u64, &str)> {
    let reasons = history.iter().filter_map(|event| match &event.kind {
        EventKind::ActivityCancelRequested { reason }
        | EventKind::SubOrchestrationCancelRequested { reason }
        | EventKind::ExternalSubscribedCancelled { reason }
        | EventKind::QueueSubscriptionCancelled { reason } => {
            Some((event.source_event_id?, reason.as_str()))
        }
        _other => None,
    });
    reasons.collect()
}

/// Records what handlers did, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Journal {
    entries: Arc<(Mutex<VecDeque<String>>, Notify)>,
}

impl Journal {
    pub(crate) fn write(&self, entry: impl Into<String>) {
        self.entries.0.lock().unwrap().push_back(entry.into());
        self.entries.1.notify_waiters();
    }

    /// Removes and returns all entries.
    pub(crate) fn unread(&self) -> Vec<String> {
        self.entries.0.lock().unwrap().drain(..).collect()
    }

    pub(crate) fn has_entries(&self) -> bool {
        !self.entries.0.lock().unwrap().is_empty()
    }

    /// Waits for the next entry.
    pub(crate) async fn next(&self) -> String {
        within(async {
            loop {
                let written = self.entries.1.notified();
                if let Some(entry) = self.entries.0.lock().unwrap().pop_front() {
                    return entry;
                }
                written.await;
            }
        })
        .await
    }
}

/// Awaits a future that must complete in time.
pub(crate) async fn within<T>(waiting: impl Future<Output = T>) -> T {
    tokio::time::timeout(TIMEOUT, waiting).await.expect("timed out")
}

/// Polls a condition without a notification until it is true.
pub(crate) async fn eventually(mut condition: impl FnMut() -> bool) {
    within(async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
