//! Retries of failed instances.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use duroxide::client::MendPoint;
use duroxide::runtime::check::Checker;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{Runtime, RuntimeOptions, UnregisteredBackoffConfig, UnregisteredWork};
use duroxide::{
    ActivityContext, BackoffStrategy, Client, OrchestrationContext, OrchestrationStatus,
    RetryPolicy,
};

use crate::support::{
    Node, Store, TIMEOUT, Workshop, count, event_of, is_conflict, options, orchestrations, within,
};

async fn three_steps(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let first = ctx.schedule_activity("work", format!("{input}-1")).await?;
    let second = ctx.schedule_activity("work", format!("{input}-2")).await?;
    let third = ctx.schedule_activity("work", format!("{input}-3")).await?;
    Ok(format!("{first} {second} {third}"))
}

on_every_store!(
    a_failed_activity_runs_again_and_nothing_else,
    the_last_attempt_of_a_policy_runs_again,
    joined_failures_are_undone_together,
    a_caught_failure_before_the_end_is_found,
    a_panic_runs_its_turn_again,
    a_poisoned_activity_runs_again,
    a_poisoned_turn_is_taken_again,
    a_poisoned_start_needs_a_version,
    a_cancelled_instance_goes_on,
    an_instance_that_was_asked_to_end_goes_on,
    a_terminated_instance_goes_on,
    an_instance_is_retried_again_and_again,
    another_version_takes_over,
);

async fn a_failed_activity_runs_again_and_nothing_else(store: Store) {
    let shop = Workshop::default();
    shop.break_input("a-2", "no stock");
    let code = || orchestrations().register("Steps", three_steps);
    let node = Node::start(&store, &shop, code()).await;
    node.start_instance("i", "Steps", "a").await;
    assert_eq!(node.failure("i").await, "no stock");
    shop.repair();
    let plan = node.retry("i").await;
    assert_eq!((plan.execution_id, plan.new_execution_id), (1, 2));
    let names: Vec<_> = plan.run_again.iter().map(|it| (it.event_id, it.name.as_str())).collect();
    assert_eq!(names, [(4, "work")]);
    assert_eq!(plan.run_again[0].failure.as_deref(), Some("no stock"));
    assert_eq!(plan.kept, 4);
    let dropped: Vec<_> = plan.dropped.iter().map(|it| it.kind.as_str()).collect();
    assert_eq!(dropped, ["ActivityFailed", "OrchestrationFailed"]);
    let checked = Checker::new(code().build()).check_plan(&plan);
    assert!(checked.verdict.is_fine(), "{checked}");
    assert_eq!(node.output("i").await, "a-1! a-2! a-3!");
    assert_eq!([shop.runs("a-1"), shop.runs("a-2"), shop.runs("a-3")], [1, 2, 1]);
    let first = node.client.get_execution_info("i", 1).await.unwrap();
    assert_eq!((first.status.as_str(), first.output.as_deref()), ("Failed", Some("no stock")));
    let old = node.client.read_execution_history("i", 1).await.unwrap();
    let new = node.client.read_execution_history("i", 2).await.unwrap();
    for (old, new) in old.iter().zip(&new).take(4) {
        assert_eq!((old.event_id, old.timestamp_ms), (new.event_id, new.timestamp_ms));
        assert_eq!(old.kind, new.kind);
    }
    node.stop().await;
}

async fn the_last_attempt_of_a_policy_runs_again(store: Store) {
    let shop = Workshop::default();
    shop.break_input("x", "busy");
    let code =
        orchestrations().register("Policy", |ctx: OrchestrationContext, _: String| async move {
            let backoff = BackoffStrategy::Fixed { delay: Duration::from_millis(1) };
            let policy = RetryPolicy::new(3).with_backoff(backoff);
            ctx.schedule_activity_with_retry("work", "x", policy).await
        });
    let node = Node::start(&store, &shop, code).await;
    node.start_instance("i", "Policy", "").await;
    assert_eq!(node.failure("i").await, "busy");
    assert_eq!(shop.runs("x"), 3);
    shop.repair();
    let plan = node.retry("i").await;
    assert_eq!(plan.run_again.len(), 1);
    assert_eq!(node.output("i").await, "x!");
    assert_eq!(shop.runs("x"), 4);
    let history = node.history("i").await;
    assert_eq!(count(&history, "ActivityFailed"), 2, "the attempts before are kept");
    node.stop().await;
}

