//! Counters, histograms and gauges. Every count goes to the `metrics` facade and to the snapshot.
//!
//! One call counts one occurrence. Where two methods count the same thing, one takes names as
//! labels and the other is for callers without names; a caller uses one of the two. Without a
//! recorder the facade discards all values, so install a recorder before the runtime starts.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use metrics::{counter, gauge, histogram};

use super::snapshot::{Count, Counts};
use super::{MetricsSnapshot, ObservabilityConfig};

/// The metrics of one runtime. Dashboards depend on their names.
#[derive(Debug, Default)]
pub struct MetricsProvider {
    counts: Counts,
    incompatible_abandoned: Count,
    orchestrator_queue_depth: AtomicU64,
    worker_queue_depth: AtomicU64,
    delayed_messages: AtomicU64,
    parked_messages: AtomicU64,
    suspended_instances: AtomicU64,
    stranded_starts: AtomicU64,
    active_orchestrations: AtomicI64,
    store_in_trouble: AtomicBool,
}

impl MetricsProvider {
    /// All counts at zero. Never fails.
    pub fn new(_config: &ObservabilityConfig) -> Result<Self, String> {
        // A counter that first appears with a value has not increased in the eyes of a collector:
        // an alert would miss the first one.
        counter!("duroxide_orchestration_poison_total").increment(0);
        counter!("duroxide_activity_poison_total").increment(0);
        Ok(Self::default())
    }

    /// Has no effect, because no data is buffered; kept for 0.1.x.
    pub async fn shutdown(self) -> Result<(), String> {
        Ok(())
    }

    /// The current counts.
    pub fn snapshot(&self) -> MetricsSnapshot {
        self.counts.snapshot()
    }
}

/// Orchestrations.
impl MetricsProvider {
    /// Counts the start of an execution. `initiated_by` is `client`, `subOrchestration`, `detached`
    /// or `continueAsNew`.
    pub fn record_orchestration_start(&self, name: &str, version: &str, initiated_by: &str) {
        self.counts.orch_starts.add(1);
        counter!(
            "duroxide_orchestration_starts_total",
            "orchestration_name" => name.to_owned(),
            "version" => version.to_owned(),
            "initiated_by" => initiated_by.to_owned(),
        )
        .increment(1);
    }

    /// Counts the completion of an execution: `success`, `failed` or `continuedAsNew`. Duration and
    /// turns are those of the whole execution.
    pub fn record_orchestration_completion(
        &self,
        name: &str,
        version: &str,
        status: &str,
        duration_seconds: f64,
        turn_count: u64,
        history_events: u64,
    ) {
        self.counts.orch_completions.add(1);
        counter!(
            "duroxide_orchestration_completions_total",
            "orchestration_name" => name.to_owned(),
            "version" => version.to_owned(),
            "status" => status.to_owned(),
            "final_turn_count" => turn_bucket(turn_count),
        )
        .increment(1);
        histogram!(
            "duroxide_orchestration_duration_seconds",
            "orchestration_name" => name.to_owned(),
            "version" => version.to_owned(),
            "status" => status.to_owned(),
        )
        .record(duration_seconds);
        histogram!("duroxide_orchestration_turns", "orchestration_name" => name.to_owned())
            .record(turn_count as f64);
        histogram!("duroxide_orchestration_history_size", "orchestration_name" => name.to_owned())
            .record(history_events as f64);
    }

    /// Counts the failure of an execution. `error_type` is `app_error`, `infrastructure_error`,
    /// `config_error` or `unknown`; the first three have counts of their own, too.
    pub fn record_orchestration_failure(
        &self,
        name: &str,
        version: &str,
        error_type: &str,
        error_category: &str,
    ) {
        self.counts.orch_failures.add(1);
        counter!(
            "duroxide_orchestration_failures_total",
            "orchestration_name" => name.to_owned(),
            "version" => version.to_owned(),
            "error_type" => error_type.to_owned(),
            "error_category" => error_category.to_owned(),
        )
        .increment(1);
        match error_type {
            "app_error" => self.counts.orch_application_errors.add(1),
            "infrastructure_error" => {
                self.counts.orch_infrastructure_errors.add(1);
                counter!(
                    "duroxide_orchestration_infrastructure_errors_total",
                    "orchestration_name" => name.to_owned(),
                    "error_category" => error_category.to_owned(),
                )
                .increment(1);
            }
            "config_error" => {
                self.counts.orch_configuration_errors.add(1);
                counter!(
                    "duroxide_orchestration_configuration_errors_total",
                    "orchestration_name" => name.to_owned(),
                    "error_category" => error_category.to_owned(),
                )
                .increment(1);
            }
            _has_no_count_of_its_own => {}
        }
    }

