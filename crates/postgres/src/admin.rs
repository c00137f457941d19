//! The management side of the contract over PostgreSQL.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use duroxide_core::Event;
use duroxide_core::providers::kit::{count_by_index, query_by_index};
use duroxide_core::providers::{
    CountedInstances, DeleteInstanceResult, ExecutionInfo, HandlerVersionSpread, HeldInstance,
    InstanceCopy, InstanceCopyQuery, InstanceCountQuery, InstanceFilter, InstanceInfo,
    InstancePage, InstanceQuery, InstanceQueues, InstanceQueuesQuery, InstanceTree, LiveWorker,
    NewExecution, ParkedMessage, ProviderAdmin, ProviderError, PruneOptions, PruneResult,
    QueueDepths, StoreGauges, StoredEvent, StoredEventsQuery, StrandedTurnQuery, StrandedTurns,
    SuspendedInstance, Suspension, SystemMetrics, WaitingStart, WaitingStartQuery, WaitingWork,
    WaitingWorkQuery,
};

use crate::error::During;
use crate::queues::{
    cancelled_turns, instance_queues, stranded_turns, waiting_starts, waiting_work, workers,
};
use crate::read::query::QuerySource;
use crate::read::{history, inspect, instance_copy};
use crate::{
    PostgresProvider, bulk_deletion, holding, importing, reopening, retention, suspension,
};

#[async_trait]
impl ProviderAdmin for PostgresProvider {
    async fn list_instances(&self) -> Result<Vec<String>, ProviderError> {
        inspect::instances(self.store()).await.during("list_instances")
    }

    async fn list_instances_by_status(&self, status: &str) -> Result<Vec<String>, ProviderError> {
        let listed = inspect::instances_by_status(self.store(), status).await;
        listed.during("list_instances_by_status")
    }

    async fn list_executions(&self, instance: &str) -> Result<Vec<u64>, ProviderError> {
        inspect::executions(self.store(), instance).await.during("list_executions")
    }

    async fn read_history_with_execution_id(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        self.read_events("read_history_with_execution_id", instance, Some(execution_id)).await
    }

    async fn read_history(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        self.read_events("read_history", instance, None).await
    }

    async fn latest_execution_id(&self, instance: &str) -> Result<u64, ProviderError> {
        history::current_execution(self.store(), instance).await.during("latest_execution_id")
    }

    async fn get_instance_info(&self, instance: &str) -> Result<InstanceInfo, ProviderError> {
        inspect::instance_info(self.store(), instance).await.during("get_instance_info")
    }

