//! The storage contract over SQLite.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use duroxide_core::clock::Clock;
use duroxide_core::providers::{
    ActivityProgress, ChangeHub, ChangeScope, ChangeWatch, ClientMessage, CommittedTurn, Delivery,
    DirectTurn, DispatcherCapabilityFilter, ExecutionMetadata, FetchFilter, FetchedTurn,
    FetchedWork, InstanceOutcome, InstanceStatus, LeaseHolder, LeaseHolders, OrchestrationItem,
    OverdueFetch, Provider, ProviderAdmin, ProviderCapabilities, ProviderError,
    ScheduledActivityIdentifier, SessionFetchConfig, TagFilter, TurnCommit, TurnFetch, TurnState,
    WorkFetch, WorkItem, WorkSlot, WorkerAnnouncement,
};
use duroxide_core::{Event, SystemStats};

use crate::commit::calls as commit;
use crate::connect::options::{Settings, SqliteProviderBuilder};
use crate::connect::url::{Location, OpenMode};
use crate::deletion_slices;
use crate::fetch::calls as fetch;
use crate::fetch::turn_lock::Release;
use crate::fetch::waiting;
use crate::queues::{calls as queues, client_message, progress, sessions, work_lock};
use crate::read::readers::Readers;
use crate::read::{history, inspect, kv};
use crate::write::writer::Writer;
use crate::{SqliteError, capabilities, limits, suspension};

/// Stores everything in one SQLite database. Several processes may share a file.
///
/// # Examples
///
/// ```
/// use duroxide_sqlite::SqliteProvider;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("orders.db");
/// let store = SqliteProvider::new(&format!("sqlite:{}", path.display()), None).await?;
/// store.close().await?;
/// // Without a file, for tests:
/// let store = SqliteProvider::new_in_memory().await?;
/// # store.close().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SqliteProvider {
    writer: Writer,
    /// `None` in memory, where only the writer sees the database.
    readers: Option<Readers>,
    hub: ChangeHub,
    clock: Arc<dyn Clock>,
    location: Location,
    busy_timeout: Duration,
    upkeep: bool,
    /// Nodes of this process.
    holders: LeaseHolders,
}

impl SqliteProvider {
    /// Opens a database with chosen settings.
    pub fn builder(database_url: &str) -> SqliteProviderBuilder {
        SqliteProviderBuilder::new(database_url)
    }

    pub(crate) async fn open(location: Location, settings: Settings) -> Result<Self, SqliteError> {
        let hub = ChangeHub::default();
        let clock = Arc::clone(&settings.clock);
        let writer = Writer::start(location.clone(), settings.clone(), hub.clone()).await?;
        let readers = match &location {
            Location::Memory => None,
            Location::File { path, mode } => Some(Readers::start(path.clone(), *mode, &settings)?),
        };
        let busy_timeout = settings.busy_timeout.min(limits::POLL_TIMEOUT_MAX);
        let writes = !matches!(location, Location::File { mode: OpenMode::ReadOnly, .. });
        if writes && settings.upkeep {
            // What a process that died has left.
            writer.start_slices("open", |tx, _| deletion_slices::sweep(tx));
        }
        Ok(Self {
            writer,
            readers,
            hub,
            clock,
            location,
            busy_timeout,
            upkeep: settings.upkeep,
            holders: LeaseHolders::default(),
        })
    }

    /// Every table as text, for diagnosis.
    pub async fn debug_dump(&self) -> String {
        self.read_with("debug_dump", inspect::dump)
            .await
            .unwrap_or_else(|error| format!("cannot dump: {error}"))
    }

    pub(crate) fn writer(&self) -> &Writer {
        &self.writer
    }

    /// `None` in memory.
    pub(crate) fn readers(&self) -> Option<&Readers> {
        self.readers.as_ref()
    }

    pub(crate) fn location(&self) -> &Location {
        &self.location
    }

    pub(crate) fn busy_timeout(&self) -> Duration {
        self.busy_timeout
    }

