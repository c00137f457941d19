//! The management side of the contract over SQLite.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use duroxide_core::Event;
use duroxide_core::providers::kit::{BulkErrors, count_by_index, query_by_index};
use duroxide_core::providers::{
    CountedInstances, DeleteInstanceResult, ExecutionInfo, HandlerVersionSpread, HeldInstance,
    InstanceCopy, InstanceCopyQuery, InstanceCountQuery, InstanceFilter, InstanceInfo,
    InstancePage, InstanceQuery, InstanceQueues, InstanceQueuesQuery, InstanceTree, LiveWorker,
    NewExecution, ParkedMessage, ProviderAdmin, ProviderError, PruneOptions, PruneResult,
    QueueDepths, StoreGauges, StoredEvent, StoredEventsQuery, StrandedTurnQuery, StrandedTurns,
    SuspendedInstance, Suspension, SystemMetrics, WaitingStart, WaitingStartQuery, WaitingWork,
    WaitingWorkQuery,
};
use rusqlite::Connection;

use crate::queues::{
    cancelled_turns, instance_queues, stranded_turns, waiting_starts, waiting_work, workers,
};
use crate::read::query::QuerySource;
use crate::read::{history, inspect, instance_copy, stored_events};
use crate::schema::number::millis_to_db;
use crate::write::writer::Tx;
use crate::{SqliteProvider, holding, importing, reopening, retention, suspension};

#[async_trait]
impl ProviderAdmin for SqliteProvider {
    async fn list_instances(&self) -> Result<Vec<String>, ProviderError> {
        self.read_with("list_instances", inspect::instances).await
    }

    async fn list_instances_by_status(&self, status: &str) -> Result<Vec<String>, ProviderError> {
        let status = status.to_owned();
        self.read_with("list_instances_by_status", move |conn| {
            inspect::instances_by_status(conn, &status)
        })
        .await
    }

    async fn list_executions(&self, instance: &str) -> Result<Vec<u64>, ProviderError> {
        self.read_instance("list_executions", instance, inspect::executions).await
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
        self.read_instance("latest_execution_id", instance, history::current_execution).await
    }

    async fn get_instance_info(&self, instance: &str) -> Result<InstanceInfo, ProviderError> {
        self.read_instance("get_instance_info", instance, inspect::instance_info).await
    }

