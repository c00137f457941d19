//! `OrchestrationContext` and `DurableFuture`, called the way programs call them.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use duroxide::{
    ActivityOptions, DurableFuture, Either2, Either3, Elapsed, OrchestrationContext, RetryPolicy,
    Saga, SystemStats, UndoFailure,
};
use serde::{Deserialize, Serialize};

use crate::{is, is_send};

type Outcome = Result<String, String>;

#[derive(Serialize, Deserialize)]
struct Order {
    number: u64,
}

fn identity(ctx: &OrchestrationContext) {
    is::<bool>(ctx.is_replaying());
    is::<String>(ctx.instance_id());
    is::<u64>(ctx.execution_id());
    is::<String>(ctx.orchestration_name());
    is::<String>(ctx.orchestration_version());
    is::<bool>(ctx.is_logging_enabled());
    ctx.trace("INFO", String::from("message"));
    ctx.trace_info("message");
    ctx.trace_warn(String::from("message"));
    ctx.trace_error("message");
    ctx.trace_debug("message");
}

fn activities(ctx: &OrchestrationContext, order: &Order) {
    is::<DurableFuture<Outcome>>(ctx.schedule_activity("A", String::from("in")));
    is::<DurableFuture<Outcome>>(ctx.schedule_activity(String::from("A"), "in").with_tag("gpu"));
    is::<DurableFuture<Result<u64, String>>>(
        ctx.schedule_activity_typed::<Order, u64>("A", order).with_tag(String::from("gpu")),
    );
    is::<DurableFuture<Outcome>>(ctx.schedule_activity_on_session("A", "in", "session"));
    is::<DurableFuture<Result<u64, String>>>(
        ctx.schedule_activity_on_session_typed::<Order, u64>("A", order, "session"),
    );
    let limit = Duration::from_secs(30);
    is::<DurableFuture<Outcome>>(
        ctx.schedule_activity("A", "in").with_tag("gpu").with_schedule_to_start_limit(limit),
    );
    let options = || {
        let options = ActivityOptions::new().with_tag("gpu").with_session("session");
        options.with_schedule_to_start_limit(limit)
    };
    is::<DurableFuture<Outcome>>(ctx.schedule_activity_with_options("A", "in", options()));
    is::<DurableFuture<Result<u64, String>>>(
        ctx.schedule_activity_with_options_typed::<Order, u64>("A", order, options()),
    );
    is::<DurableFuture<usize>>(
        ctx.schedule_activity("A", "in").map(|outcome: Outcome| outcome.map_or(0, |t| t.len())),
    );
}

async fn retries(ctx: &OrchestrationContext, order: &Order) {
    let policy = || RetryPolicy::new(3);
    is::<Outcome>(ctx.schedule_activity_with_retry("A", "in", policy()).await);
    is::<Result<u64, String>>(
        ctx.schedule_activity_with_retry_typed::<Order, u64>("A", order, policy()).await,
    );
    let options = ActivityOptions::new;
    is::<Outcome>(
        ctx.schedule_activity_with_retry_and_options("A", "in", policy(), options()).await,
    );
    is::<Result<u64, String>>(
        ctx.schedule_activity_with_retry_and_options_typed::<Order, u64>(
            "A",
            order,
            policy(),
            options(),
        )
        .await,
    );
    is::<Outcome>(ctx.schedule_activity_with_retry_on_session("A", "in", policy(), "s").await);
    is::<Result<u64, String>>(
        ctx.schedule_activity_with_retry_on_session_typed::<Order, u64>("A", order, policy(), "s")
            .await,
    );
}

async fn timers_and_events(ctx: &OrchestrationContext) {
    is::<DurableFuture<()>>(ctx.schedule_timer(Duration::from_secs(1)));
    is::<DurableFuture<String>>(ctx.schedule_wait("event"));
    is::<DurableFuture<Order>>(ctx.schedule_wait_typed::<Order>("event"));
    is::<DurableFuture<String>>(ctx.dequeue_event("queue"));
    is::<Order>(ctx.dequeue_event_typed::<Order>(String::from("queue")).await);
}

#[expect(deprecated, reason = "the old spellings stay until 1.0")]
async fn old_spellings(ctx: &OrchestrationContext) {
    is::<DurableFuture<String>>(ctx.schedule_wait_persistent("queue"));
    is::<Order>(ctx.schedule_wait_persistent_typed::<Order>("queue").await);
}

fn children(ctx: &OrchestrationContext, order: &Order) {
    let version = || Some(String::from("1.0.0"));
    is::<DurableFuture<Outcome>>(ctx.schedule_sub_orchestration("O", "in"));
    is::<DurableFuture<Outcome>>(ctx.schedule_sub_orchestration_with_id("O", "id", "in"));
    is::<DurableFuture<Outcome>>(ctx.schedule_sub_orchestration_versioned("O", version(), "in"));
    is::<DurableFuture<Outcome>>(ctx.schedule_sub_orchestration_versioned_with_id(
        "O",
        version(),
        "id",
        "in",
    ));
    is::<DurableFuture<Result<u64, String>>>(
        ctx.schedule_sub_orchestration_typed::<Order, u64>("O", order),
    );
    is::<DurableFuture<Result<u64, String>>>(
        ctx.schedule_sub_orchestration_with_id_typed::<Order, u64>("O", "id", order),
    );
    let () = ctx.schedule_orchestration("O", "id", "in");
    let () = ctx.schedule_orchestration_typed::<Order>("O", "id", order);
    let () = ctx.schedule_orchestration_versioned("O", version(), "id", "in");
    let () = ctx.schedule_orchestration_versioned_typed::<Order>("O", version(), "id", order);
}

