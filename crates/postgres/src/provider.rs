//! The storage contract over PostgreSQL.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use duroxide_core::clock::Clock;
use duroxide_core::providers::{
    ActivityProgress, ChangeScope, ChangeWatch, ClientMessage, CommittedTurn, Delivery, DirectTurn,
    DispatcherCapabilityFilter, ExecutionMetadata, FetchFilter, FetchedTurn, FetchedWork,
    InstanceOutcome, InstanceStatus, LeaseHolder, OrchestrationItem, OverdueFetch, Provider,
    ProviderAdmin, ProviderCapabilities, ProviderCapability, ProviderError,
    ScheduledActivityIdentifier, SessionFetchConfig, TagFilter, TurnCommit, TurnFetch, TurnState,
    WorkFetch, WorkItem, WorkSlot, WorkerAnnouncement,
};
use duroxide_core::{Event, SystemStats};

use crate::commit::calls as commit;
use crate::connect::open::Background;
use crate::connect::options::PostgresProviderBuilder;
use crate::error::During;
use crate::fetch::turn_lock::Release;
use crate::fetch::{calls as fetch, waiting};
use crate::queues::{calls as queues, client_message, progress, worker_queue};
use crate::read::reader::Reader;
use crate::read::{inspect, kv};
use crate::schema::migrations;
use crate::schema::namespace::Schema;
use crate::store::Store;
use crate::write::writer::Writer;
use crate::{PostgresError, suspension};

/// Stores everything in one schema of a PostgreSQL database, which any number of nodes may share.
#[derive(Debug)]
pub struct PostgresProvider {
    pub(crate) store: Arc<Store>,
    pub(crate) writer: Writer,
    pub(crate) reader: Reader,
    pub(crate) background: Background,
}

impl PostgresProvider {
    /// Opens a database: `postgres://user:password@host:port/database?sslmode=…`.
    ///
    /// Uses the schema `duroxide`, or `public` if that holds a store of duroxide-pg 0.1; creates
    /// and migrates it if necessary.
    ///
    /// # Errors
    /// When the database cannot be used; the error says what to do.
    pub async fn new(database_url: &str) -> Result<Self, PostgresError> {
        Self::builder(database_url).open().await
    }

    /// Whether a URL, or a list of `key=value`, can be understood. Nothing is opened, so that the
    /// server need not run.
    ///
    /// # Errors
    /// When it names no server; the error says why, without a password.
    pub fn check_url(database_url: &str) -> Result<(), PostgresError> {
        crate::connect::url::parse(database_url).map(drop)
    }

    /// Opens a database with chosen settings.
    pub fn builder(database_url: &str) -> PostgresProviderBuilder {
        PostgresProviderBuilder::new(database_url)
    }

    /// All statements that a new schema needs, for an administrator to run.
    ///
    /// # Errors
    /// When the name cannot be used.
    pub fn schema_sql(schema: &str) -> Result<String, PostgresError> {
        Ok(migrations::text(&Schema::new(schema)?))
    }

    /// The statements that install the functions of this build in a schema whose tables are up to
    /// date, beside the functions of other builds. They may run any number of times.
    ///
    /// # Errors
    /// When the name cannot be used.
    pub fn functions_sql(schema: &str) -> Result<String, PostgresError> {
        Ok(migrations::functions_text(&Schema::new(schema)?))
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }
}

#[async_trait]
impl Provider for PostgresProvider {
    fn name(&self) -> &str {
        "postgres"
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
        fetch::abandon_turn(self, lock_token, Release::new(delay, ignore_attempt)).await
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
        queues::remove_orphaned_sessions(self).await
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
        let status = inspect::custom_status(&self.store, instance, last_seen_version).await;
        status.during("get_custom_status")
    }

    async fn get_kv_value(
        &self,
        instance: &str,
        key: &str,
    ) -> Result<Option<String>, ProviderError> {
        kv::value(&self.store, instance, key).await.during("get_kv_value")
    }

    async fn get_kv_all_values(
        &self,
        instance: &str,
    ) -> Result<HashMap<String, String>, ProviderError> {
        kv::values(&self.store, instance).await.during("get_kv_all_values")
    }

    async fn get_instance_stats(
        &self,
        instance: &str,
    ) -> Result<Option<SystemStats>, ProviderError> {
        inspect::stats(&self.store, instance).await.during("get_instance_stats")
    }

    fn clock(&self) -> Arc<dyn Clock> {
        self.store.clock()
    }

    async fn fetch_orchestration_items(
        &self,
        request: TurnFetch<'_>,
    ) -> Result<Vec<FetchedTurn>, ProviderError> {
        waiting::fetch_turns(&self.store, "fetch_orchestration_items", request).await
    }