    async fn get_execution_info(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<ExecutionInfo, ProviderError> {
        let instance = instance.to_owned();
        self.read_with("get_execution_info", move |conn| {
            inspect::execution_info(conn, &instance, execution_id)
        })
        .await
    }

    async fn get_system_metrics(&self) -> Result<SystemMetrics, ProviderError> {
        self.read_with("get_system_metrics", inspect::system_metrics).await
    }

    async fn get_queue_depths(&self) -> Result<QueueDepths, ProviderError> {
        self.read_with("get_queue_depths", inspect::queue_depths).await
    }

    async fn read_gauges(&self) -> Result<StoreGauges, ProviderError> {
        let now = self.clock_ref().now_ms();
        self.read_with("read_gauges", move |conn| inspect::gauges(conn, now)).await
    }

    async fn list_children(&self, instance_id: &str) -> Result<Vec<String>, ProviderError> {
        self.read_instance("list_children", instance_id, inspect::children).await
    }

    async fn get_parent_id(&self, instance_id: &str) -> Result<Option<String>, ProviderError> {
        self.read_instance("get_parent_id", instance_id, inspect::parent).await
    }

    async fn delete_instances_atomic(
        &self,
        ids: &[String],
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        let ids = ids.to_vec();
        self.delete_in_slices("delete_instances_atomic", move |tx| {
            retention::delete_listed(tx, &ids, force)
        })
        .await
    }

    async fn get_instance_tree(&self, instance_id: &str) -> Result<InstanceTree, ProviderError> {
        let instance = instance_id.to_owned();
        let all_ids =
            self.read_with("get_instance_tree", move |conn| inspect::tree(conn, &instance)).await?;
        Ok(InstanceTree { root_id: instance_id.to_owned(), all_ids })
    }

    async fn delete_instance(
        &self,
        instance_id: &str,
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        let instance = instance_id.to_owned();
        self.delete_in_slices("delete_instance", move |tx| {
            retention::delete_root(tx, &instance, force)
        })
        .await
    }

    async fn delete_instance_bulk(
        &self,
        filter: InstanceFilter,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        self.delete_matching_roots(filter).await
    }

    async fn prune_executions(
        &self,
        instance_id: &str,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        self.prune_in_slices("prune_executions", instance_id.to_owned(), options).await
    }

    async fn prune_executions_bulk(
        &self,
        filter: InstanceFilter,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        const OPERATION: &str = "prune_executions_bulk";
        let instances = self
            .read_with(OPERATION, move |conn| retention::prunable_instances(conn, &filter))
            .await?;
        let mut errors = BulkErrors::default();
        let mut total = PruneResult::default();
        for instance in instances {
            let pruned = self.prune_in_slices(OPERATION, instance.clone(), options.clone()).await;
            match pruned {
                Ok(pruned) => {
                    total += pruned;
                    errors.succeeded();
                }
                Err(error) => errors.failed(&instance, error)?,
            }
        }
        errors.unless(total.instances_processed > 0)?;
        Ok(total)
    }

    async fn get_running_duroxide_version_spread(
        &self,
    ) -> Result<BTreeMap<String, u64>, ProviderError> {
        self.read_with("get_running_duroxide_version_spread", inspect::version_spread).await
    }

    async fn get_running_handler_version_spread(
        &self,
    ) -> Result<HandlerVersionSpread, ProviderError> {
        self.read_with("get_running_handler_version_spread", inspect::handler_spread).await
    }

    async fn list_parked_messages(&self, limit: u32) -> Result<Vec<ParkedMessage>, ProviderError> {
        self.read_with("list_parked_messages", move |conn| inspect::parked(conn, limit)).await
    }

    async fn suspend_instance(&self, instance: &str, reason: &str) -> Result<(), ProviderError> {
        let (instance, reason) = (instance.to_owned(), reason.to_owned());
        let suspend = move |tx: &mut Tx<'_>| suspension::suspend_instance(tx, &instance, &reason);
        self.writer().run("suspend_instance", suspend).await
    }

    async fn resume_instance(&self, instance: &str) -> Result<bool, ProviderError> {
        let instance = instance.to_owned();
        self.writer().run("resume_instance", move |tx| suspension::resume(tx, &instance)).await
    }

    async fn read_suspension(&self, instance: &str) -> Result<Option<Suspension>, ProviderError> {
        self.read_instance("read_suspension", instance, suspension::read).await
    }

    async fn list_suspended(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<SuspendedInstance>, ProviderError> {
        let after = after.map(str::to_owned);
        self.read_with("list_suspended", move |conn| {
            suspension::list(conn, after.as_deref(), limit)
        })
        .await
    }

    async fn hold_instance(
        &self,
        instance: &str,
        lock_timeout: Duration,
    ) -> Result<HeldInstance, ProviderError> {
        let (instance, lock_for) = (instance.to_owned(), millis_to_db(lock_timeout));
        let hold = move |tx: &mut Tx<'_>| holding::hold(tx, &instance, lock_for);
        self.writer().run("hold_instance", hold).await
    }

    async fn store_execution(&self, execution: NewExecution) -> Result<(), ProviderError> {
        reopening::store(self, execution).await
    }

    async fn discard_late_messages(&self, instance: &str) -> Result<u64, ProviderError> {
        let instance = instance.to_owned();
        let slice = move |tx: &mut Tx<'_>, _| holding::discard_late(tx, &instance);
        self.writer().run_in_slices("discard_late_messages", slice).await
    }

    async fn read_stored_events(
        &self,
        query: StoredEventsQuery,
    ) -> Result<Vec<StoredEvent>, ProviderError> {
        let read = move |conn: &Connection| stored_events::part(conn, &query);
        self.read_with("read_stored_events", read).await
    }

    async fn list_live_workers(&self) -> Result<Vec<LiveWorker>, ProviderError> {
        let now = self.clock_ref().now_ms();
        self.read_with("list_live_workers", move |conn| workers::live(conn, now)).await
    }

    async fn list_waiting_tags(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Option<String>>, ProviderError> {
        let (now, after) = (self.clock_ref().now_ms(), after.map(str::to_owned));
        self.read_with("list_waiting_tags", move |conn| {
            waiting_work::tags(conn, now, after.as_deref(), limit)
        })
        .await
    }

    async fn list_waiting_work(
        &self,
        query: WaitingWorkQuery,
    ) -> Result<Vec<WaitingWork>, ProviderError> {
        let now = self.clock_ref().now_ms();
        self.read_with("list_waiting_work", move |conn| waiting_work::work(conn, now, &query)).await
    }

    async fn list_waiting_starts(
        &self,
        query: WaitingStartQuery,
    ) -> Result<Vec<WaitingStart>, ProviderError> {
        self.read_with("list_waiting_starts", move |conn| waiting_starts::starts(conn, &query))
            .await
    }

    async fn list_stranded_turns(
        &self,
        query: StrandedTurnQuery,
    ) -> Result<StrandedTurns, ProviderError> {
        let now = self.clock_ref().now_ms();
        self.read_with("list_stranded_turns", move |conn| stranded_turns::turns(conn, now, &query))
            .await
    }

    async fn read_instance_queues(
        &self,
        query: InstanceQueuesQuery,
    ) -> Result<Option<InstanceQueues>, ProviderError> {
        let now = self.clock_ref().now_ms();
        let read = move |conn: &Connection| instance_queues::read(conn, now, &query).map(Some);
        self.read_with("read_instance_queues", read).await
    }

    async fn read_instance_copy(
        &self,
        query: InstanceCopyQuery,
    ) -> Result<InstanceCopy, ProviderError> {
        let read = move |conn: &Connection| instance_copy::part(conn, &query);
        self.read_with("read_instance_copy", read).await
    }

    async fn import_instance(&self, instance: InstanceCopy) -> Result<(), ProviderError> {
        importing::import(self, instance).await
    }

    async fn list_cancelled_turns(
        &self,
        query: StrandedTurnQuery,
    ) -> Result<StrandedTurns, ProviderError> {
        let now = self.clock_ref().now_ms();
        let read = move |conn: &Connection| cancelled_turns::turns(conn, now, &query);
        self.read_with("list_cancelled_turns", read).await
    }

    async fn query_instances(&self, query: InstanceQuery) -> Result<InstancePage, ProviderError> {
        query_by_index(&QuerySource(self), &query).await
    }

    async fn count_instances(
        &self,
        query: InstanceCountQuery,
    ) -> Result<CountedInstances, ProviderError> {
        count_by_index(&QuerySource(self), &query).await
    }
}
