//! What the tests share.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{
    CommittedTurn, ExecutionMetadata, FetchedTurn, ManualClock, Provider, ProviderError,
    TurnCommit, TurnFetch, WorkItem,
};
use duroxide_core::{Event, EventKind};
use duroxide_pg::{PostgresProvider, PostgresProviderBuilder};
use tokio_postgres::{Client, NoTls};

/// Longer than a test may take: only a clock that a test moves ends it.
pub(crate) const LEASE: Duration = Duration::from_secs(60);
pub(crate) const NOW: Duration = Duration::ZERO;
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
pub(crate) const BEGIN_MS: u64 = 1_700_000_000_000;

/// A schema of its own on the shared server.
pub(crate) struct Store {
    pub(crate) url: String,
    pub(crate) schema: String,
    pub(crate) clock: Option<Arc<ManualClock>>,
}

impl Store {
    /// With a clock that only the test moves.
    pub(crate) fn new() -> Self {
        let clock = Arc::new(ManualClock::new(BEGIN_MS));
        Self { clock: Some(clock), ..Self::live() }
    }

    /// Under the clock of the database.
    pub(crate) fn live() -> Self {
        Self::at(&duroxide_pg_server::shared_url().unwrap())
    }

    /// With transactions that wait for a lock as long as it takes, so that the test can hold them.
    pub(crate) fn patient() -> Self {
        let store = Self::live();
        Self { url: format!("{}?options=-c%20lock_timeout%3D0", store.url), ..store }
    }

    /// On another server.
    pub(crate) fn at(url: &str) -> Self {
        let schema = format!("t_{}", uuid::Uuid::new_v4().simple());
        Self { url: url.to_owned(), schema, clock: None }
    }

    pub(crate) fn builder(&self) -> PostgresProviderBuilder {
        let builder = PostgresProvider::builder(&self.url).with_schema(&self.schema);
        match &self.clock {
            Some(clock) => builder.with_clock(Arc::<ManualClock>::clone(clock)),
            None => builder,
        }
    }

    /// A node.
    pub(crate) async fn node(&self) -> Arc<PostgresProvider> {
        Arc::new(self.builder().open().await.unwrap())
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.clock.as_ref().expect("a clock that can be moved").advance(by);
    }

    /// The URL of a role whose password is its name.
    pub(crate) fn url_of(&self, role: &str) -> String {
        let (_, place) = self.url.split_once('@').expect("a URL with a user");
        format!("postgres://{role}:{role}@{place}")
    }

    /// A plain connection, to look and to meddle. `$` stands for the schema.
    pub(crate) async fn sql(&self) -> Sql {
        let (client, connection) = tokio_postgres::connect(&self.url, NoTls).await.unwrap();
        tokio::spawn(connection);
        Sql { client, schema: self.schema.clone() }
    }

    pub(crate) async fn count(&self, sql: &str) -> i64 {
        self.sql().await.count(sql).await
    }
}

pub(crate) struct Sql {
    client: Client,
    schema: String,
}

impl Sql {
    pub(crate) async fn run(&self, sql: &str) {
        self.client.batch_execute(&sql.replace('$', &self.schema)).await.unwrap();
    }

    /// Runs a text that already names its schema.
    pub(crate) async fn run_as_is(&self, sql: &str) {
        self.client.batch_execute(sql).await.unwrap();
    }

    pub(crate) async fn try_run(&self, sql: &str) -> Result<(), tokio_postgres::Error> {
        self.client.batch_execute(&sql.replace('$', &self.schema)).await
    }

    pub(crate) async fn count(&self, sql: &str) -> i64 {
        let row = self.client.query_one(&sql.replace('$', &self.schema), &[]).await.unwrap();
        row.get(0)
    }

    /// All rows of one text column.
    pub(crate) async fn lines(&self, sql: &str) -> String {
        let rows = self.client.query(&sql.replace('$', &self.schema), &[]).await.unwrap();
        rows.iter().map(|row| row.get::<_, &str>(0)).collect::<Vec<_>>().join("\n")
    }