    async fn commit_turn(&self, commit: Arc<TurnCommit>) -> Result<CommittedTurn, ProviderError> {
        commit::commit_turn(self, "commit_turn", &commit).await
    }

    fn capabilities(&self) -> ProviderCapabilities {
        ProviderCapabilities::default()
            .with(ProviderCapability::Waiting)
            .with(ProviderCapability::Watching)
            .with(ProviderCapability::Progress)
            .with(ProviderCapability::StartLimits)
            .with(ProviderCapability::Workers)
            .with(ProviderCapability::WorkLeases)
            .with(ProviderCapability::DirectTurns)
            .with(ProviderCapability::Reclaiming)
            .with(ProviderCapability::MessageIds)
            .with(ProviderCapability::Vouching)
            .with(ProviderCapability::NewStarts)
            .with(ProviderCapability::LeaseHolders)
            .with(ProviderCapability::CodeFilter)
            .with(ProviderCapability::ActivityFilter)
            .with(ProviderCapability::Suspension)
            .with(ProviderCapability::Holding)
            .with(ProviderCapability::InstanceQueues)
            .with(ProviderCapability::Queries)
            .with(ProviderCapability::Reopening)
            .with(ProviderCapability::StartAttributes)
            .with(ProviderCapability::Transfer)
            .with(ProviderCapability::BoundedTurns)
    }

    async fn commit_direct_turn(
        &self,
        turn: Arc<DirectTurn>,
    ) -> Result<Option<CommittedTurn>, ProviderError> {
        commit::commit_direct_turn(self, &turn).await
    }

    async fn fetch_work_items(
        &self,
        request: WorkFetch<'_>,
    ) -> Result<Vec<FetchedWork>, ProviderError> {
        waiting::fetch_work(&self.store, "fetch_work_items", request).await
    }

    fn watch(&self, scope: ChangeScope<'_>) -> Option<ChangeWatch> {
        self.store.listening_wanted.notify_one();
        Some(self.store.notifier.hub.watch(scope))
    }

    async fn read_outcome(&self, instance: &str) -> Result<InstanceOutcome, ProviderError> {
        Ok(self.reader.status(instance).await.during("read_outcome")?.outcome)
    }

    async fn read_status(&self, instance: &str) -> Result<InstanceStatus, ProviderError> {
        self.reader.status(instance).await.during("read_status")
    }

    async fn read_start_event(&self, instance: &str) -> Result<Option<Event>, ProviderError> {
        self.reader.start_event(instance).await.during("read_start_event")
    }

    async fn suspend_turn(&self, token: &str, reason: &str) -> Result<(), ProviderError> {
        fetch::suspend_turn(self, token, reason).await
    }

    async fn retry_suspended(&self) -> Result<u64, ProviderError> {
        suspension::retry_all(&self.store).await.during("retry_suspended")
    }

    async fn reclaim_orchestration_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        fetch::reclaim_turn(self, token, extend_for).await
    }

    async fn reclaim_work_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        queues::reclaim_work(self, token, extend_for).await
    }

    async fn vouch_for_work_item(&self, token: &str, leases: u32) -> Result<u32, ProviderError> {
        queues::vouch_for_work(self, token, leases).await
    }

    async fn mark_turn_running(&self, token: &str, running: bool) -> Result<u32, ProviderError> {
        fetch::mark_turn_running(self, token, running).await
    }

    async fn find_lost_work_locks(&self, tokens: &[String]) -> Result<Vec<String>, ProviderError> {
        worker_queue::find_lost(&self.store, tokens).await.during("find_lost_work_locks")
    }

    async fn fetch_overdue_work(
        &self,
        request: OverdueFetch,
    ) -> Result<Vec<FetchedWork>, ProviderError> {
        waiting::fetch_overdue(&self.store, request).await
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
        progress::read(&self.store, instance).await.during("read_activity_progress")
    }

    fn add_lease_holder(&self, holder: Weak<dyn LeaseHolder>) {
        self.store.holders.add(holder);
        self.store.prepare_renewals();
    }

    async fn announce_worker(
        &self,
        announcement: &WorkerAnnouncement,
    ) -> Result<(), ProviderError> {
        queues::announce_worker(self, announcement.clone()).await
    }

    async fn checkpoint(&self) -> Result<(), ProviderError> {
        self.store.dropped_fetches.undone().await;
        Ok(())
    }

    async fn close(&self) -> Result<(), ProviderError> {
        PostgresProvider::close(self).await;
        Ok(())
    }

    async fn withdraw_worker(&self, node_id: &str) -> Result<(), ProviderError> {
        queues::withdraw_worker(self, node_id.to_owned()).await
    }
}
