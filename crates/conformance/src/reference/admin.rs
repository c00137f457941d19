//! The management side of the contract.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use duroxide_core::Event;
use duroxide_core::clock::millis;
use duroxide_core::providers::{
    CountedInstances, DeleteInstanceResult, ExecutionInfo, HandlerVersionSpread, HeldInstance,
    InstanceCopy, InstanceCopyQuery, InstanceCountQuery, InstanceFilter, InstanceInfo,
    InstancePage, InstanceQuery, InstanceQueues, InstanceQueuesQuery, InstanceTree, LiveWorker,
    NewExecution, ParkedMessage, ProviderAdmin, ProviderError, PruneOptions, PruneResult,
    QueueDepths, StoredEvent, StoredEventsQuery, StrandedTurnQuery, StrandedTurns,
    SuspendedInstance, Suspension, SystemMetrics, WaitingStart, WaitingStartQuery, WaitingWork,
    WaitingWorkQuery,
};

use super::provider::MemoryProvider;
use super::{
    history, holding, inspect, instance_queues, query, reopening, retention, stranded_turns,
    suspension, transfer, waiting, workers,
};

#[async_trait]
impl ProviderAdmin for MemoryProvider {
    async fn list_instances(&self) -> Result<Vec<String>, ProviderError> {
        Ok(inspect::instances(&self.store()))
    }

    async fn list_instances_by_status(&self, status: &str) -> Result<Vec<String>, ProviderError> {
        Ok(inspect::instances_by_status(&self.store(), status))
    }

    async fn list_executions(&self, instance: &str) -> Result<Vec<u64>, ProviderError> {
        Ok(inspect::executions(&self.store(), instance))
    }

    async fn read_history_with_execution_id(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        let read = history::read(&self.store(), instance, execution_id);
        read.map_err(|refusal| refusal.during("read_history_with_execution_id"))
    }

    async fn read_history(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        let store = self.store();
        let read = history::read(&store, instance, store.latest_execution(instance));
        read.map_err(|refusal| refusal.during("read_history"))
    }

    async fn latest_execution_id(&self, instance: &str) -> Result<u64, ProviderError> {
        Ok(self.store().latest_execution(instance))
    }

    async fn get_instance_info(&self, instance: &str) -> Result<InstanceInfo, ProviderError> {
        let info = inspect::instance_info(&self.store(), instance);
        info.map_err(|refusal| refusal.during("get_instance_info"))
    }

    async fn get_execution_info(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<ExecutionInfo, ProviderError> {
        let info = inspect::execution_info(&self.store(), instance, execution_id);
        info.map_err(|refusal| refusal.during("get_execution_info"))
    }

    async fn get_system_metrics(&self) -> Result<SystemMetrics, ProviderError> {
        Ok(inspect::system_metrics(&self.store()))
    }

    async fn get_queue_depths(&self) -> Result<QueueDepths, ProviderError> {
        Ok(inspect::queue_depths(&self.store()))
    }

    async fn list_children(&self, instance_id: &str) -> Result<Vec<String>, ProviderError> {
        Ok(inspect::children(&self.store(), instance_id))
    }

    async fn get_parent_id(&self, instance_id: &str) -> Result<Option<String>, ProviderError> {
        let parent = inspect::parent(&self.store(), instance_id);
        parent.map_err(|refusal| refusal.during("get_parent_id"))
    }

    async fn delete_instances_atomic(
        &self,
        ids: &[String],
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        self.change("delete_instances_atomic", |store, _now| {
            retention::delete_listed(store, ids, force)
        })
    }

    async fn get_instance_tree(&self, instance_id: &str) -> Result<InstanceTree, ProviderError> {
        let all_ids = inspect::tree(&self.store(), instance_id);
        Ok(InstanceTree { root_id: instance_id.to_owned(), all_ids })
    }

    async fn delete_instance(
        &self,
        instance_id: &str,
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        self.change("delete_instance", |store, _now| {
            retention::delete_root(store, instance_id, force)
        })
    }

    async fn delete_instance_bulk(
        &self,
        filter: InstanceFilter,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        self.change("delete_instance_bulk", |store, _now| {
            let mut total = DeleteInstanceResult::default();
            // Each root with its tree is deleted as a whole; they do not depend on each other.
            for root in retention::deletable_roots(store, &filter) {
                total += retention::delete_if_finished(store, &root)?;
            }
            Ok(total)
        })
    }

    async fn prune_executions(
        &self,
        instance_id: &str,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        self.change("prune_executions", |store, _now| {
            retention::prune(store, instance_id, &options)
        })
    }

    async fn prune_executions_bulk(
        &self,
        filter: InstanceFilter,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        self.change("prune_executions_bulk", |store, _now| {
            let mut total = PruneResult::default();
            for instance in retention::prunable_instances(store, &filter) {
                total += retention::prune(store, &instance, &options)?;
            }
            Ok(total)
        })
    }

    async fn get_running_duroxide_version_spread(
        &self,
    ) -> Result<BTreeMap<String, u64>, ProviderError> {
        Ok(inspect::version_spread(&self.store()))
    }

    async fn get_running_handler_version_spread(
        &self,
    ) -> Result<HandlerVersionSpread, ProviderError> {
        Ok(inspect::handler_spread(&self.store()))
    }

    async fn list_parked_messages(&self, limit: u32) -> Result<Vec<ParkedMessage>, ProviderError> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(inspect::parked(&self.store(), limit))
    }