    /// Counts a failure of user code in an orchestration without a known name.
    pub fn record_orchestration_application_error(&self) {
        self.counts.orch_application_errors.add(1);
        self.record_nameless_failure("app_error");
    }

    /// Counts a failure of storage or engine in an orchestration without a known name.
    pub fn record_orchestration_infrastructure_error(&self) {
        self.counts.orch_infrastructure_errors.add(1);
        counter!("duroxide_orchestration_infrastructure_errors_total").increment(1);
        self.record_nameless_failure("infrastructure_error");
    }

    /// Counts a failure of the deployment in an orchestration without a known name.
    pub fn record_orchestration_configuration_error(&self) {
        self.counts.orch_configuration_errors.add(1);
        counter!("duroxide_orchestration_configuration_errors_total").increment(1);
        self.record_nameless_failure("config_error");
    }

    fn record_nameless_failure(&self, error_type: &'static str) {
        self.counts.orch_failures.add(1);
        counter!("duroxide_orchestration_failures_total", "error_type" => error_type).increment(1);
    }

    /// Counts an execution that continued as new.
    pub fn record_continue_as_new(&self, name: &str, execution_id: u64) {
        self.counts.orch_continue_as_new.add(1);
        counter!(
            "duroxide_orchestration_continue_as_new_total",
            "orchestration_name" => name.to_owned(),
            "execution_id" => execution_id.to_string(),
        )
        .increment(1);
    }

    /// Counts an instance that failed because a message was fetched too often.
    pub fn record_orchestration_poison(&self) {
        self.counts.orch_poison.add(1);
        counter!("duroxide_orchestration_poison_total").increment(1);
    }

    /// Counts a turn that this node released because it cannot replay the pinned version.
    pub fn record_orchestration_incompatible_version_abandoned(&self) {
        self.incompatible_abandoned.add(1);
        counter!("duroxide_orchestration_incompatible_version_abandoned_total").increment(1);
    }

    /// The number of turns that this node released because of their version.
    pub fn get_incompatible_version_abandoned(&self) -> u64 {
        self.incompatible_abandoned.get()
    }

    /// Counts a turn that suspended its instance because code and history disagree.
    pub fn record_orchestration_suspended(&self) {
        counter!("duroxide_orchestration_suspended_total").increment(1);
    }

    /// Sets the gauge of suspended instances.
    pub fn update_suspended_instances(&self, suspended: u64) {
        self.suspended_instances.store(suspended, Ordering::Relaxed);
        gauge!("duroxide_suspended_instances").set(suspended as f64);
    }

    /// The last number of suspended instances.
    pub fn get_suspended_instances(&self) -> u64 {
        self.suspended_instances.load(Ordering::Relaxed)
    }

    /// Sets the gauge of waiting starts that no live node can run.
    pub fn update_stranded_starts(&self, stranded: u64) {
        self.stranded_starts.store(stranded, Ordering::Relaxed);
        gauge!("duroxide_stranded_starts").set(stranded as f64);
    }

    /// The last number of waiting starts that no live node can run.
    pub fn get_stranded_starts(&self) -> u64 {
        self.stranded_starts.load(Ordering::Relaxed)
    }

    /// Sets the gauge of work that no live node can run, of one kind and for one reason.
    pub fn update_stranded_work(&self, kind: &'static str, reason: &'static str, stranded: u64) {
        gauge!("duroxide_stranded_work", "kind" => kind, "reason" => reason).set(stranded as f64);
    }

    /// Counts a turn or an activity that this node fetched and released because it cannot run it.
    pub fn record_passed_over(&self, kind: &'static str, reason: &'static str) {
        counter!("duroxide_passed_over_total", "kind" => kind, "reason" => reason).increment(1);
    }

    /// Counts a turn or an activity that failed because no live node could run it.
    pub fn record_stranded_failed(&self, kind: &'static str) {
        counter!("duroxide_stranded_failed_total", "kind" => kind).increment(1);
    }

