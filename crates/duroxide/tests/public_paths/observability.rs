//! Metrics and logging.

use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::Provider;
use duroxide::providers::instrumented::InstrumentedProvider;
use duroxide::runtime::observability::{
    LogFormat, MetricsProvider, MetricsSnapshot, ObservabilityConfig, ObservabilityHandle,
};

use crate::is;

fn config() -> ObservabilityConfig {
    is::<duroxide::runtime::LogFormat>(LogFormat::Json);
    is::<duroxide::runtime::ObservabilityConfig>(ObservabilityConfig::default());
    match LogFormat::default() {
        LogFormat::Json | LogFormat::Pretty | LogFormat::Compact => {}
    }
    let config = ObservabilityConfig {
        log_format: LogFormat::Json,
        log_level: String::from("info"),
        service_name: String::from("service"),
        service_version: Some(String::from("1.0.0")),
        gauge_poll_interval: Duration::from_secs(60),
    };
    #[cfg(feature = "logging")]
    is::<fn(&ObservabilityConfig) -> Result<(), String>>(
        duroxide::runtime::observability::init_logging,
    );
    config
}

fn snapshot(snapshot: &MetricsSnapshot) {
    is::<[u64; 7]>([
        snapshot.orch_starts,
        snapshot.orch_completions,
        snapshot.orch_failures,
        snapshot.orch_application_errors,
        snapshot.orch_infrastructure_errors,
        snapshot.orch_configuration_errors,
        snapshot.orch_poison,
    ]);
    is::<[u64; 5]>([
        snapshot.activity_success,
        snapshot.activity_app_errors,
        snapshot.activity_infra_errors,
        snapshot.activity_config_errors,
        snapshot.activity_poison,
    ]);
    is::<[u64; 5]>([
        snapshot.orch_dispatcher_items_fetched,
        snapshot.worker_dispatcher_items_fetched,
        snapshot.orch_continue_as_new,
        snapshot.suborchestration_calls,
        snapshot.provider_errors,
    ]);
}

fn recording(metrics: &MetricsProvider) {
    metrics.record_orchestration_start("O", "1.0.0", "client");
    metrics.record_orchestration_completion("O", "1.0.0", "success", 0.5_f64, 1_u64, 2_u64);
    metrics.record_orchestration_failure("O", "1.0.0", "app_error", "category");
    metrics.record_orchestration_application_error();
    metrics.record_orchestration_infrastructure_error();
    metrics.record_orchestration_configuration_error();
    metrics.record_continue_as_new("O", 2_u64);
    metrics.record_activity_execution("A", "success", 0.5_f64, 0_u32, Some("tag"));
    metrics.record_activity_success();
    metrics.record_activity_app_error();
    metrics.record_activity_infra_error();
    metrics.record_activity_config_error();
    metrics.record_orchestration_poison();
    metrics.record_activity_poison();
    metrics.record_suborchestration_call("parent", "child", "success");
    metrics.record_suborchestration_duration("parent", "child", 0.5_f64, "success");
    metrics.record_provider_operation("read", 0.5_f64, "success");
    metrics.record_provider_error("read", "timeout");
    metrics.record_orch_dispatcher_items_fetched(1_u64);
    metrics.record_orch_dispatcher_processing_duration(1_u64);
    metrics.record_worker_dispatcher_items_fetched(1_u64);
    metrics.record_worker_dispatcher_execution_duration(1_u64);
    metrics.update_queue_depths(1_u64, 2_u64);
    is::<(u64, u64)>(metrics.get_queue_depths());
    metrics.increment_active_orchestrations();
    metrics.decrement_active_orchestrations();
    metrics.set_active_orchestrations(1_i64);
    is::<i64>(metrics.get_active_orchestrations());
    is::<MetricsSnapshot>(metrics.snapshot());
}

async fn handles(config: ObservabilityConfig) -> Result<(), String> {
    let metrics: MetricsProvider = MetricsProvider::new(&config)?;
    recording(&metrics);
    is::<Result<(), String>>(metrics.shutdown().await);
    let handle: ObservabilityHandle = ObservabilityHandle::init(&config)?;
    is::<&Arc<MetricsProvider>>(handle.metrics_provider());
    snapshot(&handle.metrics_snapshot());
    handle.shutdown().await
}

fn instrumented(inner: Arc<dyn Provider>, metrics: Option<Arc<MetricsProvider>>) {
    is::<Arc<dyn Provider>>(Arc::new(InstrumentedProvider::new(inner, metrics)));
}

#[test]
fn signatures_compile() {
    is::<ObservabilityConfig>(config());
    is::<fn(ObservabilityConfig) -> _>(handles);
    is::<fn(Arc<dyn Provider>, Option<Arc<MetricsProvider>>)>(instrumented);
}