    pub(crate) async fn text(&self, sql: &str) -> String {
        let row = self.client.query_one(&sql.replace('$', &self.schema), &[]).await.unwrap();
        row.get(0)
    }

    /// The name that a function of this build has in the schema.
    pub(crate) async fn function(&self, name: &str) -> String {
        let sql = format!("SELECT version FROM {}.duroxide_functions", self.schema);
        let row = self.client.query_one(&sql, &[]).await.unwrap();
        format!("{name}_{}", row.get::<_, &str>("version"))
    }

    /// Ends sessions of this database whose last statement holds `word`, but not our own.
    pub(crate) async fn terminate(&self, word: &str) -> i64 {
        let sql = format!(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
             WHERE application_name = 'duroxide' AND query LIKE '%{word}%'"
        );
        self.count(&sql).await
    }
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

pub(crate) fn activity(instance: &str, id: u64) -> WorkItem {
    tagged(instance, id, None)
}

pub(crate) fn tagged(instance: &str, id: u64, tag: Option<&str>) -> WorkItem {
    WorkItem::ActivityExecute {
        instance: instance.to_owned(),
        execution_id: 1,
        id,
        name: "Work".to_owned(),
        input: String::new(),
        session_id: None,
        tag: tag.map(str::to_owned),
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

pub(crate) fn event(instance: &str, id: u64, kind: EventKind) -> Event {
    Event::with_event_id(id, instance, 1, None, kind)
}

pub(crate) fn started(instance: &str) -> Event {
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
    event(instance, 1, kind)
}

pub(crate) fn heard(instance: &str, id: u64) -> Event {
    let kind = EventKind::ExternalEvent { name: "signal".to_owned(), data: id.to_string() };
    event(instance, id, kind)
}

pub(crate) fn named() -> ExecutionMetadata {
    ExecutionMetadata {
        orchestration_name: Some("Test".to_owned()),
        orchestration_version: Some("1.0.0".to_owned()),
        ..ExecutionMetadata::default()
    }
}

/// Commits a turn that is not shared with anyone.
pub(crate) trait StoreTurn {
    async fn store_turn(&self, turn: TurnCommit) -> Result<CommittedTurn, ProviderError>;
}

impl<P: Provider + ?Sized> StoreTurn for P {
    async fn store_turn(&self, turn: TurnCommit) -> Result<CommittedTurn, ProviderError> {
        self.commit_turn(Arc::new(turn)).await
    }
}

/// A commit that says nothing but what the caller adds.
pub(crate) fn commit(token: &str, events: Vec<Event>) -> TurnCommit {
    TurnCommit::new(token.to_owned(), 1).with_history_delta(events).with_metadata(named())
}

pub(crate) fn wish(turns_max: usize) -> TurnFetch<'static> {
    TurnFetch::new(turns_max, LEASE).with_poll_timeout(NOW)
}

/// The next turn, if there is one now.
pub(crate) async fn try_turn(provider: &dyn Provider) -> Option<FetchedTurn> {
    provider.fetch_orchestration_items(wish(1)).await.unwrap().pop()
}

pub(crate) async fn turn(provider: &dyn Provider) -> FetchedTurn {
    try_turn(provider).await.expect("a turn is ready")
}

/// Creates an instance with its start event.
pub(crate) async fn create(provider: &dyn Provider, instance: &str) -> CommittedTurn {
    provider.enqueue_for_orchestrator(start(instance), None).await.unwrap();
    let turn = turn(provider).await;
    assert_eq!(turn.item.instance, instance);
    provider.store_turn(commit(&turn.lock_token, vec![started(instance)])).await.unwrap()
}

/// Tries again while errors pass.
pub(crate) async fn until_done<T, F>(mut call: impl FnMut() -> F) -> T
where
    F: Future<Output = Result<T, ProviderError>>,
{
    let tries = async {
        loop {
            match call().await {
                Ok(answer) => return answer,
                Err(error) => assert!(error.is_retryable(), "{error}"),
            }
        }
    };
    tokio::time::timeout(PATIENCE, tries).await.expect("the error passes")
}
