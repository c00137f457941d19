//! Names, labels and numbers of the metrics.

use super::*;
use crate::observability::seen::Seen;

fn recorded(record: impl FnOnce(&MetricsProvider)) -> (Seen, MetricsSnapshot) {
    let provider = MetricsProvider::new(&ObservabilityConfig::default()).unwrap();
    let seen = Seen::default();
    metrics::with_local_recorder(&seen, || record(&provider));
    (seen, provider.snapshot())
}

/// The alert about poison looks for an increase, which a counter that first appears does not show.
#[test]
fn counters_with_an_alert_appear_with_zero() {
    let seen = Seen::default();
    metrics::with_local_recorder(&seen, || {
        MetricsProvider::new(&ObservabilityConfig::default()).unwrap()
    });
    for name in ["duroxide_orchestration_poison_total{}", "duroxide_activity_poison_total{}"] {
        assert!(seen.value(name).abs() < f64::EPSILON, "{name}");
    }
}

#[test]
fn an_execution_is_counted_once_with_its_labels() {
    let (seen, snapshot) = recorded(|metrics| {
        metrics.record_orchestration_start("Pay", "1.2.0", "client");
        metrics.record_orchestration_completion("Pay", "1.2.0", "success", 2.5, 7, 19);
    });
    let of_pay = "orchestration_name=Pay,version=1.2.0";
    for (name, value) in [
        (format!("duroxide_orchestration_starts_total{{{of_pay},initiated_by=client}}"), 1.0),
        (
            format!(
                "duroxide_orchestration_completions_total\
                 {{{of_pay},status=success,final_turn_count=6-10}}"
            ),
            1.0,
        ),
        (format!("duroxide_orchestration_duration_seconds{{{of_pay},status=success}}"), 2.5),
        ("duroxide_orchestration_turns{orchestration_name=Pay}".to_owned(), 7.0),
        ("duroxide_orchestration_history_size{orchestration_name=Pay}".to_owned(), 19.0),
    ] {
        assert_eq!(seen.value(&name), value, "{name}");
    }
    assert_eq!(
        snapshot,
        MetricsSnapshot { orch_starts: 1, orch_completions: 1, ..MetricsSnapshot::default() }
    );
}

#[test]
fn a_failure_is_counted_once_as_a_failure_and_once_by_its_kind() {
    let (seen, snapshot) = recorded(|metrics| {
        metrics.record_orchestration_failure("Pay", "1.0.0", "app_error", "application");
        metrics.record_orchestration_failure("Pay", "1.0.0", "config_error", "nondeterminism");
        metrics.record_orchestration_failure("Pay", "1.0.0", "infrastructure_error", "ack");
        metrics.record_orchestration_failure("Pay", "1.0.0", "unknown", "poison");
        metrics.record_orchestration_infrastructure_error();
    });
    assert_eq!(
        snapshot,
        MetricsSnapshot {
            orch_failures: 5,
            orch_application_errors: 1,
            orch_configuration_errors: 1,
            orch_infrastructure_errors: 2,
            ..MetricsSnapshot::default()
        }
    );
    for name in [
        "duroxide_orchestration_failures_total\
         {orchestration_name=Pay,version=1.0.0,error_type=app_error,error_category=application}",
        "duroxide_orchestration_configuration_errors_total\
         {orchestration_name=Pay,error_category=nondeterminism}",
        "duroxide_orchestration_infrastructure_errors_total\
         {orchestration_name=Pay,error_category=ack}",
        "duroxide_orchestration_infrastructure_errors_total{}",
        "duroxide_orchestration_failures_total{error_type=infrastructure_error}",
    ] {
        assert_eq!(seen.value(name), 1.0, "{name}");
    }
}

#[test]
fn an_activity_is_counted_once_by_its_outcome() {
    let (seen, snapshot) = recorded(|metrics| {
        metrics.record_activity_execution("Mail", "success", 0.5, 0, None);
        metrics.record_activity_execution("Mail", "app_error", 0.5, 2, Some("gpu"));
        metrics.record_activity_execution("Mail", "cancelled", 0.5, 0, None);
        metrics.record_activity_execution("Mail", "infra_error", 0.5, 0, None);
    });
    assert_eq!(
        snapshot,
        MetricsSnapshot {
            activity_success: 1,
            activity_app_errors: 1,
            activity_infra_errors: 1,
            ..MetricsSnapshot::default()
        }
    );
    for (name, value) in [
        (
            "duroxide_activity_executions_total\
             {activity_name=Mail,outcome=success,retry_attempt=0,tag=default}",
            1.0,
        ),
        (
            "duroxide_activity_executions_total\
             {activity_name=Mail,outcome=app_error,retry_attempt=2,tag=gpu}",
            1.0,
        ),
        (
            "duroxide_activity_duration_seconds{activity_name=Mail,outcome=cancelled,tag=default}",
            0.5,
        ),
        ("duroxide_activity_infrastructure_errors_total{activity_name=Mail}", 1.0),
    ] {
        assert_eq!(seen.value(name), value, "{name}");
    }
}

