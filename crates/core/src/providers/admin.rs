//! The management side of the storage contract.

use std::any::Any;
use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;

pub use super::management_provider::ManagementProvider;
use super::{
    CountedInstances, DeleteInstanceResult, ExecutionInfo, HeldInstance, InstanceCopy,
    InstanceCopyQuery, InstanceCountQuery, InstanceFilter, InstanceInfo, InstancePage,
    InstanceQuery, InstanceQueues, InstanceQueuesQuery, InstanceTree, LiveWorker, NewExecution,
    ParkedMessage, ProviderError, ProviderErrorKind, PruneOptions, PruneResult, QueueDepths,
    StoreGauges, StoredEvent, StoredEventsQuery, StrandedTurnQuery, StrandedTurns,
    SuspendedInstance, Suspension, SystemMetrics, WaitingStart, WaitingStartQuery, WaitingWork,
    WaitingWorkQuery,
};
use crate::model::{Event, ExecutionStatus};

/// What operators need: listing, inspection, deletion and pruning.
#[async_trait]
pub trait ProviderAdmin: Any + Send + Sync {
    /// The management side that this one decorates. Every method with a default forwards to it;
    /// see [`forward_provider_admin!`](crate::forward_provider_admin) for the others.
    fn inner_admin(&self) -> Option<&dyn ProviderAdmin> {
        None
    }

    /// All instances, newest first.
    async fn list_instances(&self) -> Result<Vec<String>, ProviderError>;

    /// Instances whose current execution has this status, newest first.
    async fn list_instances_by_status(&self, status: &str) -> Result<Vec<String>, ProviderError>;

    /// Executions of an instance, ascending; empty if it is unknown.
    async fn list_executions(&self, instance: &str) -> Result<Vec<u64>, ProviderError>;

