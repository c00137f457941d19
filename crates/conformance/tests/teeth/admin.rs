//! Faults of the management side.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use duroxide_core::providers::{
    CountedInstances, DeleteInstanceResult, HandlerVersionSpread, HeldInstance, InstanceCopy,
    InstanceCopyQuery, InstanceCountQuery, InstanceFilter, InstanceInfo, InstancePage,
    InstanceQuery, InstanceQueues, InstanceQueuesQuery, NewExecution, ParkedMessage, ProviderAdmin,
    ProviderError, PruneOptions, PruneResult, QueueDepths, StoreGauges, StoredEvent,
    StoredEventsQuery, StrandedTurnQuery, StrandedTurns, SuspendedInstance, Suspension,
    SystemMetrics, UNPINNED_VERSION, WaitingStart, WaitingStartQuery, WaitingWork,
    WaitingWorkQuery,
};

use crate::fault::Fault;
use crate::provider::FaultyProvider;

#[async_trait]
impl ProviderAdmin for FaultyProvider {
    fn inner_admin(&self) -> Option<&dyn ProviderAdmin> {
        Some(self.inner.as_ref())
    }

    async fn list_instances(&self) -> Result<Vec<String>, ProviderError> {
        let mut ids = self.inner.list_instances().await?;
        if self.has(Fault::ListOldestFirst) {
            ids.reverse();
        }
        Ok(ids)
    }

    async fn list_instances_by_status(&self, status: &str) -> Result<Vec<String>, ProviderError> {
        if self.has(Fault::ListStatusIgnored) {
            return self.inner.list_instances().await;
        }
        let mut ids = self.inner.list_instances_by_status(status).await?;
        if self.has(Fault::ListContinued) {
            let continued = self.between_executions().await?;
            ids.retain(|id| !continued.contains(id));
        }
        Ok(ids)
    }

    async fn list_executions(&self, instance: &str) -> Result<Vec<u64>, ProviderError> {
        let mut executions = self.inner.list_executions(instance).await?;
        if self.has(Fault::ExecutionsReversed) {
            executions.reverse();
        }
        Ok(executions)
    }

    async fn latest_execution_id(&self, instance: &str) -> Result<u64, ProviderError> {
        if self.has(Fault::LatestAlwaysFirst) {
            return Ok(1);
        }
        self.inner.latest_execution_id(instance).await
    }

    async fn get_instance_info(&self, instance: &str) -> Result<InstanceInfo, ProviderError> {
        let info = self.inner.get_instance_info(instance).await;
        match self.fault() {
            Some(Fault::TimesZero) => {
                info.map(|info| InstanceInfo { created_at: 0, updated_at: 0, ..info })
            }
            Some(Fault::InfoInvented) => info.or_else(|_| Ok(invented(instance))),
            _other => info,
        }
    }

    async fn query_instances(&self, query: InstanceQuery) -> Result<InstancePage, ProviderError> {
        self.faulty_query(query).await
    }

    async fn count_instances(
        &self,
        query: InstanceCountQuery,
    ) -> Result<CountedInstances, ProviderError> {
        self.faulty_count(query).await
    }

    async fn get_system_metrics(&self) -> Result<SystemMetrics, ProviderError> {
        if self.has(Fault::MetricsZero) {
            return Ok(SystemMetrics::default());
        }
        let mut metrics = self.inner.get_system_metrics().await?;
        if self.has(Fault::MetricsContinued) {
            metrics.running_instances -= self.between_executions().await?.len() as u64;
        }
        Ok(metrics)
    }

    async fn get_queue_depths(&self) -> Result<QueueDepths, ProviderError> {
        if self.has(Fault::DepthsZero) {
            return Ok(QueueDepths::default());
        }
        self.inner.get_queue_depths().await
    }

    async fn read_gauges(&self) -> Result<StoreGauges, ProviderError> {
        let mut gauges = self.inner.read_gauges().await?;
        if self.has(Fault::GaugesOfAll) {
            gauges.running_instances = self.inner.get_system_metrics().await?.total_instances;
        }
        Ok(gauges)
    }

    async fn list_children(&self, instance_id: &str) -> Result<Vec<String>, ProviderError> {
        if self.has(Fault::ChildrenHidden) {
            return Ok(Vec::new());
        }
        self.inner.list_children(instance_id).await
    }

    async fn get_parent_id(&self, instance_id: &str) -> Result<Option<String>, ProviderError> {
        let parent = self.inner.get_parent_id(instance_id).await?;
        Ok(parent.filter(|_| !self.has(Fault::ParentHidden)))
    }

    async fn delete_instances_atomic(
        &self,
        ids: &[String],
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        let mut ids = ids.to_vec();
        if self.has(Fault::OrphansUnchecked) {
            for id in ids.clone() {
                ids.extend(self.inner.get_instance_tree(&id).await?.all_ids);
            }
            ids.sort();
            ids.dedup();
        }
        if self.has(Fault::DeleteNothing) {
            return Ok(DeleteInstanceResult { instances_deleted: 1, ..Default::default() });
        }
        if self.has(Fault::ListTakesQueuedStarts) {
            self.lose_starts(&ids).await?;
        }
        let force = force || self.has(Fault::DeleteIgnoresRunning);
        self.faulty_deletion_kind(self.inner.delete_instances_atomic(&ids, force).await)
    }

