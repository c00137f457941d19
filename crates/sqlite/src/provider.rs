//! The storage contract over SQLite.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use duroxide_core::clock::Clock;
use duroxide_core::providers::{
    ActivityProgress, ChangeHub, ChangeScope, ChangeWatch, CommittedTurn, DirectTurn,
    DispatcherCapabilityFilter, ExecutionMetadata, FetchedTurn, FetchedWork, InstanceOutcome,
    InstanceStatus, OrchestrationItem, OverdueFetch, Provider, ProviderAdmin, ProviderError,
    ScheduledActivityIdentifier, SessionFetchConfig, TagFilter, TurnCommit, TurnFetch, WorkFetch,
    WorkItem, WorkSlot, WorkerAnnouncement,
};
use duroxide_core::{Event, SystemStats};
use rusqlite::Connection;

use crate::commit::{self, EncodedCommit};
use crate::direct_turn::{self, EncodedDirectTurn};
use crate::error::{During, JobError};
use crate::fetch::lease_length;
use crate::history::NewEvent;
use crate::options::{Settings, SqliteOptions, SqliteProviderBuilder};
use crate::orchestrator_queue::{self, NewMessage};
use crate::readers::Readers;
use crate::turn_lock::{self, GiveBack};
use crate::url::Location;
use crate::work_lock;
use crate::worker_queue::{self, NewWork};
use crate::workers::{self, NewWorker};
use crate::writer::{Tx, Writer};
use crate::{SqliteError, fetch_wait, history, inspect, kv, progress, sessions};

/// Keeps everything in one SQLite database. Several processes may share a file.
#[derive(Debug)]
pub struct SqliteProvider {
    writer: Writer,
    /// `None` in memory, where only the writer sees the database.
    readers: Option<Readers>,
    hub: ChangeHub,
    clock: Arc<dyn Clock>,
}

impl SqliteProvider {
    /// Opens a database: `sqlite:path`, `sqlite://path`, a bare path or `:memory:`.
    ///
    /// A missing file is created unless the URL ends in `?mode=rw` or `?mode=ro`; one made by
    /// duroxide 0.1.x is migrated in place.
    ///
    /// # Errors
    /// When the file cannot be used; the error says what to do.
    pub async fn new(
        database_url: &str,
        options: Option<SqliteOptions>,
    ) -> Result<Self, SqliteError> {
        let SqliteOptions {} = options.unwrap_or_default();
        Self::builder(database_url).open().await
    }

    /// A database in memory, private to this provider.
    ///
    /// # Errors
    /// When the storage thread cannot be started.
    pub async fn new_in_memory() -> Result<Self, SqliteError> {
        Self::new_in_memory_with_options(None).await
    }

    /// A database in memory, private to this provider.
    ///
    /// # Errors
    /// When the storage thread cannot be started.
    pub async fn new_in_memory_with_options(
        options: Option<SqliteOptions>,
    ) -> Result<Self, SqliteError> {
        Self::new(":memory:", options).await
    }

    /// Opens a database with chosen settings.
    pub fn builder(database_url: &str) -> SqliteProviderBuilder {
        SqliteProviderBuilder::new(database_url)
    }

    pub(crate) async fn open(location: Location, settings: Settings) -> Result<Self, SqliteError> {
        let hub = ChangeHub::default();
        let clock = Arc::clone(&settings.clock);
        let writer = Writer::start(location.clone(), settings.clone(), hub.clone()).await?;
        let readers = match location {
            Location::Memory => None,
            Location::File { path, mode } => Some(Readers::start(path, mode, &settings)?),
        };
        Ok(Self { writer, readers, hub, clock })
    }

    /// Copies the write-ahead log into the file and empties it.
    ///
    /// # Errors
    /// When another process reads the log at this moment, or the disk fails.
    pub async fn checkpoint(&self) -> Result<(), SqliteError> {
        self.writer.checkpoint().await
    }

    /// Every table as text, for a person who looks for a fault.
    pub async fn debug_dump(&self) -> String {
        self.read_with("debug_dump", inspect::dump)
            .await
            .unwrap_or_else(|error| format!("cannot dump: {error}"))
    }