    pub(crate) fn has_upkeep(&self) -> bool {
        self.upkeep
    }

    pub(crate) fn hub(&self) -> &ChangeHub {
        &self.hub
    }

    pub(crate) fn holders(&self) -> &LeaseHolders {
        &self.holders
    }

    pub(crate) fn clock_ref(&self) -> &dyn Clock {
        self.clock.as_ref()
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
        let filter = FetchFilter::from(filter);
        let request =
            TurnFetch::new(1, lock_timeout).with_poll_timeout(poll_timeout).with_filter(&filter);
        fetch::fetch_turn(self, request).await
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
        let turn = TurnCommit::new(lock_token.to_owned(), execution_id)
            .with_history_delta(history_delta)
            .with_activities(worker_items)
            .with_outgoing_messages(orchestrator_items)
            .with_metadata(metadata)
            .with_cancelled_activities(cancelled_activities);
        commit::commit_turn(self, "ack_orchestration_item", &turn).await.map(drop)
    }

    async fn abandon_orchestration_item(
        &self,
        lock_token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        let release = Release::new(delay, ignore_attempt);
        fetch::abandon_turn(self, lock_token, release).await
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

    async fn read_turn_state(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<TurnState, ProviderError> {
        self.read_state("read_turn_state", instance, execution_id).await
    }

    async fn append_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
        new_events: Vec<Event>,
    ) -> Result<(), ProviderError> {
        commit::append_events(self, instance, execution_id, &new_events).await
    }

    async fn enqueue_for_worker(&self, item: WorkItem) -> Result<(), ProviderError> {
        queues::enqueue_work(self, &item).await
    }

    async fn fetch_work_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        session: Option<&SessionFetchConfig>,
        tag_filter: &TagFilter,
    ) -> Result<Option<(WorkItem, String, u32)>, ProviderError> {
        let slots = [WorkSlot::new(session.cloned())];
        let filter = FetchFilter::from(tag_filter);
        let request = WorkFetch::new(&slots, lock_timeout)
            .with_poll_timeout(poll_timeout)
            .with_filter(&filter);
        fetch::fetch_work_item(self, request).await
    }

    async fn ack_work_item(
        &self,
        token: &str,
        completion: Option<WorkItem>,
    ) -> Result<(), ProviderError> {
        queues::complete_work(self, token, completion.as_ref()).await
    }

