//! A provider as written for 0.1.32: exactly the methods that were required then.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use duroxide::providers::{
    DeleteInstanceResult, DispatcherCapabilityFilter, ExecutionInfo, ExecutionMetadata,
    InstanceFilter, InstanceInfo, InstanceTree, ManagementProvider, OrchestrationItem, Provider,
    ProviderAdmin, ProviderError, PruneOptions, PruneResult, QueueDepths,
    ScheduledActivityIdentifier, SessionFetchConfig, SystemMetrics, TagFilter, WorkItem,
};
use duroxide::{Event, SystemStats};

use crate::{is, is_send};

type Res<T> = Result<T, ProviderError>;

struct Empty;

#[async_trait]
impl Provider for Empty {
    async fn fetch_orchestration_item(
        &self,
        _lock_timeout: Duration,
        _poll_timeout: Duration,
        _filter: Option<&DispatcherCapabilityFilter>,
    ) -> Result<Option<(OrchestrationItem, String, u32)>, ProviderError> {
        Ok(None)
    }

    async fn ack_orchestration_item(
        &self,
        _lock_token: &str,
        _execution_id: u64,
        _history_delta: Vec<Event>,
        _worker_items: Vec<WorkItem>,
        _orchestrator_items: Vec<WorkItem>,
        _metadata: ExecutionMetadata,
        _cancelled_activities: Vec<ScheduledActivityIdentifier>,
    ) -> Result<(), ProviderError> {
        Ok(())
    }

    async fn abandon_orchestration_item(
        &self,
        _lock_token: &str,
        _delay: Option<Duration>,
        _ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        Ok(())
    }

    async fn read(&self, _instance: &str) -> Result<Vec<Event>, ProviderError> {
        Ok(Vec::new())
    }

    async fn read_with_execution(&self, _instance: &str, _execution_id: u64) -> Res<Vec<Event>> {
        Ok(Vec::new())
    }

    async fn append_with_execution(
        &self,
        _instance: &str,
        _execution_id: u64,
        _new_events: Vec<Event>,
    ) -> Result<(), ProviderError> {
        Ok(())
    }

    async fn enqueue_for_worker(&self, _item: WorkItem) -> Result<(), ProviderError> {
        Ok(())
    }

    async fn fetch_work_item(
        &self,
        _lock_timeout: Duration,
        _poll_timeout: Duration,
        _session: Option<&SessionFetchConfig>,
        _tag_filter: &TagFilter,
    ) -> Result<Option<(WorkItem, String, u32)>, ProviderError> {
        Ok(None)
    }

    async fn ack_work_item(&self, _token: &str, _completion: Option<WorkItem>) -> Res<()> {
        Ok(())
    }

    async fn renew_work_item_lock(&self, _token: &str, _extend_for: Duration) -> Res<()> {
        Ok(())
    }

    async fn renew_session_lock(
        &self,
        _owner_ids: &[&str],
        _extend_for: Duration,
        _idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        Ok(0)
    }

    async fn cleanup_orphaned_sessions(&self, _idle_timeout: Duration) -> Res<usize> {
        Ok(0)
    }

    async fn abandon_work_item(
        &self,
        _token: &str,
        _delay: Option<Duration>,
        _ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        Ok(())
    }

    async fn renew_orchestration_item_lock(&self, _token: &str, _extend_for: Duration) -> Res<()> {
        Ok(())
    }

    async fn enqueue_for_orchestrator(
        &self,
        _item: WorkItem,
        _delay: Option<Duration>,
    ) -> Result<(), ProviderError> {
        Ok(())
    }

    async fn get_custom_status(
        &self,
        _instance: &str,
        _last_seen_version: u64,
    ) -> Result<Option<(Option<String>, u64)>, ProviderError> {
        Ok(None)
    }

    async fn get_kv_value(&self, _instance: &str, _key: &str) -> Res<Option<String>> {
        Ok(None)
    }

    async fn get_kv_all_values(&self, _instance: &str) -> Res<HashMap<String, String>> {
        Ok(HashMap::new())
    }

    async fn get_instance_stats(&self, _instance: &str) -> Res<Option<SystemStats>> {
        Ok(None)
    }
}