    async fn suspend_instance(&self, instance: &str, reason: &str) -> Result<(), ProviderError> {
        self.change("suspend_instance", |store, now| {
            suspension::suspend_instance(store, now, instance, reason)
        })
    }

    async fn resume_instance(&self, instance: &str) -> Result<bool, ProviderError> {
        self.change("resume_instance", |store, _now| Ok(suspension::resume(store, instance)))
    }

    async fn read_suspension(&self, instance: &str) -> Result<Option<Suspension>, ProviderError> {
        Ok(suspension::read(&self.store(), instance))
    }

    async fn list_suspended(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<SuspendedInstance>, ProviderError> {
        Ok(suspension::list(&self.store(), after, limit))
    }

    async fn hold_instance(
        &self,
        instance: &str,
        lock_timeout: Duration,
    ) -> Result<HeldInstance, ProviderError> {
        self.change("hold_instance", |store, now| {
            holding::hold(store, now, instance, millis(lock_timeout))
        })
    }

    async fn store_execution(&self, execution: NewExecution) -> Result<(), ProviderError> {
        self.change("store_execution", |store, now| {
            reopening::store_execution(store, now, &execution)
        })
    }

    async fn discard_late_messages(&self, instance: &str) -> Result<u64, ProviderError> {
        self.change("discard_late_messages", |store, _now| {
            Ok(holding::discard_late(store, instance))
        })
    }

    async fn read_stored_events(
        &self,
        query: StoredEventsQuery,
    ) -> Result<Vec<StoredEvent>, ProviderError> {
        Ok(history::stored_part(&self.store(), &query))
    }

    async fn list_live_workers(&self) -> Result<Vec<LiveWorker>, ProviderError> {
        Ok(workers::live(&self.store(), self.clock_ref().now_ms()))
    }

    async fn list_waiting_tags(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Option<String>>, ProviderError> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(waiting::tags(&self.store(), self.clock_ref().now_ms(), after, limit))
    }

    async fn list_waiting_work(
        &self,
        query: WaitingWorkQuery,
    ) -> Result<Vec<WaitingWork>, ProviderError> {
        waiting::work(&self.store(), self.clock_ref().now_ms(), &query)
            .map_err(|error| error.during("list_waiting_work"))
    }

    async fn list_waiting_starts(
        &self,
        query: WaitingStartQuery,
    ) -> Result<Vec<WaitingStart>, ProviderError> {
        Ok(waiting::starts(&self.store(), &query))
    }

    async fn list_stranded_turns(
        &self,
        query: StrandedTurnQuery,
    ) -> Result<StrandedTurns, ProviderError> {
        Ok(stranded_turns::turns(&self.store(), self.clock_ref().now_ms(), &query))
    }

    async fn read_instance_queues(
        &self,
        query: InstanceQueuesQuery,
    ) -> Result<Option<InstanceQueues>, ProviderError> {
        Ok(Some(instance_queues::read(&self.store(), self.clock_ref().now_ms(), &query)))
    }

    async fn read_instance_copy(
        &self,
        query: InstanceCopyQuery,
    ) -> Result<InstanceCopy, ProviderError> {
        transfer::part(&self.store(), &query).map_err(|error| error.during("read_instance_copy"))
    }

    async fn import_instance(&self, instance: InstanceCopy) -> Result<(), ProviderError> {
        self.change("import_instance", |store, now| transfer::import(store, now, &instance))
    }

    async fn list_cancelled_turns(
        &self,
        query: StrandedTurnQuery,
    ) -> Result<StrandedTurns, ProviderError> {
        Ok(stranded_turns::cancelled(&self.store(), self.clock_ref().now_ms(), &query))
    }

    async fn query_instances(&self, query: InstanceQuery) -> Result<InstancePage, ProviderError> {
        query::page(&self.store(), self.clock_ref().now_ms(), &query)
            .map_err(|error| error.during("query_instances"))
    }

    async fn count_instances(
        &self,
        query: InstanceCountQuery,
    ) -> Result<CountedInstances, ProviderError> {
        query::count(&self.store(), self.clock_ref().now_ms(), &query)
            .map_err(|error| error.during("count_instances"))
    }
}
