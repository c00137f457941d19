//! What a node counts (23, decisions 14 and 24).

use std::time::Duration;

use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::observability::MetricsSnapshot;
use duroxide::{ActivityContext, OrchestrationContext};

use crate::support::{
    Mode, Node, activities, in_every_mode, memory, orchestrations, short_backoff,
};

/// Two executions, a child, an activity that works and one that fails.
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

async fn each_thing_is_counted_once(mode: Mode) {
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
    node.begin("fail", "Fail", "").await;
    node.failure("fail").await;
    node.begin("poison", "Missing", "").await;
    node.failure("poison").await;
    node.begin("waits", "Wait", "").await;
    node.until_kind("waits", "ExternalSubscribed").await;
    node.begin("cancelled", "Wait", "").await;
    node.until_kind("cancelled", "ExternalSubscribed").await;
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
    each_thing_is_counted_once,
}

/// The gauge is read from the store when a node starts, and kept up to date from there.
#[tokio::test]
async fn gauges_start_from_what_the_store_holds() {
    let store = memory().await;
    let mode = crate::support::USUAL;
    let registry = || orchestrations().register("Wait", waits).register("Call", calls);
    async fn calls(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        ctx.schedule_activity("Good", "").with_tag("nobody").await
    }
    let node = Node::on(&store, mode.options(), registry(), activities()).await;
    node.begin("waits", "Wait", "").await;
    node.until_kind("waits", "ExternalSubscribed").await;
    node.begin("calls", "Call", "").await;
    node.until_kind("calls", "ActivityScheduled").await;
    node.stop().await;
    let node = Node::on(&store, mode.options(), registry(), activities()).await;
    let metrics = node.runtime.observability_handle().unwrap().metrics_provider().clone();
    crate::support::until(|| {
        metrics.get_active_orchestrations() == 2 && metrics.get_queue_depths() == (0, 1)
    })
    .await;
    node.client.raise_event("waits", "Go", "").await.unwrap();
    node.output("waits").await;
    crate::support::until(|| metrics.get_active_orchestrations() == 1).await;
    node.stop().await;
}