    /// Counts a call of a child orchestration that has its answer: `success` or `failed`.
    pub fn record_suborchestration_call(&self, parent: &str, child: &str, outcome: &str) {
        self.counts.suborchestration_calls.add(1);
        counter!(
            "duroxide_suborchestration_calls_total",
            "parent_orchestration" => parent.to_owned(),
            "child_orchestration" => child.to_owned(),
            "outcome" => outcome.to_owned(),
        )
        .increment(1);
    }

    /// Records how long a parent waited for a child: from the schedule to the answer.
    pub fn record_suborchestration_duration(
        &self,
        parent: &str,
        child: &str,
        duration_seconds: f64,
        outcome: &str,
    ) {
        histogram!(
            "duroxide_suborchestration_duration_seconds",
            "parent_orchestration" => parent.to_owned(),
            "child_orchestration" => child.to_owned(),
            "outcome" => outcome.to_owned(),
        )
        .record(duration_seconds);
    }
}

/// Activities.
impl MetricsProvider {
    /// Counts a finished activity: `success`, `app_error`, `infra_error`, `config_error` or
    /// `cancelled`.
    pub fn record_activity_execution(
        &self,
        activity_name: &str,
        outcome: &str,
        duration_seconds: f64,
        retry_attempt: u32,
        tag: Option<&str>,
    ) {
        let tag = tag.unwrap_or("default");
        counter!(
            "duroxide_activity_executions_total",
            "activity_name" => activity_name.to_owned(),
            "outcome" => outcome.to_owned(),
            "retry_attempt" => retry_attempt.to_string(),
            "tag" => tag.to_owned(),
        )
        .increment(1);
        histogram!(
            "duroxide_activity_duration_seconds",
            "activity_name" => activity_name.to_owned(),
            "outcome" => outcome.to_owned(),
            "tag" => tag.to_owned(),
        )
        .record(duration_seconds);
        match outcome {
            "success" => self.counts.activity_success.add(1),
            "app_error" => self.counts.activity_app_errors.add(1),
            "infra_error" => {
                self.counts.activity_infra_errors.add(1);
                counter!(
                    "duroxide_activity_infrastructure_errors_total",
                    "activity_name" => activity_name.to_owned(),
                )
                .increment(1);
            }
            "config_error" => {
                self.counts.activity_config_errors.add(1);
                counter!(
                    "duroxide_activity_configuration_errors_total",
                    "activity_name" => activity_name.to_owned(),
                )
                .increment(1);
            }
            // A cancelled activity is not an error.
            _has_no_count_of_its_own => {}
        }
    }

    /// Counts an activity without a known name that returned `Ok`.
    pub fn record_activity_success(&self) {
        self.counts.activity_success.add(1);
        record_nameless_activity("success");
    }

    /// Counts an activity without a known name that returned `Err`.
    pub fn record_activity_app_error(&self) {
        self.counts.activity_app_errors.add(1);
        record_nameless_activity("app_error");
    }

    /// Counts an activity without a known name whose result could not be stored.
    pub fn record_activity_infra_error(&self) {
        self.counts.activity_infra_errors.add(1);
        counter!("duroxide_activity_infrastructure_errors_total").increment(1);
        record_nameless_activity("infra_error");
    }

    /// Counts an activity without a known name that the deployment could not run.
    pub fn record_activity_config_error(&self) {
        self.counts.activity_config_errors.add(1);
        counter!("duroxide_activity_configuration_errors_total").increment(1);
        record_nameless_activity("config_error");
    }

    /// Counts an activity that was fetched too often.
    pub fn record_activity_poison(&self) {
        self.counts.activity_poison.add(1);
        counter!("duroxide_activity_poison_total").increment(1);
    }
}

/// The store and the dispatchers.
impl MetricsProvider {
    /// Records the duration of a storage operation, with the status `success` or `error`.
    pub fn record_provider_operation(&self, operation: &str, duration_seconds: f64, status: &str) {
        histogram!(
            "duroxide_provider_operation_duration_seconds",
            "operation" => operation.to_owned(),
            "status" => status.to_owned(),
        )
        .record(duration_seconds);
    }

    /// Counts a failed storage operation.
    pub fn record_provider_error(&self, operation: &str, error_type: &str) {
        self.counts.provider_errors.add(1);
        counter!(
            "duroxide_provider_errors_total",
            "operation" => operation.to_owned(),
            "error_type" => error_type.to_owned(),
        )
        .increment(1);
    }