    async fn get_execution_info(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<ExecutionInfo, ProviderError> {
        let info = inspect::execution_info(self.store(), instance, execution_id).await;
        info.during("get_execution_info")
    }

    async fn get_system_metrics(&self) -> Result<SystemMetrics, ProviderError> {
        inspect::system_metrics(self.store()).await.during("get_system_metrics")
    }

    async fn get_queue_depths(&self) -> Result<QueueDepths, ProviderError> {
        inspect::queue_depths(self.store()).await.during("get_queue_depths")
    }

    async fn read_gauges(&self) -> Result<StoreGauges, ProviderError> {
        inspect::gauges(self.store()).await.during("read_gauges")
    }

    async fn list_children(&self, instance_id: &str) -> Result<Vec<String>, ProviderError> {
        inspect::children(self.store(), instance_id).await.during("list_children")
    }

    async fn get_parent_id(&self, instance_id: &str) -> Result<Option<String>, ProviderError> {
        inspect::parent(self.store(), instance_id).await.during("get_parent_id")
    }

    async fn delete_instances_atomic(
        &self,
        ids: &[String],
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        let deleted = retention::delete_listed(self.store(), ids, force).await;
        deleted.during("delete_instances_atomic")
    }

    async fn get_instance_tree(&self, instance_id: &str) -> Result<InstanceTree, ProviderError> {
        let all_ids = inspect::tree(self.store(), instance_id).await.during("get_instance_tree")?;
        Ok(InstanceTree { root_id: instance_id.to_owned(), all_ids })
    }

    async fn delete_instance(
        &self,
        instance_id: &str,
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        let deleted = retention::delete_root(self.store(), instance_id, force).await;
        deleted.during("delete_instance")
    }

    async fn delete_instance_bulk(
        &self,
        filter: InstanceFilter,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        let deleted = bulk_deletion::delete_bulk(self.store(), &filter).await;
        deleted.during("delete_instance_bulk")
    }

    async fn prune_executions(
        &self,
        instance_id: &str,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        let pruned = retention::prune(self.store(), instance_id, &options).await;
        pruned.during("prune_executions")
    }

    async fn prune_executions_bulk(
        &self,
        filter: InstanceFilter,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        let pruned = retention::prune_bulk(self.store(), &filter, &options).await;
        pruned.during("prune_executions_bulk")
    }

    async fn get_running_duroxide_version_spread(
        &self,
    ) -> Result<BTreeMap<String, u64>, ProviderError> {
        let spread = inspect::version_spread(self.store()).await;
        spread.during("get_running_duroxide_version_spread")
    }

    async fn get_running_handler_version_spread(
        &self,
    ) -> Result<HandlerVersionSpread, ProviderError> {
        let spread = inspect::handler_spread(self.store()).await;
        spread.during("get_running_handler_version_spread")
    }

    async fn list_parked_messages(&self, limit: u32) -> Result<Vec<ParkedMessage>, ProviderError> {
        inspect::parked(self.store(), limit).await.during("list_parked_messages")
    }

    async fn suspend_instance(&self, instance: &str, reason: &str) -> Result<(), ProviderError> {
        let suspended = suspension::suspend_instance(self.store(), instance, reason).await;
        suspended.during("suspend_instance")
    }

    async fn resume_instance(&self, instance: &str) -> Result<bool, ProviderError> {
        suspension::resume(self.store(), instance).await.during("resume_instance")
    }

    async fn read_suspension(&self, instance: &str) -> Result<Option<Suspension>, ProviderError> {
        suspension::read(self.store(), instance).await.during("read_suspension")
    }

    async fn list_suspended(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<SuspendedInstance>, ProviderError> {
        suspension::list(self.store(), after, limit).await.during("list_suspended")
    }

    async fn hold_instance(
        &self,
        instance: &str,
        lock_timeout: Duration,
    ) -> Result<HeldInstance, ProviderError> {
        holding::hold(self.store(), instance, lock_timeout).await.during("hold_instance")
    }

    async fn store_execution(&self, execution: NewExecution) -> Result<(), ProviderError> {
        reopening::store(&self.store, execution).await.during("store_execution")
    }

    async fn discard_late_messages(&self, instance: &str) -> Result<u64, ProviderError> {
        holding::discard_late(self.store(), instance).await.during("discard_late_messages")
    }

    async fn read_stored_events(
        &self,
        query: StoredEventsQuery,
    ) -> Result<Vec<StoredEvent>, ProviderError> {
        history::stored_part(self.store(), &query).await.during("read_stored_events")
    }

    async fn list_live_workers(&self) -> Result<Vec<LiveWorker>, ProviderError> {
        workers::live(self.store()).await.during("list_live_workers")
    }

    async fn list_waiting_tags(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Option<String>>, ProviderError> {
        waiting_work::tags(self.store(), after, limit).await.during("list_waiting_tags")
    }

    async fn list_waiting_work(
        &self,
        query: WaitingWorkQuery,
    ) -> Result<Vec<WaitingWork>, ProviderError> {
        waiting_work::work(self.store(), &query).await.during("list_waiting_work")
    }

    async fn list_waiting_starts(
        &self,
        query: WaitingStartQuery,
    ) -> Result<Vec<WaitingStart>, ProviderError> {
        waiting_starts::starts(self.store(), &query).await.during("list_waiting_starts")
    }

    async fn list_stranded_turns(
        &self,
        query: StrandedTurnQuery,
    ) -> Result<StrandedTurns, ProviderError> {
        stranded_turns::turns(self.store(), &query).await.during("list_stranded_turns")
    }

    async fn read_instance_queues(
        &self,
        query: InstanceQueuesQuery,
    ) -> Result<Option<InstanceQueues>, ProviderError> {
        let queues = instance_queues::read(self.store(), &query).await;
        queues.during("read_instance_queues").map(Some)
    }

    async fn read_instance_copy(
        &self,
        query: InstanceCopyQuery,
    ) -> Result<InstanceCopy, ProviderError> {
        instance_copy::part(self.store(), &query).await.during("read_instance_copy")
    }

    async fn import_instance(&self, instance: InstanceCopy) -> Result<(), ProviderError> {
        importing::import(&self.store, instance).await.during("import_instance")
    }

    async fn list_cancelled_turns(
        &self,
        query: StrandedTurnQuery,
    ) -> Result<StrandedTurns, ProviderError> {
        cancelled_turns::turns(self.store(), &query).await.during("list_cancelled_turns")
    }

    async fn query_instances(&self, query: InstanceQuery) -> Result<InstancePage, ProviderError> {
        query_by_index(&QuerySource(self.store()), &query).await
    }

    async fn count_instances(
        &self,
        query: InstanceCountQuery,
    ) -> Result<CountedInstances, ProviderError> {
        count_by_index(&QuerySource(self.store()), &query).await
    }
}