    async fn delete_instance(
        &self,
        instance_id: &str,
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        if self.has(Fault::DeleteNothing) {
            return Ok(DeleteInstanceResult { instances_deleted: 1, ..Default::default() });
        }
        let force = force
            || self.has(Fault::DeleteIgnoresRunning)
            || self.has(Fault::DeleteTakesContinued)
                && self.between_executions().await?.iter().any(|id| id == instance_id);
        let result = self.inner.delete_instance(instance_id, force).await;
        if result.is_ok() {
            self.memory.noted().deleted.insert(instance_id.to_owned());
            self.keep_pending_children(instance_id).await?;
        }
        let was_deleted = self.memory.noted().deleted.contains(instance_id);
        match result {
            Err(error)
                if self.has(Fault::DeleteUnknownAccepted)
                    || self.has(Fault::DeleteTwiceAccepted) && was_deleted =>
            {
                let unknown = error.message.to_lowercase().contains("not found");
                if unknown { Ok(DeleteInstanceResult::default()) } else { Err(error) }
            }
            other => self.faulty_deletion_kind(other),
        }
    }

    async fn delete_instance_bulk(
        &self,
        mut filter: InstanceFilter,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        match self.fault() {
            Some(Fault::BulkLimitIgnored) => filter.limit = None,
            Some(Fault::BulkAgeIgnored) => filter.completed_before = None,
            Some(Fault::BulkTakesRunning) => {
                for id in self.inner.list_instances_by_status("Running").await? {
                    // Deleting a root also deletes its children, which are in the list too.
                    if let Err(_child) = self.inner.delete_instance(&id, true).await {}
                }
            }
            Some(Fault::BulkTakesContinued) => {
                for id in self.between_executions().await? {
                    self.inner.delete_instance(&id, true).await?;
                }
            }
            _other => {}
        }
        self.inner.delete_instance_bulk(filter).await
    }

    async fn prune_executions(
        &self,
        instance_id: &str,
        mut options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        if self.has(Fault::PruneKeepsNothing) {
            options.keep_last = None;
        }
        let result = self.inner.prune_executions(instance_id, options).await;
        if self.has(Fault::PruneTakesCurrent) && result.is_ok() {
            self.inner.delete_instances_atomic(&[instance_id.to_owned()], true).await?;
        }
        if self.has(Fault::PruneUnknownAccepted) { Ok(result.unwrap_or_default()) } else { result }
    }

    async fn prune_executions_bulk(
        &self,
        filter: InstanceFilter,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        let mut result = self.inner.prune_executions_bulk(filter, options).await?;
        if self.has(Fault::PruneTakesContinued) {
            result.instances_processed += self.between_executions().await?.len() as u64;
        }
        Ok(result)
    }

    async fn get_running_duroxide_version_spread(
        &self,
    ) -> Result<BTreeMap<String, u64>, ProviderError> {
        let mut spread = self.inner.get_running_duroxide_version_spread().await?;
        if self.has(Fault::SpreadUnpinnedLeftOut) {
            spread.remove(UNPINNED_VERSION);
        }
        Ok(if self.has(Fault::SpreadEmpty) { BTreeMap::new() } else { spread })
    }

    async fn get_running_handler_version_spread(
        &self,
    ) -> Result<HandlerVersionSpread, ProviderError> {
        if self.has(Fault::HandlerSpreadOfStored) {
            let mut spread = HandlerVersionSpread::new();
            for instance in self.inner.list_instances().await? {
                let info = self.inner.get_instance_info(&instance).await?;
                let versions = spread.entry(info.orchestration_name).or_default();
                *versions.entry(info.orchestration_version).or_insert(0) += 1;
            }
            return Ok(spread);
        }
        let mut spread = self.inner.get_running_handler_version_spread().await?;
        if self.has(Fault::HandlerSpreadMerged) {
            for versions in spread.values_mut() {
                let (first, count) = (versions.keys().next().cloned(), versions.values().sum());
                *versions = first.map(|first| (first, count)).into_iter().collect();
            }
        }
        Ok(spread)
    }

    async fn suspend_instance(&self, instance: &str, reason: &str) -> Result<(), ProviderError> {
        self.faulty_suspend_instance(instance, reason).await
    }

    async fn resume_instance(&self, instance: &str) -> Result<bool, ProviderError> {
        self.faulty_resume(instance).await
    }

    async fn read_suspension(&self, instance: &str) -> Result<Option<Suspension>, ProviderError> {
        self.faulty_suspension(instance).await
    }