    /// Counts fetched turns.
    pub fn record_orch_dispatcher_items_fetched(&self, count: u64) {
        self.counts.orch_dispatcher_items_fetched.add(count);
        counter!("duroxide_orchestration_dispatcher_items_fetched").increment(count);
    }

    /// Records the duration of a turn.
    pub fn record_orch_dispatcher_processing_duration(&self, duration_ms: u64) {
        histogram!("duroxide_orchestration_dispatcher_processing_duration_ms")
            .record(duration_ms as f64);
    }

    /// Counts fetched activities.
    pub fn record_worker_dispatcher_items_fetched(&self, count: u64) {
        self.counts.worker_dispatcher_items_fetched.add(count);
        counter!("duroxide_worker_dispatcher_items_fetched").increment(count);
    }

    /// Records the duration of an activity.
    pub fn record_worker_dispatcher_execution_duration(&self, duration_ms: u64) {
        histogram!("duroxide_worker_dispatcher_execution_duration_ms").record(duration_ms as f64);
    }
}

/// Gauges.
impl MetricsProvider {
    /// Sets the depths of the two queues: messages that are ready for an orchestration, and
    /// activities.
    pub fn update_queue_depths(&self, orchestrator: u64, worker: u64) {
        self.orchestrator_queue_depth.store(orchestrator, Ordering::Relaxed);
        self.worker_queue_depth.store(worker, Ordering::Relaxed);
        gauge!("duroxide_orchestrator_queue_depth").set(orchestrator as f64);
        gauge!("duroxide_worker_queue_depth").set(worker as f64);
    }

    /// The last depths of the orchestrator queue and the worker queue.
    pub fn get_queue_depths(&self) -> (u64, u64) {
        (
            self.orchestrator_queue_depth.load(Ordering::Relaxed),
            self.worker_queue_depth.load(Ordering::Relaxed),
        )
    }

    /// Sets the numbers of messages that are not ready: those that become visible later, such as
    /// timers, and those that wait for an instance that does not exist.
    pub fn update_waiting_messages(&self, delayed: u64, parked: u64) {
        self.delayed_messages.store(delayed, Ordering::Relaxed);
        self.parked_messages.store(parked, Ordering::Relaxed);
        gauge!("duroxide_orchestrator_queue_delayed").set(delayed as f64);
        gauge!("duroxide_orchestrator_queue_parked").set(parked as f64);
    }

    /// The last numbers of delayed and of parked messages.
    pub fn get_waiting_messages(&self) -> (u64, u64) {
        (
            self.delayed_messages.load(Ordering::Relaxed),
            self.parked_messages.load(Ordering::Relaxed),
        )
    }

    /// Adds one running instance.
    pub fn increment_active_orchestrations(&self) {
        self.active_orchestrations.fetch_add(1, Ordering::Relaxed);
        gauge!("duroxide_active_orchestrations").increment(1.0);
    }

    /// Subtracts one running instance.
    pub fn decrement_active_orchestrations(&self) {
        self.active_orchestrations.fetch_sub(1, Ordering::Relaxed);
        gauge!("duroxide_active_orchestrations").decrement(1.0);
    }

    /// Sets the number of running instances.
    pub fn set_active_orchestrations(&self, count: i64) {
        self.active_orchestrations.store(count, Ordering::Relaxed);
        gauge!("duroxide_active_orchestrations").set(count as f64);
    }

    /// The last known number of running instances.
    pub fn get_active_orchestrations(&self) -> i64 {
        self.active_orchestrations.load(Ordering::Relaxed)
    }

    /// Sets whether the store is in trouble: calls fail although their data is good.
    pub fn set_store_in_trouble(&self, is_in_trouble: bool) {
        self.store_in_trouble.store(is_in_trouble, Ordering::Relaxed);
        gauge!("duroxide_store_in_trouble").set(f64::from(u8::from(is_in_trouble)));
    }

    /// Whether the store is in trouble.
    pub fn is_store_in_trouble(&self) -> bool {
        self.store_in_trouble.load(Ordering::Relaxed)
    }
}

fn record_nameless_activity(outcome: &'static str) {
    counter!("duroxide_activity_executions_total", "outcome" => outcome).increment(1);
}

/// Maps a number of turns to one of few labels, because each label is a time series of its own.
fn turn_bucket(turns: u64) -> &'static str {
    match turns {
        0..=5 => "1-5",
        6..=10 => "6-10",
        11..=50 => "11-50",
        51.. => "50+",
    }
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
