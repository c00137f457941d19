//! What the tests share.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{
    CommittedTurn, ExecutionMetadata, FetchedTurn, ManualClock, Provider, ProviderError,
    TurnCommit, TurnFetch, WorkItem,
};
use duroxide_core::{Event, EventKind};
use duroxide_sqlite::SqliteProvider;
use tempfile::TempDir;

pub(crate) const LEASE: Duration = Duration::from_secs(5);
pub(crate) const NOW: Duration = Duration::ZERO;
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
pub(crate) const BEGIN_MS: u64 = 1_700_000_000_000;

/// A provider on a file of its own, under a clock that only the test moves.
pub(crate) struct Store {
    pub(crate) provider: Arc<SqliteProvider>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) folder: TempDir,
}

impl Store {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new(BEGIN_MS));
        let provider = open(&url(&folder), &clock).await;
        Self { provider, clock, folder }
    }

    pub(crate) fn url(&self) -> String {
        url(&self.folder)
    }

    /// A second provider on the same file, as another process would have one.
    pub(crate) async fn another(&self) -> Arc<SqliteProvider> {
        open(&self.url(), &self.clock).await
    }

    /// A plain connection to the file, to inspect and to damage it.
    pub(crate) fn sql(&self) -> rusqlite::Connection {
        let conn = rusqlite::Connection::open(self.folder.path().join("store.db")).unwrap();
        conn.busy_timeout(PATIENCE).unwrap();
        conn
    }

    pub(crate) fn count(&self, sql: &str) -> i64 {
        self.sql().query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

pub(crate) fn url(folder: &TempDir) -> String {
    format!("sqlite:{}", folder.path().join("store.db").display())
}

pub(crate) async fn open(url: &str, clock: &Arc<ManualClock>) -> Arc<SqliteProvider> {
    let builder = SqliteProvider::builder(url).with_clock(Arc::<ManualClock>::clone(clock));
    Arc::new(builder.open().await.unwrap())
}

pub(crate) fn start(instance: &str) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: instance.to_owned(),
        orchestration: "Test".to_owned(),
        input: "{}".to_owned(),
        version: Some("1.0.0".to_owned()),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        execution_id: 1,
    }
}

pub(crate) fn signal(instance: &str, data: &str) -> WorkItem {
    WorkItem::ExternalRaised {
        instance: instance.to_owned(),
        name: "signal".to_owned(),
        data: data.to_owned(),
    }
}

pub(crate) fn queued(instance: &str, data: &str) -> WorkItem {
    WorkItem::QueueMessage {
        instance: instance.to_owned(),
        name: "queue".to_owned(),
        data: data.to_owned(),
    }
}

pub(crate) fn timer(instance: &str, id: u64, fire_at_ms: u64) -> WorkItem {
    WorkItem::TimerFired { instance: instance.to_owned(), execution_id: 1, id, fire_at_ms }
}

pub(crate) fn activity(instance: &str, id: u64) -> WorkItem {
    WorkItem::ActivityExecute {
        instance: instance.to_owned(),
        execution_id: 1,
        id,
        name: "Work".to_owned(),
        input: String::new(),
        session_id: None,
        tag: None,
    }
}

pub(crate) fn completed(instance: &str, id: u64) -> WorkItem {
    WorkItem::ActivityCompleted {
        instance: instance.to_owned(),
        execution_id: 1,
        id,
        result: "done".to_owned(),
    }
}

pub(crate) fn event(instance: &str, execution_id: u64, id: u64, kind: EventKind) -> Event {
    Event::with_event_id(id, instance, execution_id, None, kind)
}

pub(crate) fn started(instance: &str, execution_id: u64) -> Event {
    let kind = EventKind::OrchestrationStarted {
        name: "Test".to_owned(),
        version: "1.0.0".to_owned(),
        input: "{}".to_owned(),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: None,
        initial_custom_status: None,
    };
    event(instance, execution_id, 1, kind)
}

pub(crate) fn heard(instance: &str, id: u64) -> Event {
    let kind = EventKind::ExternalEvent { name: "signal".to_owned(), data: id.to_string() };
    event(instance, 1, id, kind)
}

pub(crate) fn named() -> ExecutionMetadata {
    ExecutionMetadata {
        orchestration_name: Some("Test".to_owned()),
        orchestration_version: Some("1.0.0".to_owned()),
        ..ExecutionMetadata::default()
    }
}

pub(crate) fn ended(status: &str) -> ExecutionMetadata {
    ExecutionMetadata { status: Some(status.to_owned()), output: Some("out".to_owned()), ..named() }
}

/// Commits a turn that no other task shares.
pub(crate) trait StoreTurn {
    async fn store_turn(&self, turn: TurnCommit) -> Result<CommittedTurn, ProviderError>;
}

impl<P: Provider + ?Sized> StoreTurn for P {
    async fn store_turn(&self, turn: TurnCommit) -> Result<CommittedTurn, ProviderError> {
        self.commit_turn(Arc::new(turn)).await
    }
}

/// A commit without changes; the caller adds them.
pub(crate) fn commit(token: &str, events: Vec<Event>) -> TurnCommit {
    TurnCommit::new(token.to_owned(), 1).with_history_delta(events).with_metadata(named())
}

pub(crate) fn wish(turns_max: usize) -> TurnFetch<'static> {
    TurnFetch::new(turns_max, LEASE).with_poll_timeout(NOW)
}

/// The next turn, if one is fetchable now.
pub(crate) async fn try_turn(provider: &dyn Provider) -> Option<FetchedTurn> {
    provider.fetch_orchestration_items(wish(1)).await.unwrap().pop()
}

pub(crate) async fn turn(provider: &dyn Provider) -> FetchedTurn {
    try_turn(provider).await.expect("a turn is ready")
}

/// Creates an instance with its start event.
pub(crate) async fn create(provider: &dyn Provider, instance: &str) {
    create_with(provider, instance, named()).await;
}

pub(crate) async fn create_with(
    provider: &dyn Provider,
    instance: &str,
    metadata: ExecutionMetadata,
) {
    provider.enqueue_for_orchestrator(start(instance), None).await.unwrap();
    let turn = turn(provider).await;
    assert_eq!(turn.item.instance, instance);
    let commit = commit(&turn.lock_token, vec![started(instance, 1)]).with_metadata(metadata);
    provider.store_turn(commit).await.unwrap();
}

/// Fetches the next turn and commits these events.
pub(crate) async fn step(provider: &dyn Provider, instance: &str, events: Vec<Event>) {
    provider.enqueue_for_orchestrator(signal(instance, "step"), None).await.unwrap();
    let turn = turn(provider).await;
    assert_eq!(turn.item.instance, instance);
    provider.store_turn(commit(&turn.lock_token, events)).await.unwrap();
}