/// Two branches fail; the code sees both results at once. Only undoing both helps.
async fn joined_failures_are_undone_together(store: Store) {
    let shop = Workshop::default();
    shop.break_input("left", "the same trouble");
    shop.break_input("right", "the same trouble");
    let code =
        orchestrations().register("Both", |ctx: OrchestrationContext, _: String| async move {
            let names = ["left", "middle", "right"];
            let calls = names.map(|name| ctx.schedule_activity("work", name)).into();
            let results = ctx.join(calls).await;
            results.into_iter().collect::<Result<Vec<_>, _>>().map(|all| all.join(" "))
        });
    let node = Node::start(&store, &shop, code).await;
    node.start_instance("i", "Both", "").await;
    assert_eq!(node.failure("i").await, "the same trouble");
    shop.repair();
    node.retry("i").await;
    assert_eq!(node.output("i").await, "left! middle! right!");
    assert_eq!([shop.runs("left"), shop.runs("middle"), shop.runs("right")], [2, 1, 2]);
    node.stop().await;
}

/// The code compensates before it fails: the failure is not in its last turn.
async fn a_caught_failure_before_the_end_is_found(store: Store) {
    let shop = Workshop::default();
    shop.break_input("charge", "card refused");
    let code =
        orchestrations().register("Saga", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("work", "reserve").await?;
            if let Err(error) = ctx.schedule_activity("work", "charge").await {
                ctx.schedule_activity("work", "undo").await?;
                return Err(format!("order failed: {error}"));
            }
            Ok("ordered".to_owned())
        });
    let node = Node::start(&store, &shop, code).await;
    node.start_instance("i", "Saga", "").await;
    assert_eq!(node.failure("i").await, "order failed: card refused");
    shop.repair();
    let plan = node.retry("i").await;
    assert!(plan.warnings.iter().any(|it| it.starts_with("1 activities")), "{plan}");
    assert_eq!(node.output("i").await, "ordered");
    assert_eq!([shop.runs("reserve"), shop.runs("charge"), shop.runs("undo")], [1, 2, 1]);
    node.stop().await;
}

async fn a_panic_runs_its_turn_again(store: Store) {
    let shop = Workshop::default();
    let is_fixed = Arc::new(AtomicBool::new(false));
    let code = orchestrations().register("Panics", {
        let is_fixed = Arc::clone(&is_fixed);
        move |ctx: OrchestrationContext, _: String| {
            let is_fixed = Arc::clone(&is_fixed);
            async move {
                let first = ctx.schedule_activity("work", "first").await?;
                assert!(is_fixed.load(Ordering::SeqCst), "a bug");
                // The turn is a new one, so that a patch is adopted.
                assert!(ctx.patched("the fix"));
                ctx.schedule_activity("work", "second").await.map(|it| format!("{first} {it}"))
            }
        }
    });
    let node = Node::start(&store, &shop, code).await;
    node.start_instance("i", "Panics", "").await;
    assert_eq!(node.failure("i").await, "orchestration panicked: a bug");
    let plan = node.retry("i").await;
    assert!(plan.warnings[0].starts_with("no call failed"), "{plan}");
    assert_eq!(node.failure("i").await, "orchestration panicked: a bug");
    is_fixed.store(true, Ordering::SeqCst);
    node.retry("i").await;
    assert_eq!(node.output("i").await, "first! second!");
    assert_eq!([shop.runs("first"), shop.runs("second")], [1, 1]);
    node.stop().await;
}