// The three methods that had defaults can still be overridden.
struct Named;

#[async_trait]
impl ProviderAdmin for Named {
    async fn list_instances(&self) -> Res<Vec<String>> {
        Ok(Vec::new())
    }

    async fn list_instances_by_status(&self, _status: &str) -> Res<Vec<String>> {
        Ok(Vec::new())
    }

    async fn list_executions(&self, _instance: &str) -> Res<Vec<u64>> {
        Ok(Vec::new())
    }

    async fn read_history_with_execution_id(
        &self,
        _instance: &str,
        _execution_id: u64,
    ) -> Res<Vec<Event>> {
        Ok(Vec::new())
    }

    async fn read_history(&self, _instance: &str) -> Res<Vec<Event>> {
        Ok(Vec::new())
    }

    async fn latest_execution_id(&self, _instance: &str) -> Res<u64> {
        Ok(1)
    }

    async fn get_instance_info(&self, _instance: &str) -> Res<InstanceInfo> {
        Err(ProviderError::permanent("get_instance_info", "not found"))
    }

    async fn get_execution_info(&self, _instance: &str, _execution_id: u64) -> Res<ExecutionInfo> {
        Err(ProviderError::permanent("get_execution_info", "not found"))
    }

    async fn get_system_metrics(&self) -> Res<SystemMetrics> {
        Ok(SystemMetrics::default())
    }

    async fn get_queue_depths(&self) -> Res<QueueDepths> {
        Ok(QueueDepths::default())
    }

    async fn list_children(&self, _instance_id: &str) -> Res<Vec<String>> {
        Ok(Vec::new())
    }

    async fn get_parent_id(&self, _instance_id: &str) -> Res<Option<String>> {
        Ok(None)
    }

    async fn delete_instances_atomic(
        &self,
        _ids: &[String],
        _force: bool,
    ) -> Res<DeleteInstanceResult> {
        Ok(DeleteInstanceResult::default())
    }

    async fn delete_instance_bulk(&self, _filter: InstanceFilter) -> Res<DeleteInstanceResult> {
        Ok(DeleteInstanceResult::default())
    }

    async fn prune_executions(
        &self,
        _instance_id: &str,
        _options: PruneOptions,
    ) -> Res<PruneResult> {
        Ok(PruneResult::default())
    }

    async fn prune_executions_bulk(
        &self,
        _filter: InstanceFilter,
        _options: PruneOptions,
    ) -> Res<PruneResult> {
        Ok(PruneResult::default())
    }
}

#[async_trait]
impl ManagementProvider for Named {}

async fn defaults(provider: &dyn Provider, admin: &dyn ProviderAdmin) {
    is::<&str>(provider.name());
    is::<&str>(provider.version());
    is::<Option<&dyn ProviderAdmin>>(provider.as_management_capability());
    is::<Res<InstanceTree>>(admin.get_instance_tree("id").await);
    is::<Res<DeleteInstanceResult>>(admin.delete_instance("id", false).await);
}

async fn legacy(management: &dyn ManagementProvider) {
    is::<Res<Vec<String>>>(management.list_instances().await);
    is::<Res<Vec<String>>>(management.list_instances_by_status("Running").await);
    is::<Res<Vec<u64>>>(management.list_executions("id").await);
    is::<Res<Vec<Event>>>(management.read_execution("id", 1_u64).await);
    is::<Res<u64>>(management.latest_execution_id("id").await);
    is::<Res<InstanceInfo>>(management.get_instance_info("id").await);
    is::<Res<ExecutionInfo>>(management.get_execution_info("id", 1_u64).await);
    is::<Res<SystemMetrics>>(management.get_system_metrics().await);
    is::<Res<QueueDepths>>(management.get_queue_depths().await);
}

#[tokio::test]
async fn old_providers_compile_and_their_defaults_answer() {
    assert_eq!((Empty.name(), Empty.version()), ("unknown", "0.0.0"));
    assert!(Empty.as_management_capability().is_none());
    is_send(defaults(&Empty, &Named)).await;
    is_send(legacy(&Named)).await;
}
