//! A provider that measures another one.
//!
//! Uses metrics although it is among the providers: that is its public path.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use super::trouble::TroubleWatch;
use super::{
    ClientMessage, CommittedTurn, Delivery, DirectTurn, DispatcherCapabilityFilter,
    ExecutionMetadata, FetchedTurn, FetchedWork, InstanceOutcome, InstanceStatus,
    OrchestrationItem, Provider, ProviderError, ScheduledActivityIdentifier, SessionFetchConfig,
    TagFilter, TurnCommit, TurnFetch, TurnState, WorkFetch,
};
use crate::model::{Event, SystemStats, WorkItem};
use crate::observability::MetricsProvider;
use crate::panics;

/// Forwards every call unchanged, and measures those that the system's speed depends on.
///
/// - A batch is measured under the name of the single operation that it stands for.
/// - The whole call is measured, so a fetch that waited for work includes the wait.
/// - A call that is dropped before it returns is not measured.
/// - A panic of the store comes back as a retryable error.
/// - Whether the store is in trouble is kept, logged at a bounded rate, and a gauge.
pub struct InstrumentedProvider {
    inner: Arc<dyn Provider>,
    metrics: Option<Arc<MetricsProvider>>,
    trouble: Arc<TroubleWatch>,
}

impl InstrumentedProvider {
    /// Measures `inner`; without metrics it only forwards.
    pub fn new(inner: Arc<dyn Provider>, metrics: Option<Arc<MetricsProvider>>) -> Self {
        let trouble = Arc::new(TroubleWatch::new(metrics.clone()));
        Self { inner, metrics, trouble }
    }

    /// What the calls show about the store.
    pub(crate) fn trouble(&self) -> &Arc<TroubleWatch> {
        &self.trouble
    }

    async fn measured<T>(
        &self,
        operation: &str,
        call: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, ProviderError> {
        let Some(metrics) = &self.metrics else { return self.guarded(operation, call).await };
        let started = Instant::now();
        let result = self.guarded(operation, call).await;
        let seconds = started.elapsed().as_secs_f64();
        match &result {
            Ok(_) => metrics.record_provider_operation(operation, seconds, "success"),
            Err(error) => {
                metrics.record_provider_operation(operation, seconds, "error");
                metrics.record_provider_error(operation, error.kind.as_str());
            }
        }
        result
    }

    /// A panic of the store is an error of the call. What the call has done before is not known, as
    /// after a lost connection, so it may be repeated.
    async fn guarded<T>(
        &self,
        operation: &str,
        call: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, ProviderError> {
        let panicked =
            |text| ProviderError::retryable(operation, format!("the store panicked: {text}"));
        let result = panics::caught(call).await.unwrap_or_else(|text| Err(panicked(text)));
        self.trouble.note(operation, &result);
        result
    }
}

#[async_trait]
impl Provider for InstrumentedProvider {
    fn inner(&self) -> Option<&dyn Provider> {
        Some(self.inner.as_ref())
    }

    async fn fetch_orchestration_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Result<Option<(OrchestrationItem, String, u32)>, ProviderError> {
        let call = self.inner.fetch_orchestration_item(lock_timeout, poll_timeout, filter);
        self.measured("fetch_orchestration_item", call).await
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
        let call = self.inner.ack_orchestration_item(
            lock_token,
            execution_id,
            history_delta,
            worker_items,
            orchestrator_items,
            metadata,
            cancelled_activities,
        );
        self.measured("ack_orchestration_item", call).await
    }

    async fn abandon_orchestration_item(
        &self,
        lock_token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        self.guarded(
            "abandon_orchestration_item",
            self.inner.abandon_orchestration_item(lock_token, delay, ignore_attempt),
        )
        .await
    }

    async fn read(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        self.measured("read", self.inner.read(instance)).await
    }

    async fn read_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        self.guarded("read_with_execution", self.inner.read_with_execution(instance, execution_id))
            .await
    }

    async fn append_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
        new_events: Vec<Event>,
    ) -> Result<(), ProviderError> {
        self.guarded(
            "append_with_execution",
            self.inner.append_with_execution(instance, execution_id, new_events),
        )
        .await
    }

    async fn enqueue_for_worker(&self, item: WorkItem) -> Result<(), ProviderError> {
        self.guarded("enqueue_for_worker", self.inner.enqueue_for_worker(item)).await
    }