    /// History of one execution.
    async fn read_history_with_execution_id(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError>;

    /// History of the latest execution.
    async fn read_history(&self, instance: &str) -> Result<Vec<Event>, ProviderError>;

    /// Number of the latest execution; 1 if the instance is unknown.
    async fn latest_execution_id(&self, instance: &str) -> Result<u64, ProviderError>;

    /// One instance; an error if it is unknown.
    async fn get_instance_info(&self, instance: &str) -> Result<InstanceInfo, ProviderError>;

    /// One execution; an error if it is unknown.
    async fn get_execution_info(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<ExecutionInfo, ProviderError>;

    /// Totals over the store.
    async fn get_system_metrics(&self) -> Result<SystemMetrics, ProviderError>;

    /// Messages waiting in the queues.
    async fn get_queue_depths(&self) -> Result<QueueDepths, ProviderError>;

    /// What the gauges of every node show. Nodes call it at an interval while they work, so that it
    /// must not read what has ended, and may stop to count at a limit. The default reads totals.
    async fn read_gauges(&self) -> Result<StoreGauges, ProviderError> {
        if let Some(inner) = self.inner_admin() {
            return inner.read_gauges().await;
        }
        let running_instances = self.get_system_metrics().await?.running_instances;
        let depths = self.get_queue_depths().await?;
        Ok(StoreGauges {
            running_instances,
            ready_messages: depths.orchestrator_queue as u64,
            activities: depths.worker_queue as u64,
            ..StoreGauges::default()
        })
    }

    /// Direct children; empty if the instance is unknown.
    async fn list_children(&self, instance_id: &str) -> Result<Vec<String>, ProviderError>;

    /// The parent; an error containing "not found" if the instance is unknown.
    async fn get_parent_id(&self, instance_id: &str) -> Result<Option<String>, ProviderError>;

    /// Deletes exactly these instances, all or none.
    ///
    /// - A running one is refused without `force`.
    /// - A child that is not listed is refused: the tree has grown since it was read.
    /// - An id without an instance is left alone, with a start that is queued for it.
    async fn delete_instances_atomic(
        &self,
        ids: &[String],
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError>;

    /// The instance and all its descendants, root first.
    async fn get_instance_tree(&self, instance_id: &str) -> Result<InstanceTree, ProviderError> {
        if let Some(inner) = self.inner_admin() {
            return inner.get_instance_tree(instance_id).await;
        }
        let mut all_ids = vec![instance_id.to_owned()];
        let mut visited = 0;
        while let Some(id) = all_ids.get(visited).cloned() {
            for child in self.list_children(&id).await? {
                // A cycle cannot be stored, but a broken store must not make us loop.
                if !all_ids.contains(&child) {
                    all_ids.push(child);
                }
            }
            visited += 1;
        }
        Ok(InstanceTree { root_id: instance_id.to_owned(), all_ids })
    }

    /// Deletes a root instance with its whole tree.
    ///
    /// Of several calls for one instance at the same time, one succeeds. For the others it does not
    /// exist.
    async fn delete_instance(
        &self,
        instance_id: &str,
        force: bool,
    ) -> Result<DeleteInstanceResult, ProviderError> {
        if let Some(inner) = self.inner_admin() {
            return inner.delete_instance(instance_id, force).await;
        }
        if self.get_parent_id(instance_id).await?.is_some() {
            return Err(ProviderError::permanent(
                "delete_instance",
                format!(
                    "Cannot delete sub-orchestration {instance_id} directly. \
                     Delete root instance instead."
                ),
            )
            .with_kind(ProviderErrorKind::NotRoot));
        }
        let tree = self.get_instance_tree(instance_id).await?;
        let deleted = self.delete_instances_atomic(&tree.all_ids, force).await?;
        if deleted.instances_deleted == 0 {
            // Another deletion was first.
            return Err(ProviderError::permanent(
                "delete_instance",
                format!("Instance {instance_id} not found"),
            )
            .with_kind(ProviderErrorKind::NotFound));
        }
        Ok(deleted)
    }

    /// Deletes finished root instances with their trees; running ones are left alone.
    async fn delete_instance_bulk(
        &self,
        filter: InstanceFilter,
    ) -> Result<DeleteInstanceResult, ProviderError>;

    /// Deletes old executions of one instance; an error if it is unknown.
    async fn prune_executions(
        &self,
        instance_id: &str,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError>;

    /// Deletes old executions of many instances.
    async fn prune_executions_bulk(
        &self,
        filter: InstanceFilter,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError>;

    /// Running instances counted by the version that their current execution is pinned to.
    async fn get_running_duroxide_version_spread(
        &self,
    ) -> Result<BTreeMap<String, u64>, ProviderError> {
        if let Some(inner) = self.inner_admin() {
            return inner.get_running_duroxide_version_spread().await;
        }
        let mut spread = BTreeMap::new();
        for instance in self.list_instances_by_status(ExecutionStatus::Running.as_str()).await? {
            let history = self.read_history(&instance).await?;
            let start = history.into_iter().find(Event::is_start);
            if let Some(start) = start {
                *spread.entry(start.duroxide_version).or_insert(0) += 1;
            }
        }
        Ok(spread)
    }

    /// Messages that wait for an instance that does not exist, oldest first, `limit` at the most.
    async fn list_parked_messages(&self, limit: u32) -> Result<Vec<ParkedMessage>, ProviderError> {
        if let Some(inner) = self.inner_admin() {
            return inner.list_parked_messages(limit).await;
        }
        let _a_provider_that_parks_nothing_has_none = limit;
        Ok(Vec::new())
    }

    /// Suspends a stored instance until it is [resumed](Self::resume_instance).
    ///
    /// - A turn that a node holds is lost: it cannot be committed any more, and its attempt does
    ///   not count. Activities go on; their results wait.
    /// - Of an instance that is suspended already, the reason changes.
    /// - An unknown instance is [`NotFound`](ProviderErrorKind::NotFound), one that has ended a
    ///   [`Conflict`](ProviderErrorKind::Conflict).
    async fn suspend_instance(&self, instance: &str, reason: &str) -> Result<(), ProviderError> {
        if let Some(inner) = self.inner_admin() {
            return inner.suspend_instance(instance, reason).await;
        }
        let _unknown = (instance, reason);
        Err(not_supported("suspend_instance"))
    }

    /// Lifts the suspension of an instance, whatever caused it; false if it is not suspended.
    async fn resume_instance(&self, instance: &str) -> Result<bool, ProviderError> {
        if let Some(inner) = self.inner_admin() {
            return inner.resume_instance(instance).await;
        }
        let _unknown = instance;
        Err(not_supported("resume_instance"))
    }

    /// The suspension of an instance; `None` if it is unknown or not suspended.
    async fn read_suspension(&self, instance: &str) -> Result<Option<Suspension>, ProviderError> {
        if let Some(inner) = self.inner_admin() {
            return inner.read_suspension(instance).await;
        }
        let _a_provider_that_cannot_suspend_has_none = instance;
        Ok(None)
    }

    /// Suspended instances in the order of their ids, at most `limit`. Only those behind `after`,
    /// if it is given.
    async fn list_suspended(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<SuspendedInstance>, ProviderError> {
        if let Some(inner) = self.inner_admin() {
            return inner.list_suspended(after, limit).await;
        }
        let _a_provider_that_cannot_suspend_has_none = (after, limit);
        Ok(Vec::new())
    }

    #[doc = include_str!("contract/hold_instance.md")]
    async fn hold_instance(
        &self,
        instance: &str,
        lock_timeout: Duration,
    ) -> Result<HeldInstance, ProviderError> {
        if let Some(inner) = self.inner_admin() {
            return inner.hold_instance(instance, lock_timeout).await;
        }
        let _unknown = (instance, lock_timeout);
        Err(not_supported("hold_instance"))
    }

    #[doc = include_str!("contract/store_execution.md")]
    async fn store_execution(&self, execution: NewExecution) -> Result<(), ProviderError> {
        if let Some(inner) = self.inner_admin() {
            return inner.store_execution(execution).await;
        }
        let _unknown = execution;
        Err(not_supported("store_execution"))
    }

    /// Removes the messages that wait for an instance that has completed or failed; returns how
    /// many. A child start of a parent stays: a node notifies the parent that its call failed. The
    /// default leaves all of them to the nodes.
    async fn discard_late_messages(&self, instance: &str) -> Result<u64, ProviderError> {
        if let Some(inner) = self.inner_admin() {
            return inner.discard_late_messages(instance).await;
        }
        let _for_the_nodes = instance;
        Ok(0)
    }

    /// The next events of an execution, in order; none if there are no more. An event that cannot
    /// be decoded is returned as it is stored.
    ///
    /// A provider bounds how many it returns at once. The default reads the whole history, and
    /// fails if an event cannot be decoded.
    async fn read_stored_events(
        &self,
        query: StoredEventsQuery,
    ) -> Result<Vec<StoredEvent>, ProviderError> {
        if let Some(inner) = self.inner_admin() {
            return inner.read_stored_events(query).await;
        }
        let history = self.read_history_with_execution_id(&query.instance, query.execution_id);
        let behind = history.await?.into_iter().filter(|event| event.event_id > query.after);
        Ok(behind.map(|event| StoredEvent::Decoded(Box::new(event))).collect())
    }

    /// Nodes that announced themselves and have not expired, by their names.
    async fn list_live_workers(&self) -> Result<Vec<LiveWorker>, ProviderError> {
        if let Some(inner) = self.inner_admin() {
            return inner.list_live_workers().await;
        }
        Err(not_supported("list_live_workers"))
    }

    /// Tags of activities that no worker has leased, ascending, `None` for those without a tag
    /// first, at most `limit`. Only tags behind `after`, if it is given.
    async fn list_waiting_tags(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Option<String>>, ProviderError> {
        if let Some(inner) = self.inner_admin() {
            return inner.list_waiting_tags(after, limit).await;
        }
        let _unknown = (after, limit);
        Err(not_supported("list_waiting_tags"))
    }

    /// Activities that no worker has leased, whether they are visible or not, oldest first.
    async fn list_waiting_work(
        &self,
        query: WaitingWorkQuery,
    ) -> Result<Vec<WaitingWork>, ProviderError> {
        if let Some(inner) = self.inner_admin() {
            return inner.list_waiting_work(query).await;
        }
        let _unknown = query;
        Err(not_supported("list_waiting_work"))
    }

    /// Queued starts whose instance does not exist yet, whether they are visible or not, by
    /// instance.
    async fn list_waiting_starts(
        &self,
        query: WaitingStartQuery,
    ) -> Result<Vec<WaitingStart>, ProviderError> {
        if let Some(inner) = self.inner_admin() {
            return inner.list_waiting_starts(query).await;
        }
        let _unknown = query;
        Err(not_supported("list_waiting_starts"))
    }

    /// Visible turns without a live lease that no fetch with one of the given filters may lease,
    /// each instance once, in an order of the provider's own.
    ///
    /// Nodes call it at an interval: it reads no turns that one of the filters allows, and reads a
    /// limited number of the others at a time.
    async fn list_stranded_turns(
        &self,
        query: StrandedTurnQuery,
    ) -> Result<StrandedTurns, ProviderError> {
        if let Some(inner) = self.inner_admin() {
            return inner.list_stranded_turns(query).await;
        }
        let _unknown = query;
        Err(not_supported("list_stranded_turns"))
    }

    /// What the queues hold of one instance; `None` if the provider does not report it.
    ///
    /// Leases and limits that are over are left out. It reads the rows of the instance only, and
    /// may read one queue after the other.
    async fn read_instance_queues(
        &self,
        query: InstanceQueuesQuery,
    ) -> Result<Option<InstanceQueues>, ProviderError> {
        if let Some(inner) = self.inner_admin() {
            return inner.read_instance_queues(query).await;
        }
        let _unreported = query;
        Ok(None)
    }

    #[doc = include_str!("contract/read_instance_copy.md")]
    async fn read_instance_copy(
        &self,
        query: InstanceCopyQuery,
    ) -> Result<InstanceCopy, ProviderError> {
        if let Some(inner) = self.inner_admin() {
            return inner.read_instance_copy(query).await;
        }
        let _unknown = query;
        Err(not_supported("read_instance_copy"))
    }

    #[doc = include_str!("contract/import_instance.md")]
    async fn import_instance(&self, instance: InstanceCopy) -> Result<(), ProviderError> {
        if let Some(inner) = self.inner_admin() {
            return inner.import_instance(instance).await;
        }
        let _unknown = instance;
        Err(not_supported("import_instance"))
    }

    /// Of the [stranded turns](Self::list_stranded_turns), those of instances for which a visible
    /// cancellation waits, each instance once.
    ///
    /// - Such a turn waits since the first of the cancellations is visible.
    /// - An instance that is not stored counts only if a cancellation is behind its start: earlier
    ///   ones were meant for another.
    /// - Nodes call it at an interval: it reads no instance without a cancellation, and a limited
    ///   number of the others at a time.
    ///
    /// The default lists none: their cancellations wait for a node that can run them.
    async fn list_cancelled_turns(
        &self,
        query: StrandedTurnQuery,
    ) -> Result<StrandedTurns, ProviderError> {
        if let Some(inner) = self.inner_admin() {
            return inner.list_cancelled_turns(query).await;
        }
        let _none = query;
        Ok(StrandedTurns::default())
    }

    /// Running instances counted by the orchestration that they run and its version. One between
    /// two executions counts with what the earlier one ran.
    ///
    /// The default reads every running instance.
    async fn get_running_handler_version_spread(
        &self,
    ) -> Result<HandlerVersionSpread, ProviderError> {
        if let Some(inner) = self.inner_admin() {
            return inner.get_running_handler_version_spread().await;
        }
        let mut spread = HandlerVersionSpread::new();
        for instance in self.list_instances_by_status(ExecutionStatus::Running.as_str()).await? {
            let info = match self.get_instance_info(&instance).await {
                // Deleted meanwhile.
                Err(error) if error.kind == ProviderErrorKind::NotFound => continue,
                info => info?,
            };
            let versions = spread.entry(info.orchestration_name).or_default();
            *versions.entry(info.orchestration_version).or_insert(0) += 1;
        }
        Ok(spread)
    }

    #[doc = include_str!("contract/query_instances.md")]
    async fn query_instances(&self, query: InstanceQuery) -> Result<InstancePage, ProviderError> {
        if let Some(inner) = self.inner_admin() {
            return inner.query_instances(query).await;
        }
        let _by_listing = query;
        Err(not_supported("query_instances"))
    }

    /// How many instances a filter selects; those that [`query_instances`](Self::query_instances)
    /// returns. It may stop before the limit when it has examined enough, with a cursor.
    async fn count_instances(
        &self,
        query: InstanceCountQuery,
    ) -> Result<CountedInstances, ProviderError> {
        if let Some(inner) = self.inner_admin() {
            return inner.count_instances(query).await;
        }
        let _by_listing = query;
        Err(not_supported("count_instances"))
    }
}

/// Numbers of instances by the name of their orchestration, and then by its version.
pub type HandlerVersionSpread = BTreeMap<String, BTreeMap<String, u64>>;

pub(super) fn not_supported(operation: &str) -> ProviderError {
    ProviderError::permanent(operation, "not supported by this provider")
}