    async fn list_suspended(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<SuspendedInstance>, ProviderError> {
        self.faulty_suspended(after, limit).await
    }

    async fn hold_instance(
        &self,
        instance: &str,
        lock_timeout: Duration,
    ) -> Result<HeldInstance, ProviderError> {
        self.faulty_hold(instance, lock_timeout).await
    }

    async fn read_instance_copy(
        &self,
        query: InstanceCopyQuery,
    ) -> Result<InstanceCopy, ProviderError> {
        self.faulty_copy(query).await
    }

    async fn import_instance(&self, instance: InstanceCopy) -> Result<(), ProviderError> {
        self.faulty_import(instance).await
    }

    async fn store_execution(&self, execution: NewExecution) -> Result<(), ProviderError> {
        self.faulty_store_execution(execution).await
    }

    async fn discard_late_messages(&self, instance: &str) -> Result<u64, ProviderError> {
        match self.has(Fault::LateMessagesKept) {
            true => Ok(0),
            false => self.inner.discard_late_messages(instance).await,
        }
    }

    async fn read_stored_events(
        &self,
        query: StoredEventsQuery,
    ) -> Result<Vec<StoredEvent>, ProviderError> {
        self.faulty_stored_events(query).await
    }

    async fn list_parked_messages(&self, limit: u32) -> Result<Vec<ParkedMessage>, ProviderError> {
        let parked = self.inner.list_parked_messages(limit).await?;
        Ok(if self.has(Fault::ParkedHidden) { Vec::new() } else { parked })
    }

    async fn list_waiting_tags(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Option<String>>, ProviderError> {
        let mut tags = self.inner.list_waiting_tags(after, limit).await?;
        tags.retain(|tag| tag.is_some() || !self.has(Fault::WaitingTagsIncomplete));
        Ok(tags)
    }

    async fn list_waiting_work(
        &self,
        query: WaitingWorkQuery,
    ) -> Result<Vec<WaitingWork>, ProviderError> {
        self.waiting(query).await
    }

    async fn list_waiting_starts(
        &self,
        mut query: WaitingStartQuery,
    ) -> Result<Vec<WaitingStart>, ProviderError> {
        match self.fault() {
            Some(Fault::WaitingStartsHidden) => return Ok(Vec::new()),
            Some(Fault::WaitingStartsPageIgnored) => query.after = None,
            Some(Fault::WaitingStartsOfAll) => query.instance = None,
            _other => {}
        }
        let mut starts = self.inner.list_waiting_starts(query).await?;
        if self.has(Fault::WaitingStartsUncounted) {
            starts.iter_mut().for_each(|start| start.attempt_count = 0);
        }
        Ok(starts)
    }

    async fn list_stranded_turns(
        &self,
        mut query: StrandedTurnQuery,
    ) -> Result<StrandedTurns, ProviderError> {
        match self.fault() {
            Some(Fault::StrandedTurnsHidden) => return Ok(StrandedTurns::default()),
            Some(Fault::StrandedTurnsOfAll) => query.nodes.clear(),
            Some(Fault::StrandedTurnsPageIgnored) => query.after = None,
            Some(Fault::StrandedTurnsLimitIgnored) => query.limit = u32::MAX,
            _other => {}
        }
        let mut page = self.inner.list_stranded_turns(query).await?;
        if self.has(Fault::StrandedTurnsNeedsLost) {
            page.turns.iter_mut().for_each(|turn| (turn.code, turn.pin) = (None, None));
        }
        Ok(page)
    }

    async fn read_instance_queues(
        &self,
        query: InstanceQueuesQuery,
    ) -> Result<Option<InstanceQueues>, ProviderError> {
        self.faulty_instance_queues(query).await
    }

    async fn list_cancelled_turns(
        &self,
        mut query: StrandedTurnQuery,
    ) -> Result<StrandedTurns, ProviderError> {
        match self.fault() {
            Some(Fault::CancelledTurnsHidden) => return Ok(StrandedTurns::default()),
            Some(Fault::CancelledTurnsOfAll) => {
                return self.inner.list_stranded_turns(query).await;
            }
            Some(Fault::CancelledTurnsPageIgnored) => query.after = None,
            _other => {}
        }
        self.inner.list_cancelled_turns(query).await
    }

    duroxide_core::forward_provider_admin! { this => this.inner;
        read_history_with_execution_id, read_history, get_execution_info,
    }
}

impl FaultyProvider {
    /// Instances whose current execution has continued as new.
    pub(crate) async fn between_executions(&self) -> Result<Vec<String>, ProviderError> {
        let mut found = Vec::new();
        for id in self.inner.list_instances().await? {
            let current = self.inner.latest_execution_id(&id).await?;
            let info = self.inner.get_execution_info(&id, current).await?;
            if info.status == "ContinuedAsNew" {
                found.push(id);
            }
        }
        Ok(found)
    }
}

fn invented(instance: &str) -> InstanceInfo {
    InstanceInfo {
        instance_id: instance.to_owned(),
        orchestration_name: String::new(),
        orchestration_version: String::new(),
        current_execution_id: 1,
        status: "Running".to_owned(),
        output: None,
        created_at: 1,
        updated_at: 1,
        parent_instance_id: None,
    }
}