    pub(crate) fn writer(&self) -> &Writer {
        &self.writer
    }

    pub(crate) fn hub(&self) -> &ChangeHub {
        &self.hub
    }

    pub(crate) fn clock_ref(&self) -> &dyn Clock {
        self.clock.as_ref()
    }

    /// Reads from one snapshot, all of which is durable when this ends.
    pub(crate) async fn read_with<T: Send + 'static>(
        &self,
        operation: &'static str,
        mut read: impl FnMut(&Connection) -> Result<T, JobError> + Send + 'static,
    ) -> Result<T, ProviderError> {
        let Some(readers) = &self.readers else {
            return self.writer.run(operation, move |tx| read(tx.conn)).await;
        };
        let found = readers.run(operation, read).await;
        self.writer.flushed().await;
        found
    }

    async fn commit(
        &self,
        operation: &'static str,
        turn: &TurnCommit,
    ) -> Result<CommittedTurn, ProviderError> {
        let encoded = EncodedCommit::encode(turn, &self.hub).during(operation)?;
        self.writer.run(operation, move |tx| commit::commit_turn(tx, &encoded)).await
    }
}

#[async_trait]
impl Provider for SqliteProvider {
    fn name(&self) -> &str {
        "sqlite"
    }

    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    async fn fetch_orchestration_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Result<Option<(OrchestrationItem, String, u32)>, ProviderError> {
        let fetch = TurnFetch { turns_max: 1, lock_timeout, poll_timeout, filter, known: None };
        let turns = fetch_wait::fetch_turns(self, "fetch_orchestration_item", fetch).await?;
        let first = turns.into_iter().next();
        Ok(first.map(|turn| (turn.item, turn.lock_token, turn.attempt_count)))
    }

    async fn ack_orchestration_item(
        &self,
        lock_token: &str,
        execution_id: u64,
        history_delta: Vec<Event>,
        worker_items: Vec<WorkItem>,
        orchestrator_items: Vec<WorkItem>,
        metadata: ExecutionMetadata,
        cancelled_activities: Vec<ScheduledActivityIdentifier>,
    ) -> Result<(), ProviderError> {
        let turn = TurnCommit {
            lock_token: lock_token.to_owned(),
            execution_id,
            history_delta,
            worker_items,
            orchestrator_items,
            metadata,
            cancelled_activities,
            start_limits: Vec::new(),
            lease_work: None,
        };
        self.commit("ack_orchestration_item", &turn).await.map(drop)
    }

    async fn abandon_orchestration_item(
        &self,
        lock_token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        let token = lock_token.to_owned();
        let how = GiveBack { delay: delay.map(lease_length), ignore_attempt };
        self.writer
            .run("abandon_orchestration_item", move |tx| turn_lock::abandon(tx, &token, how))
            .await
    }

    async fn read(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        self.read_events("read", instance, None).await
    }