/// The activity is not registered on the node, which fails it after some attempts.
async fn a_poisoned_activity_runs_again(store: Store) {
    let shop = Workshop::default();
    let code = || {
        orchestrations().register("Poisoned", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("work", "before").await?;
            // Orchestration code cannot catch it.
            let _never = ctx.schedule_activity("missing", "x").await;
            Ok("done".to_owned())
        })
    };
    let node = Node::with(&store, &shop, code(), impatient()).await;
    node.start_instance("i", "Poisoned", "").await;
    let text = node.failure("i").await;
    assert!(text.starts_with("poison: activity missing"), "{text}");
    let plan = node.client.plan_retry("i", &options()).await.unwrap();
    assert_eq!(plan.run_again[0].name, "missing");
    node.stop().await;
    let deployed = ActivityRegistry::builder_from(&shop.activities())
        .register("missing", |_: ActivityContext, input: String| async move { Ok(input) })
        .build();
    let runtime = Runtime::start_with_store(Arc::clone(&store), deployed, code().build()).await;
    let client = Client::new(Arc::clone(&store));
    client.retry_instance("i", &options()).await.unwrap();
    let status = client.wait_for_orchestration("i", TIMEOUT).await.unwrap();
    assert!(matches!(status, OrchestrationStatus::Completed { .. }), "{status:?}");
    assert_eq!(shop.runs("before"), 1);
    runtime.shutdown(None).await;
}

/// A node that fails what it has no code for after two attempts.
fn impatient() -> RuntimeOptions {
    let pause = Duration::from_millis(5);
    let options = RuntimeOptions {
        max_attempts: 1,
        unregistered_backoff: UnregisteredBackoffConfig { base_delay: pause, max_delay: pause },
        ..RuntimeOptions::default()
    };
    options.with_unregistered_work(UnregisteredWork::Backoff)
}

/// A turn that no code ran has recorded nothing: its results are read again, its signals are lost.
async fn a_poisoned_turn_is_taken_again(store: Store) {
    let shop = Workshop::default();
    let code = || orchestrations().register("Waits", waits_then_works);
    let node = Node::start(&store, &shop, code()).await;
    node.start_instance("i", "Waits", "").await;
    node.until_event("i", "ExternalSubscribed").await;
    node.stop().await;
    shop.release();
    let node = Node::with(&store, &shop, orchestrations(), impatient()).await;
    node.client.raise_event("i", "go", "lost").await.unwrap();
    let text = node.failure("i").await;
    assert!(text.starts_with("poison: orchestration i"), "{text}");
    node.stop().await;
    let node = Node::start(&store, &shop, code()).await;
    let plan = node.retry("i").await;
    assert!(plan.warnings[0].contains("are lost"), "{plan}");
    assert_eq!(plan.run_again[0].name, "hold");
    node.client.raise_event("i", "go", "on").await.unwrap();
    assert_eq!(node.output("i").await, "first! on held!");
    assert_eq!(shop.runs("first"), 1);
    node.stop().await;
}

async fn a_poisoned_start_needs_a_version(store: Store) {
    let shop = Workshop::default();
    let node = Node::with(&store, &shop, orchestrations(), impatient()).await;
    node.start_instance("i", "Steps", "a").await;
    node.failure("i").await;
    node.stop().await;
    let node = Node::start(&store, &shop, orchestrations().register("Steps", three_steps)).await;
    let plan = node.client.plan_retry("i", &options()).await.unwrap();
    assert!(plan.warnings.iter().any(|it| it.contains("names no version")), "{plan}");
    node.client.retry_instance("i", &options().with_version("1.0.0")).await.unwrap();
    assert_eq!(node.output("i").await, "a-1! a-2! a-3!");
    node.stop().await;
}

async fn waits_then_works(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let first = ctx.schedule_activity("work", "first").await?;
    let held = ctx.schedule_activity("hold", "held");
    let go = ctx.schedule_wait("go").await;
    Ok(format!("{first} {go} {}", held.await?))
}