#[test]
fn every_other_metric_has_its_promised_name() {
    let (seen, _snapshot) = recorded(|metrics| {
        metrics.record_continue_as_new("Loop", 3);
        metrics.record_orchestration_poison();
        metrics.record_orchestration_incompatible_version_abandoned();
        metrics.record_activity_poison();
        metrics.record_activity_config_error();
        metrics.record_suborchestration_call("A", "B", "success");
        metrics.record_suborchestration_duration("A", "B", 1.0, "success");
        metrics.record_provider_operation("read", 1.0, "error");
        metrics.record_provider_error("read", "timeout");
        metrics.record_orch_dispatcher_items_fetched(1);
        metrics.record_orch_dispatcher_processing_duration(1);
        metrics.record_worker_dispatcher_items_fetched(1);
        metrics.record_worker_dispatcher_execution_duration(1);
        metrics.update_queue_depths(1, 1);
        metrics.update_waiting_messages(1, 1);
        metrics.record_orchestration_suspended();
        metrics.update_suspended_instances(1);
        metrics.update_stranded_starts(1);
        metrics.record_stranded_failed("turn");
        metrics.record_passed_over("turn", "handler");
        metrics.update_stranded_work("turn", "handler", 1);
        metrics.increment_active_orchestrations();
    });
    for name in [
        "duroxide_orchestration_continue_as_new_total{orchestration_name=Loop,execution_id=3}",
        "duroxide_orchestration_poison_total{}",
        "duroxide_orchestration_incompatible_version_abandoned_total{}",
        "duroxide_orchestration_suspended_total{}",
        "duroxide_suspended_instances{}",
        "duroxide_stranded_starts{}",
        "duroxide_stranded_failed_total{kind=turn}",
        "duroxide_passed_over_total{kind=turn,reason=handler}",
        "duroxide_stranded_work{kind=turn,reason=handler}",
        "duroxide_activity_poison_total{}",
        "duroxide_activity_configuration_errors_total{}",
        "duroxide_activity_executions_total{outcome=config_error}",
        "duroxide_suborchestration_calls_total\
         {parent_orchestration=A,child_orchestration=B,outcome=success}",
        "duroxide_suborchestration_duration_seconds\
         {parent_orchestration=A,child_orchestration=B,outcome=success}",
        "duroxide_provider_operation_duration_seconds{operation=read,status=error}",
        "duroxide_provider_errors_total{operation=read,error_type=timeout}",
        "duroxide_orchestration_dispatcher_items_fetched{}",
        "duroxide_orchestration_dispatcher_processing_duration_ms{}",
        "duroxide_worker_dispatcher_items_fetched{}",
        "duroxide_worker_dispatcher_execution_duration_ms{}",
        "duroxide_orchestrator_queue_depth{}",
        "duroxide_orchestrator_queue_delayed{}",
        "duroxide_orchestrator_queue_parked{}",
        "duroxide_worker_queue_depth{}",
        "duroxide_active_orchestrations{}",
    ] {
        assert_eq!(seen.value(name), 1.0, "{name}");
    }
}

#[test]
fn a_gauge_returns_its_last_value() {
    let metrics = MetricsProvider::default();
    metrics.update_queue_depths(4, 9);
    assert_eq!(metrics.get_queue_depths(), (4, 9));
    metrics.update_waiting_messages(2, 3);
    assert_eq!(metrics.get_waiting_messages(), (2, 3));
    metrics.set_active_orchestrations(5);
    metrics.increment_active_orchestrations();
    metrics.decrement_active_orchestrations();
    metrics.decrement_active_orchestrations();
    assert_eq!(metrics.get_active_orchestrations(), 4);
    metrics.record_orchestration_incompatible_version_abandoned();
    assert_eq!(metrics.get_incompatible_version_abandoned(), 1);
}

#[test]
fn turn_counts_fall_into_four_buckets() {
    let buckets = [0, 1, 5, 6, 10, 11, 50, 51, u64::MAX].map(turn_bucket);
    assert_eq!(buckets, ["1-5", "1-5", "1-5", "6-10", "6-10", "11-50", "11-50", "50+", "50+"]);
}