    async fn renew_work_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        queues::renew_work(self, token, extend_for).await
    }

    async fn renew_session_lock(
        &self,
        owner_ids: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        queues::renew_sessions(self, owner_ids, extend_for, idle_timeout).await
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
        queues::abandon_work(self, token, Release::new(delay, ignore_attempt)).await
    }

    async fn renew_orchestration_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        fetch::renew_turn(self, token, extend_for).await
    }

    async fn enqueue_for_orchestrator(
        &self,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Result<(), ProviderError> {
        queues::enqueue_message(self, &item, delay).await
    }

    async fn send_message(&self, message: ClientMessage) -> Result<Delivery, ProviderError> {
        client_message::send(self, message).await
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
        self.read_with("get_custom_status", move |conn| {
            inspect::custom_status(conn, &instance, last_seen_version)
        })
        .await
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
        self.read_instance("get_kv_all_values", instance, kv::values).await
    }

    async fn get_instance_stats(
        &self,
        instance: &str,
    ) -> Result<Option<SystemStats>, ProviderError> {
        self.read_instance("get_instance_stats", instance, inspect::stats).await
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    async fn fetch_orchestration_items(
        &self,
        request: TurnFetch<'_>,
    ) -> Result<Vec<FetchedTurn>, ProviderError> {
        waiting::fetch_turns(self, "fetch_orchestration_items", request).await
    }

    async fn commit_turn(&self, commit: Arc<TurnCommit>) -> Result<CommittedTurn, ProviderError> {
        commit::commit_turn(self, "commit_turn", &commit).await
    }

    fn capabilities(&self) -> ProviderCapabilities {
        capabilities::all()
    }

    async fn commit_direct_turn(
        &self,
        turn: Arc<DirectTurn>,
    ) -> Result<Option<CommittedTurn>, ProviderError> {
        commit::commit_direct_turn(self, turn).await
    }

    async fn fetch_work_items(
        &self,
        request: WorkFetch<'_>,
    ) -> Result<Vec<FetchedWork>, ProviderError> {
        waiting::fetch_work(self, "fetch_work_items", request).await
    }

    fn watch(&self, scope: ChangeScope<'_>) -> Option<ChangeWatch> {
        let watch = self.hub.watch(scope);
        self.writer.poll_other_processes();
        Some(watch)
    }

    async fn read_outcome(&self, instance: &str) -> Result<InstanceOutcome, ProviderError> {
        self.read_instance("read_outcome", instance, history::outcome).await
    }

    async fn read_status(&self, instance: &str) -> Result<InstanceStatus, ProviderError> {
        self.read_instance("read_status", instance, history::status).await
    }

    fn add_lease_holder(&self, holder: Weak<dyn LeaseHolder>) {
        self.holders.add(holder);
    }

    async fn suspend_turn(&self, token: &str, reason: &str) -> Result<(), ProviderError> {
        fetch::suspend_turn(self, token, reason).await
    }

    async fn retry_suspended(&self) -> Result<u64, ProviderError> {
        self.writer.run("retry_suspended", suspension::retry_all).await
    }

    async fn reclaim_orchestration_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        fetch::reclaim_turn(self, token, extend_for).await
    }

    async fn reclaim_work_item_lock(&self, token: &str, by: Duration) -> Result<(), ProviderError> {
        queues::reclaim_work(self, token, by).await
    }

    async fn vouch_for_work_item(&self, token: &str, leases: u32) -> Result<u32, ProviderError> {
        queues::vouch_for_work(self, token, leases).await
    }

    async fn mark_turn_running(&self, token: &str, running: bool) -> Result<u32, ProviderError> {
        fetch::mark_turn_running(self, token, running).await
    }

    async fn find_lost_work_locks(&self, tokens: &[String]) -> Result<Vec<String>, ProviderError> {
        let tokens = tokens.to_vec();
        self.read_with("find_lost_work_locks", move |conn| work_lock::find_lost(conn, &tokens))
            .await
    }

    async fn read_start_event(&self, instance: &str) -> Result<Option<Event>, ProviderError> {
        self.read_instance("read_start_event", instance, history::start_event).await
    }

    async fn fetch_overdue_work(
        &self,
        request: OverdueFetch,
    ) -> Result<Vec<FetchedWork>, ProviderError> {
        waiting::fetch_overdue(self, request).await
    }

    async fn return_unstarted_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        queues::release_unstarted(self, token, Release::new(delay, ignore_attempt)).await
    }

    async fn record_activity_progress(
        &self,
        token: &str,
        progress: &str,
    ) -> Result<(), ProviderError> {
        queues::record_progress(self, token, progress).await
    }

    async fn read_activity_progress(
        &self,
        instance: &str,
    ) -> Result<Vec<ActivityProgress>, ProviderError> {
        self.read_instance("read_activity_progress", instance, progress::read).await
    }

    async fn announce_worker(
        &self,
        announcement: &WorkerAnnouncement,
    ) -> Result<(), ProviderError> {
        queues::announce_worker(self, announcement).await
    }

    async fn checkpoint(&self) -> Result<(), ProviderError> {
        let copied = self.checkpoint_within(limits::CHECKPOINT_WAIT).await;
        copied.map_err(|error| error.during("checkpoint"))
    }

    async fn close(&self) -> Result<(), ProviderError> {
        SqliteProvider::close(self).await.map_err(|error| error.during("close"))
    }

    async fn withdraw_worker(&self, node_id: &str) -> Result<(), ProviderError> {
        queues::withdraw_worker(self, node_id).await
    }
}
