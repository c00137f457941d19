//! Metrics of a node.

use std::time::Duration;

use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::observability::MetricsSnapshot;
use duroxide::{ActivityContext, OrchestrationContext};

use crate::support::{
    Mode, Node, activities, in_every_mode, memory, orchestrations, short_backoff,
};

/// Two executions, a child, an activity that succeeds and one that fails.
async fn busy(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    if ctx.execution_id() == 1 {
        return ctx.continue_as_new("").await;
    }
    ctx.schedule_activity("Good", "").await?;
    assert!(ctx.schedule_activity("Bad", "").await.is_err());
    ctx.schedule_timer(Duration::ZERO).await;
    ctx.schedule_sub_orchestration("Child", "").await
}

async fn child(_: OrchestrationContext, _: String) -> Result<String, String> {
    Ok("child".to_owned())
}

async fn fails(_: OrchestrationContext, _: String) -> Result<String, String> {
    Err("sorry".to_owned())
}

async fn waits(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    Ok(ctx.schedule_wait("Go").await)
}

async fn good(_: ActivityContext, _: String) -> Result<String, String> {
    Ok(String::new())
}

async fn bad(_: ActivityContext, _: String) -> Result<String, String> {
    Err("bad".to_owned())
}

async fn every_operation_is_counted_once(mode: Mode) {
    let registry = orchestrations()
        .register("Busy", busy)
        .register("Child", child)
        .register("Fail", fails)
        .register("Wait", waits);
    let activities = activities().register("Good", good).register("Bad", bad);
    let options =
        RuntimeOptions { max_attempts: 1, unregistered_backoff: short_backoff(), ..mode.options() };
    let node = Node::on(&memory().await, options, registry, activities).await;
    node.run("busy", "Busy", "").await;
    node.start_instance("fail", "Fail", "").await;
    node.failure("fail").await;
    node.start_instance("poison", "Missing", "").await;
    node.failure("poison").await;
    node.start_instance("waits", "Wait", "").await;
    node.wait_for_event("waits", "ExternalSubscribed").await;
    node.start_instance("cancelled", "Wait", "").await;
    node.wait_for_event("cancelled", "ExternalSubscribed").await;
    node.client.cancel_instance("cancelled", "enough").await.unwrap();
    node.failure("cancelled").await;

    let runtime = node.runtime.clone();
    let counts = node.stop_and_count().await;
    let expected = MetricsSnapshot {
        // Two of "busy", its child, and one each of "fail", "poison", "waits" and "cancelled".
        orch_starts: 7,
        // All of them but "waits".
        orch_completions: 6,
        orch_failures: 3,
        orch_application_errors: 2,
        orch_poison: 1,
        orch_continue_as_new: 1,
        suborchestration_calls: 1,
        activity_success: 1,
        activity_app_errors: 1,
        worker_dispatcher_items_fetched: 2,
        orch_dispatcher_items_fetched: counts.orch_dispatcher_items_fetched,
        ..MetricsSnapshot::default()
    };
    assert_eq!(counts, expected);
    let metrics = runtime.observability_handle().unwrap().metrics_provider();
    assert_eq!(metrics.get_active_orchestrations(), 1, "only \"waits\" is left");
}

in_every_mode! {
    every_operation_is_counted_once,
}

/// A node reads its gauges from the store when it starts, and updates them from then on.
#[tokio::test]
async fn gauges_start_from_the_state_of_the_store() {
    let store = memory().await;
    let mode = crate::support::DEFAULT_MODE;
    let registry = || orchestrations().register("Wait", waits).register("Call", calls);
    async fn calls(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        ctx.schedule_activity("Good", "").with_tag("unserved").await
    }
    let node = Node::on(&store, mode.options(), registry(), activities()).await;
    node.start_instance("waits", "Wait", "").await;
    node.wait_for_event("waits", "ExternalSubscribed").await;
    node.start_instance("calls", "Call", "").await;
    node.wait_for_event("calls", "ActivityScheduled").await;
    node.stop().await;
    let node = Node::on(&store, mode.options(), registry(), activities()).await;
    let metrics = node.runtime.observability_handle().unwrap().metrics_provider().clone();
    crate::support::eventually(|| {
        metrics.get_active_orchestrations() == 2 && metrics.get_queue_depths() == (0, 1)
    })
    .await;
    node.client.raise_event("waits", "Go", "").await.unwrap();
    node.output("waits").await;
    crate::support::eventually(|| metrics.get_active_orchestrations() == 1).await;
    node.stop().await;
}