    async fn read_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        self.read_events("read_with_execution", instance, Some(execution_id)).await
    }

    async fn append_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
        new_events: Vec<Event>,
    ) -> Result<(), ProviderError> {
        const OPERATION: &str = "append_with_execution";
        let events = NewEvent::encode_all(&new_events).during(OPERATION)?;
        let instance = instance.to_owned();
        let append = move |tx: &mut crate::writer::Tx<'_>| {
            history::append(tx, &instance, execution_id, &events)?;
            orchestrator_queue::unpark(tx.conn, &instance)?;
            tx.changes.orchestrator_queue();
            tx.changes.instance(instance.clone());
            Ok(())
        };
        self.writer.run(OPERATION, append).await
    }

    async fn enqueue_for_worker(&self, item: WorkItem) -> Result<(), ProviderError> {
        const OPERATION: &str = "enqueue_for_worker";
        let work = NewWork::encode(&item).during(OPERATION)?;
        self.writer.run(OPERATION, move |tx| worker_queue::insert(tx, &work)).await
    }

    async fn fetch_work_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        session: Option<&SessionFetchConfig>,
        tag_filter: &TagFilter,
    ) -> Result<Option<(WorkItem, String, u32)>, ProviderError> {
        let slots = [WorkSlot { session: session.cloned() }];
        let fetch = WorkFetch { slots: &slots, lock_timeout, poll_timeout, tag_filter };
        let work = fetch_wait::fetch_work(self, "fetch_work_item", fetch).await?;
        let first = work.into_iter().next();
        Ok(first.map(|work| (work.item, work.lock_token, work.attempt_count)))
    }

    async fn ack_work_item(
        &self,
        token: &str,
        completion: Option<WorkItem>,
    ) -> Result<(), ProviderError> {
        const OPERATION: &str = "ack_work_item";
        let completion = completion.as_ref().map(NewMessage::encode_completion).transpose();
        let completion = completion.during(OPERATION)?;
        let token = token.to_owned();
        self.writer
            .run(OPERATION, move |tx| work_lock::finish(tx, &token, completion.as_ref()))
            .await
    }

    async fn renew_work_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        let token = token.to_owned();
        let extend_for = lease_length(extend_for);
        self.writer
            .keep("renew_work_item_lock", move |tx| work_lock::renew(tx, &token, extend_for))
            .await
    }

    async fn renew_session_lock(
        &self,
        owner_ids: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        // Each owner once: a session that is named twice is still one session.
        let owners: BTreeSet<String> = owner_ids.iter().map(|owner| (*owner).to_owned()).collect();
        let (extend_for, idle) = (lease_length(extend_for), lease_length(idle_timeout));
        self.writer
            .keep("renew_session_lock", move |tx| sessions::renew(tx, &owners, extend_for, idle))
            .await
    }

    async fn cleanup_orphaned_sessions(
        &self,
        _idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        self.writer.run("cleanup_orphaned_sessions", sessions::cleanup).await
    }

    async fn abandon_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        let token = token.to_owned();
        let how = GiveBack { delay: delay.map(lease_length), ignore_attempt };
        self.writer.run("abandon_work_item", move |tx| work_lock::abandon(tx, &token, how)).await
    }

    async fn renew_orchestration_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        let token = token.to_owned();
        let extend_for = lease_length(extend_for);
        self.writer
            .keep("renew_orchestration_item_lock", move |tx| {
                turn_lock::renew(tx, &token, extend_for)
            })
            .await
    }

    async fn enqueue_for_orchestrator(
        &self,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Result<(), ProviderError> {
        const OPERATION: &str = "enqueue_for_orchestrator";
        let message = NewMessage::encode_message(&item).during(OPERATION)?;
        let delay = delay.map_or(0, lease_length);
        self.writer
            .run(OPERATION, move |tx| {
                orchestrator_queue::insert(tx, &message, tx.now.saturating_add(delay))
            })
            .await
    }

    fn as_management_capability(&self) -> Option<&dyn ProviderAdmin> {
        Some(self)
    }

    async fn get_custom_status(
        &self,
        instance: &str,
        last_seen_version: u64,
    ) -> Result<Option<(Option<String>, u64)>, ProviderError> {
        let instance = instance.to_owned();
        let read =
            move |conn: &Connection| inspect::custom_status(conn, &instance, last_seen_version);
        self.read_with("get_custom_status", read).await
    }

    async fn get_kv_value(
        &self,
        instance: &str,
        key: &str,
    ) -> Result<Option<String>, ProviderError> {
        let (instance, key) = (instance.to_owned(), key.to_owned());
        self.read_with("get_kv_value", move |conn| kv::value(conn, &instance, &key)).await
    }

    async fn get_kv_all_values(
        &self,
        instance: &str,
    ) -> Result<HashMap<String, String>, ProviderError> {
        let instance = instance.to_owned();
        self.read_with("get_kv_all_values", move |conn| kv::values(conn, &instance)).await
    }

    async fn get_instance_stats(
        &self,
        instance: &str,
    ) -> Result<Option<SystemStats>, ProviderError> {
        let instance = instance.to_owned();
        self.read_with("get_instance_stats", move |conn| inspect::stats(conn, &instance)).await
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    async fn fetch_orchestration_items(
        &self,
        request: TurnFetch<'_>,
    ) -> Result<Vec<FetchedTurn>, ProviderError> {
        fetch_wait::fetch_turns(self, "fetch_orchestration_items", request).await
    }

    async fn commit_turn(&self, commit: Arc<TurnCommit>) -> Result<CommittedTurn, ProviderError> {
        self.commit("commit_turn", &commit).await
    }

    fn takes_direct_turns(&self) -> bool {
        true
    }

    async fn commit_direct_turn(
        &self,
        turn: Arc<DirectTurn>,
    ) -> Result<Option<CommittedTurn>, ProviderError> {
        let operation = "commit_direct_turn";
        let encoded = EncodedDirectTurn::encode(&turn, &self.hub).during(operation)?;
        drop(turn);
        self.writer.run(operation, move |tx| direct_turn::commit_direct_turn(tx, &encoded)).await
    }

    async fn fetch_work_items(
        &self,
        request: WorkFetch<'_>,
    ) -> Result<Vec<FetchedWork>, ProviderError> {
        fetch_wait::fetch_work(self, "fetch_work_items", request).await
    }

    fn watch(&self, scope: ChangeScope<'_>) -> Option<ChangeWatch> {
        let watch = self.hub.watch(scope);
        self.writer.look_around();
        Some(watch)
    }

    async fn read_outcome(&self, instance: &str) -> Result<InstanceOutcome, ProviderError> {
        let instance = instance.to_owned();
        self.read_with("read_outcome", move |conn| history::outcome(conn, &instance)).await
    }

    async fn read_status(&self, instance: &str) -> Result<InstanceStatus, ProviderError> {
        let instance = instance.to_owned();
        self.read_with("read_status", move |conn| history::status(conn, &instance)).await
    }

    async fn find_lost_work_locks(&self, tokens: &[String]) -> Result<Vec<String>, ProviderError> {
        let tokens = tokens.to_vec();
        let find = move |conn: &Connection| work_lock::find_lost(conn, &tokens);
        self.read_with("find_lost_work_locks", find).await
    }

    async fn read_start_event(&self, instance: &str) -> Result<Option<Event>, ProviderError> {
        let instance = instance.to_owned();
        self.read_with("read_start_event", move |conn| history::start_event(conn, &instance)).await
    }

    fn keeps_start_limits(&self) -> bool {
        true
    }

    async fn fetch_overdue_work(
        &self,
        request: OverdueFetch,
    ) -> Result<Vec<FetchedWork>, ProviderError> {
        fetch_wait::fetch_overdue(self, request).await
    }

    async fn return_unstarted_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        let token = token.to_owned();
        let how = GiveBack { delay: delay.map(lease_length), ignore_attempt };
        let work = move |tx: &mut Tx<'_>| work_lock::return_unstarted(tx, &token, how);
        self.writer.run("return_unstarted_work_item", work).await
    }

    async fn record_activity_progress(
        &self,
        token: &str,
        progress: &str,
    ) -> Result<(), ProviderError> {
        let (token, progress) = (token.to_owned(), progress.to_owned());
        let work = move |tx: &mut Tx<'_>| progress::record(tx, &token, &progress);
        self.writer.run("record_activity_progress", work).await
    }

    async fn read_activity_progress(
        &self,
        instance: &str,
    ) -> Result<Vec<ActivityProgress>, ProviderError> {
        let instance = instance.to_owned();
        self.read_with("read_activity_progress", move |conn| progress::read(conn, &instance)).await
    }

    async fn announce_worker(
        &self,
        announcement: &WorkerAnnouncement,
    ) -> Result<(), ProviderError> {
        const OPERATION: &str = "announce_worker";
        let worker = NewWorker::encode(announcement).during(OPERATION)?;
        self.writer.run(OPERATION, move |tx| workers::announce(tx, &worker)).await
    }

    async fn withdraw_worker(&self, node_id: &str) -> Result<(), ProviderError> {
        let node_id = node_id.to_owned();
        self.writer.run("withdraw_worker", move |tx| workers::withdraw(tx, &node_id)).await
    }
}