async fn a_cancelled_instance_goes_on(store: Store) {
    let shop = Workshop::default();
    let code = orchestrations().register("Waits", waits_then_works);
    let node = Node::start(&store, &shop, code).await;
    node.start_instance("i", "Waits", "").await;
    node.until_event("i", "ExternalSubscribed").await;
    within(async {
        while shop.runs("held") == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    node.client.cancel_instance("i", "by mistake").await.unwrap();
    assert_eq!(node.failure("i").await, "canceled: by mistake");
    let plan = node.retry("i").await;
    assert_eq!(plan.cause, "it was cancelled");
    assert_eq!(plan.run_again[0].name, "hold");
    node.client.raise_event("i", "go", "on").await.unwrap();
    shop.release();
    assert_eq!(node.output("i").await, "first! on held!");
    assert_eq!([shop.runs("first"), shop.runs("held")], [1, 2]);
    node.stop().await;
}

/// A retry undoes the request, too. The deadline that was set for the old execution has no effect.
async fn an_instance_that_was_asked_to_end_goes_on(store: Store) {
    async fn careful(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        let first = ctx.schedule_activity("work", "first").await?;
        match ctx.cancellable(ctx.schedule_wait("go")).await {
            Ok(go) => Ok(format!("{first} {go}")),
            Err(request) => Err(format!("stopped: {}", request.reason)),
        }
    }
    let shop = Workshop::default();
    let node = Node::start(&store, &shop, orchestrations().register("Careful", careful)).await;
    node.start_instance("i", "Careful", "").await;
    node.until_event("i", "ExternalSubscribed").await;
    let grace = Duration::from_millis(1);
    node.client.request_cancellation("i", "by mistake", grace).await.unwrap();
    // The code answers in the turn of the request, so that the deadline comes later.
    assert_eq!(node.failure("i").await, "stopped: by mistake");
    let plan = node.retry("i").await;
    assert_eq!(plan.cause, "it was cancelled");
    node.until_event("i", "ExternalSubscribed").await;
    node.client.raise_event("i", "go", "on").await.unwrap();
    assert_eq!(node.output("i").await, "first! on");
    assert_eq!(shop.runs("first"), 1);
    node.stop().await;
}

async fn a_terminated_instance_goes_on(store: Store) {
    let shop = Workshop::default();
    let code = orchestrations().register("Waits", waits_then_works);
    let node = Node::start(&store, &shop, code).await;
    node.start_instance("i", "Waits", "").await;
    node.until_event("i", "ExternalSubscribed").await;
    node.client.terminate_instance("i", "stuck").await.unwrap();
    assert_eq!(node.failure("i").await, "canceled: stuck");
    node.retry("i").await;
    node.client.raise_event("i", "go", "on").await.unwrap();
    shop.release();
    assert_eq!(node.output("i").await, "first! on held!");
    assert_eq!(shop.runs("first"), 1);
    node.stop().await;
}

async fn an_instance_is_retried_again_and_again(store: Store) {
    let shop = Workshop::default();
    for step in ["a-1", "a-2", "a-3"] {
        shop.break_input(step, step);
    }
    let node = Node::start(&store, &shop, orchestrations().register("Steps", three_steps)).await;
    node.start_instance("i", "Steps", "a").await;
    assert_eq!(node.failure("i").await, "a-1");
    node.retry("i").await;
    assert_eq!(node.failure("i").await, "a-1");
    shop.repair();
    shop.break_input("a-3", "a-3");
    node.retry("i").await;
    assert_eq!(node.failure("i").await, "a-3");
    shop.repair();
    let plan = node.retry("i").await;
    assert_eq!((plan.execution_id, plan.new_execution_id), (3, 4));
    assert_eq!(node.output("i").await, "a-1! a-2! a-3!");
    assert_eq!([shop.runs("a-1"), shop.runs("a-2"), shop.runs("a-3")], [3, 1, 2]);
    assert!(is_conflict(&node.client.retry_instance("i", &options()).await), "it has completed");
    node.stop().await;
}

/// A new version of the code continues the events of the old one.
async fn another_version_takes_over(store: Store) {
    let shop = Workshop::default();
    let code = orchestrations()
        .register_versioned("Order", "1.0.0", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("work", "one").await?;
            Err::<String, _>("version 1 cannot do that".to_owned())
        })
        .register_versioned("Order", "1.0.1", |ctx: OrchestrationContext, _: String| async move {
            let one = ctx.schedule_activity("work", "one").await?;
            ctx.schedule_activity("work", "two").await.map(|two| format!("{one} {two}"))
        });
    let node = Node::start(&store, &shop, code).await;
    node.client.start_orchestration_versioned("i", "Order", "1.0.0", "").await.unwrap();
    node.failure("i").await;
    let newer = options().with_version("1.0.1");
    node.client.reset_instance("i", MendPoint::LastFailed, &newer).await.unwrap();
    assert_eq!(node.output("i").await, "one! two!");
    assert_eq!(shop.runs("one"), 1);
    let info = node.client.get_instance_info("i").await.unwrap();
    assert_eq!(info.orchestration_version, "1.0.1");
    assert!(event_of(&node.history("i").await, "OrchestrationCompleted").is_some());
    node.stop().await;
}