async fn compositions(ctx: &OrchestrationContext) {
    let activity = || ctx.schedule_activity("A", "in");
    let timer = || ctx.schedule_timer(Duration::ZERO);
    is::<Vec<Outcome>>(ctx.join(vec![activity(), activity()]).await);
    is::<(Outcome, ())>(ctx.join2(activity(), timer()).await);
    is::<(Outcome, (), String)>(ctx.join3(activity(), timer(), ctx.schedule_wait("e")).await);
    is::<Either2<Outcome, ()>>(ctx.select2(activity(), timer()).await);
    is::<Either3<Outcome, (), String>>(
        ctx.select3(activity(), timer(), ctx.dequeue_event("q")).await,
    );
    let mut kept = activity();
    is::<Either2<Outcome, ()>>(ctx.select2(&mut kept, timer()).await);
    is::<Outcome>(kept.await);
    let blocks = vec![async { activity().await.map(|text| text.len()) }];
    is::<Vec<Result<usize, String>>>(ctx.join(blocks).await);
}

async fn combinators(ctx: &OrchestrationContext) -> Outcome {
    let activity = || ctx.schedule_activity("A", "in");
    let joined = duroxide::join!(activity(), async { activity().await.is_ok() });
    is::<(Outcome, bool)>(joined);
    let selected = duroxide::select! {
        text = activity() => text?,
        () = ctx.schedule_timer(Duration::ZERO) => { String::new() }
    };
    is::<String>(selected);
    let limit = Duration::from_secs(1);
    is::<Result<Outcome, Elapsed>>(ctx.timeout(limit, activity()).await);
    ctx.timeout(limit, activity()).await??;
    let start = |item: u64| ctx.schedule_activity("A", item.to_string());
    is::<Vec<Outcome>>(ctx.map_concurrent([1_u64, 2], 20, start).await);
    let mut saga: Saga = ctx.saga();
    let undo = ctx.clone();
    saga.on_error("step", move || async move { undo.schedule_activity("Undo", "in").await });
    is::<Vec<UndoFailure>>(ctx.saga().undo_all().await);
    saga.finish(activity().await).await
}

async fn continuations(ctx: &OrchestrationContext, order: &Order) -> Outcome {
    is::<Outcome>(ctx.continue_as_new("in").await);
    is::<Outcome>(ctx.continue_as_new_typed::<Order>(order).await);
    ctx.continue_as_new_versioned("2.0.0", String::from("in")).await
}

async fn system_calls(ctx: &OrchestrationContext) {
    is::<Outcome>(ctx.new_guid().await);
    is::<Result<SystemTime, String>>(ctx.utc_now().await);
}

fn custom_status(ctx: &OrchestrationContext) {
    let () = ctx.set_custom_status("status");
    let () = ctx.reset_custom_status();
    is::<Option<String>>(ctx.get_custom_status());
}

async fn key_values(ctx: &OrchestrationContext, order: &Order) {
    let () = ctx.set_kv_value("key", String::from("value"));
    let () = ctx.set_kv_value_typed::<Order>("key", order);
    is::<Option<String>>(ctx.get_kv_value("key"));
    is::<Result<Option<Order>, String>>(ctx.get_kv_value_typed::<Order>("key"));
    is::<HashMap<String, String>>(ctx.get_kv_all_values());
    is::<Vec<String>>(ctx.get_kv_all_keys());
    is::<usize>(ctx.get_kv_length());
    let () = ctx.clear_kv_value("key");
    let () = ctx.clear_all_kv_values();
    is::<usize>(ctx.prune_kv_values_updated_before(0_u64));
    is::<DurableFuture<Result<Option<String>, String>>>(
        ctx.get_kv_value_from_instance("id", "key"),
    );
    is::<DurableFuture<Result<Option<Order>, String>>>(
        ctx.get_kv_value_from_instance_typed::<Order>("id", "key"),
    );
    is::<Option<SystemStats>>(ctx.get_system_stats());
}

async fn everything(ctx: OrchestrationContext, order: Order) -> Outcome {
    identity(&ctx);
    activities(&ctx, &order);
    is_send(retries(&ctx, &order)).await;
    is_send(timers_and_events(&ctx)).await;
    is_send(old_spellings(&ctx)).await;
    children(&ctx, &order);
    is_send(compositions(&ctx)).await;
    is::<Outcome>(is_send(combinators(&ctx)).await);
    is_send(system_calls(&ctx)).await;
    custom_status(&ctx);
    is_send(key_values(&ctx, &order)).await;
    is::<u64>(order.number);
    is_send(continuations(&ctx, &order)).await
}

#[test]
fn signatures_compile() {
    is::<fn(OrchestrationContext, Order) -> _>(|ctx, order| is_send(everything(ctx, order)));
}