    async fn fetch_work_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        session: Option<&SessionFetchConfig>,
        tag_filter: &TagFilter,
    ) -> Result<Option<(WorkItem, String, u32)>, ProviderError> {
        let call = self.inner.fetch_work_item(lock_timeout, poll_timeout, session, tag_filter);
        self.measured("fetch_work_item", call).await
    }

    async fn ack_work_item(
        &self,
        token: &str,
        completion: Option<WorkItem>,
    ) -> Result<(), ProviderError> {
        self.measured("ack_work_item", self.inner.ack_work_item(token, completion)).await
    }

    async fn renew_work_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        self.guarded("renew_work_item_lock", self.inner.renew_work_item_lock(token, extend_for))
            .await
    }

    async fn renew_session_lock(
        &self,
        owner_ids: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        let call = self.inner.renew_session_lock(owner_ids, extend_for, idle_timeout);
        self.measured("renew_session_lock", call).await
    }

    async fn cleanup_orphaned_sessions(
        &self,
        idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        let call = self.inner.cleanup_orphaned_sessions(idle_timeout);
        self.measured("cleanup_orphaned_sessions", call).await
    }

    async fn abandon_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        self.guarded(
            "abandon_work_item",
            self.inner.abandon_work_item(token, delay, ignore_attempt),
        )
        .await
    }

    async fn renew_orchestration_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        self.guarded(
            "renew_orchestration_item_lock",
            self.inner.renew_orchestration_item_lock(token, extend_for),
        )
        .await
    }

    async fn enqueue_for_orchestrator(
        &self,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Result<(), ProviderError> {
        let call = self.inner.enqueue_for_orchestrator(item, delay);
        self.measured("enqueue_orchestrator", call).await
    }

    async fn send_message(&self, message: ClientMessage) -> Result<Delivery, ProviderError> {
        self.measured("enqueue_orchestrator", self.inner.send_message(message)).await
    }

    async fn get_custom_status(
        &self,
        instance: &str,
        last_seen_version: u64,
    ) -> Result<Option<(Option<String>, u64)>, ProviderError> {
        self.guarded("get_custom_status", self.inner.get_custom_status(instance, last_seen_version))
            .await
    }

    async fn get_kv_value(
        &self,
        instance: &str,
        key: &str,
    ) -> Result<Option<String>, ProviderError> {
        self.guarded("get_kv_value", self.inner.get_kv_value(instance, key)).await
    }

    async fn get_kv_all_values(
        &self,
        instance: &str,
    ) -> Result<HashMap<String, String>, ProviderError> {
        self.guarded("get_kv_all_values", self.inner.get_kv_all_values(instance)).await
    }

    async fn get_instance_stats(
        &self,
        instance: &str,
    ) -> Result<Option<SystemStats>, ProviderError> {
        self.guarded("get_instance_stats", self.inner.get_instance_stats(instance)).await
    }

    async fn fetch_orchestration_items(
        &self,
        request: TurnFetch<'_>,
    ) -> Result<Vec<FetchedTurn>, ProviderError> {
        let call = self.inner.fetch_orchestration_items(request);
        self.measured("fetch_orchestration_item", call).await
    }

    async fn read_turn_state(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<TurnState, ProviderError> {
        self.measured("read", self.inner.read_turn_state(instance, execution_id)).await
    }

    async fn commit_turn(&self, commit: Arc<TurnCommit>) -> Result<CommittedTurn, ProviderError> {
        self.measured("ack_orchestration_item", self.inner.commit_turn(commit)).await
    }

    async fn commit_direct_turn(
        &self,
        turn: Arc<DirectTurn>,
    ) -> Result<Option<CommittedTurn>, ProviderError> {
        let call = self.inner.commit_direct_turn(turn);
        self.measured("ack_orchestration_item", call).await
    }

    async fn fetch_work_items(
        &self,
        request: WorkFetch<'_>,
    ) -> Result<Vec<FetchedWork>, ProviderError> {
        self.measured("fetch_work_item", self.inner.fetch_work_items(request)).await
    }

    async fn reclaim_orchestration_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        let call = self.inner.reclaim_orchestration_item_lock(token, extend_for);
        self.guarded("reclaim_orchestration_item_lock", call).await
    }

    async fn reclaim_work_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        let call = self.inner.reclaim_work_item_lock(token, extend_for);
        self.guarded("reclaim_work_item_lock", call).await
    }

    async fn vouch_for_work_item(&self, token: &str, leases: u32) -> Result<u32, ProviderError> {
        self.guarded("vouch_for_work_item", self.inner.vouch_for_work_item(token, leases)).await
    }

    async fn mark_turn_running(&self, token: &str, running: bool) -> Result<u32, ProviderError> {
        self.guarded("mark_turn_running", self.inner.mark_turn_running(token, running)).await
    }

    async fn find_lost_work_locks(&self, tokens: &[String]) -> Result<Vec<String>, ProviderError> {
        self.guarded("find_lost_work_locks", self.inner.find_lost_work_locks(tokens)).await
    }

    async fn read_outcome(&self, instance: &str) -> Result<InstanceOutcome, ProviderError> {
        self.measured("read", self.inner.read_outcome(instance)).await
    }

    async fn read_status(&self, instance: &str) -> Result<InstanceStatus, ProviderError> {
        self.measured("read", self.inner.read_status(instance)).await
    }

    async fn read_start_event(&self, instance: &str) -> Result<Option<Event>, ProviderError> {
        self.measured("read", self.inner.read_start_event(instance)).await
    }

    async fn record_activity_progress(
        &self,
        token: &str,
        progress: &str,
    ) -> Result<(), ProviderError> {
        let call = self.inner.record_activity_progress(token, progress);
        self.measured("record_activity_progress", call).await
    }
}

#[cfg(test)]
#[path = "instrumented_tests.rs"]
mod tests;
