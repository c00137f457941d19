//! The orchestrations of the recorded histories. The same source is compiled against this project
//! and against the published 0.1.32. Code that a recording exists for never changes: a new shape
//! is a new orchestration.

use std::time::Duration;

use duroxide::{
    BackoffStrategy, Either2, Either3, OrchestrationContext, OrchestrationRegistry, RetryPolicy,
};

/// Long enough that other messages of the same moment arrive first.
const SHORT: Duration = Duration::from_millis(20);
/// Longer than any recording takes.
const LONG: Duration = Duration::from_secs(100_000);

type Outcome = Result<String, String>;

pub(crate) fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("basics", basics)
        .register("routes", routes)
        .register("signals", signals)
        .register("queues", queues)
        .register("children", children)
        .register("leaf", leaf)
        .register("patient", patient)
        .register("patient_parent", patient_parent)
        .register("rounds", rounds)
        .register("keys", keys)
        .register("races", races)
        .register("cancelled", cancelled)
        .register("fails", fails)
        .register("panics", panics)
        .register_versioned("leaf", "2.0.0", leaf_of_version_two)
        .build()
}

async fn basics(ctx: OrchestrationContext, input: String) -> Outcome {
    let text = ctx.schedule_activity("echo", input).await?;
    let failure = ctx.schedule_activity("fail", "always").await.unwrap_err();
    let pause = BackoffStrategy::Fixed { delay: Duration::from_millis(5) };
    let policy = RetryPolicy::new(2).with_backoff(pause);
    let retried = ctx.schedule_activity_with_retry("fail", "twice", policy).await.is_err();
    ctx.schedule_timer(SHORT).await;
    let guid = ctx.new_guid().await?;
    let now = ctx.utc_now().await?;
    let recorded = now > std::time::UNIX_EPOCH;
    let (a, b) =
        ctx.join2(ctx.schedule_activity("echo", "a"), ctx.schedule_activity("echo", "b")).await;
    let doubled: u64 = ctx.schedule_activity_typed("double", &21_u64).await?;
    let all = (0..5).map(|n| ctx.schedule_activity("echo", n.to_string())).collect();
    let all: Result<Vec<_>, _> = ctx.join(all).await.into_iter().collect();
    Ok(format!("{text} {failure} {retried} {guid} {recorded} {a:?} {b:?} {doubled} {:?}", all?))
}

async fn routes(ctx: OrchestrationContext, input: String) -> Outcome {
    let session = ctx.schedule_activity_on_session("echo", input.clone(), "desk").await?;
    let tagged = ctx.schedule_activity("echo", input.clone()).with_tag("gpu").await?;
    let both = ctx.schedule_activity_on_session("echo", input, "desk").with_tag("gpu").await?;
    Ok(format!("{session} {tagged} {both}"))
}

async fn signals(ctx: OrchestrationContext, _input: String) -> Outcome {
    let lost = ctx.select2(ctx.schedule_wait("go"), ctx.schedule_timer(SHORT)).await;
    if let Either2::First(_) = lost {
        return Err("too early".to_owned());
    }
    ctx.set_custom_status("waiting");
    let first = ctx.schedule_wait("go").await;
    ctx.set_custom_status("again");
    let (second, third) = ctx.join2(ctx.schedule_wait("go"), ctx.schedule_wait("stop")).await;
    ctx.reset_custom_status();
    Ok(format!("{first} {second} {third}"))
}

async fn queues(ctx: OrchestrationContext, _input: String) -> Outcome {
    let empty = ctx.select2(ctx.dequeue_event("inbox"), ctx.schedule_timer(SHORT)).await;
    let timed_out = matches!(empty, Either2::Second(()));
    ctx.set_custom_status("waiting");
    let first = ctx.dequeue_event("inbox").await;
    let race = ctx.select2(ctx.dequeue_event("inbox"), ctx.dequeue_event("other")).await;
    let second = match race {
        Either2::First(text) | Either2::Second(text) => text,
    };
    let third = ctx.dequeue_event("inbox").await;
    Ok(format!("{timed_out} {first} {second} {third}"))
}

async fn leaf(_ctx: OrchestrationContext, input: String) -> Outcome {
    match input.as_str() {
        "fail" => Err("as asked".to_owned()),
        _ => Ok(format!("leaf of {input}")),
    }
}

async fn leaf_of_version_two(ctx: OrchestrationContext, input: String) -> Outcome {
    ctx.schedule_activity("echo", format!("two: {input}")).await
}

async fn children(ctx: OrchestrationContext, input: String) -> Outcome {
    let version = Some("1.0.0".to_owned());
    let first =
        ctx.schedule_sub_orchestration_versioned("leaf", version.clone(), input.clone()).await?;
    let failed =
        ctx.schedule_sub_orchestration_versioned("leaf", version, "fail").await.unwrap_err();
    let latest = ctx.schedule_sub_orchestration("leaf", input.clone()).await?;
    let named = format!("{}-named", ctx.instance_id());
    let named = ctx.schedule_sub_orchestration_with_id("leaf", named, input.clone()).await?;
    let dropped = ctx.schedule_sub_orchestration("patient", "child");
    let race = ctx.select2(dropped, ctx.schedule_timer(SHORT)).await;
    let dropped = matches!(race, Either2::Second(()));
    let all = (0..3).map(|n| ctx.schedule_sub_orchestration("leaf", n.to_string())).collect();
    let all: Result<Vec<_>, _> = ctx.join(all).await.into_iter().collect();
    ctx.schedule_orchestration("leaf", format!("{}-detached", ctx.instance_id()), input);
    Ok(format!("{first} {failed} {latest} {named} {dropped} {:?}", all?))
}

/// Uses a bit of everything and then waits for a signal that never comes.
async fn patient(ctx: OrchestrationContext, input: String) -> Outcome {
    ctx.set_kv_value("input", input.as_str());
    let text = ctx.schedule_activity("echo", input).await?;
    ctx.schedule_timer(SHORT).await;
    let slow = ctx.schedule_activity("slow", text);
    let message = ctx.dequeue_event("inbox");
    let signal = ctx.schedule_wait("never");
    ctx.set_custom_status("waiting");
    match ctx.select3(slow, message, signal).await {
        Either3::First(result) => result,
        Either3::Second(text) | Either3::Third(text) => Ok(text),
    }
}

async fn patient_parent(ctx: OrchestrationContext, input: String) -> Outcome {
    let own = ctx.schedule_sub_orchestration("patient", input.clone());
    let named = format!("{}-named", ctx.instance_id());
    let named = ctx.schedule_sub_orchestration_with_id("patient", named, input);
    ctx.set_custom_status("waiting");
    match ctx.select3(own, named, ctx.schedule_timer(LONG)).await {
        Either3::First(result) | Either3::Second(result) => result,
        Either3::Third(()) => Ok("late".to_owned()),
    }
}

/// Continues as new with unread messages, a custom status and keys.
async fn rounds(ctx: OrchestrationContext, input: String) -> Outcome {
    let round: u64 = input.parse().map_err(|_| "not a number".to_owned())?;
    let total = ctx.get_kv_value_typed::<u64>("total")?.unwrap_or(0);
    if round == 1 {
        ctx.set_kv_value("kept", "from the first round");
        ctx.set_kv_value("dropped", "in the second round");
        ctx.set_custom_status("waiting");
        ctx.schedule_wait("go").await;
    }
    if round == 2 {
        ctx.clear_kv_value("dropped");
    }
    let message = ctx.dequeue_event("inbox").await;
    ctx.set_kv_value_typed("total", &(total + message.len() as u64));
    ctx.set_custom_status(format!("after round {round}"));
    if round < 4 {
        return ctx.continue_as_new((round + 1).to_string()).await;
    }
    let keys = ctx.get_kv_all_keys();
    let total = ctx.get_kv_value("total");
    ctx.schedule_activity("echo", format!("{keys:?} {total:?}")).await
}

async fn keys(ctx: OrchestrationContext, _input: String) -> Outcome {
    for key in ["a", "b", "c", "d"] {
        ctx.set_kv_value(key, key.to_uppercase());
    }
    ctx.schedule_timer(SHORT).await;
    ctx.clear_kv_value("a");
    ctx.utc_now().await?;
    // Not a time near now: a replay by 0.1.32 may decide otherwise than its first run.
    let kept = ctx.prune_kv_values_updated_before(0);
    let pruned = ctx.prune_kv_values_updated_before(u64::MAX);
    ctx.set_kv_value("e", "E");
    let left = ctx.get_kv_all_keys();
    let own = ctx.get_kv_value_from_instance(ctx.instance_id(), "nothing").await?;
    ctx.clear_all_kv_values();
    ctx.set_kv_value("last", "L");
    ctx.schedule_activity("echo", format!("{kept} {pruned} {left:?} {own:?}")).await
}

async fn races(ctx: OrchestrationContext, _input: String) -> Outcome {
    let slow = ctx.schedule_activity("slow", "first");
    let quick = ctx.schedule_activity("echo", "quick");
    let first = match ctx.select2(slow, quick).await {
        Either2::First(result) | Either2::Second(result) => result?,
    };
    let slow = ctx.schedule_activity("slow", "second");
    let wait = ctx.schedule_wait("never");
    let timer = ctx.schedule_timer(SHORT);
    let second = ctx.select3(slow, wait, timer).await.index();
    // Futures that are dropped before anything is awaited.
    drop(ctx.schedule_activity("slow", "dropped at once"));
    drop(ctx.schedule_wait("dropped at once"));
    drop(ctx.dequeue_event("dropped at once"));
    drop(ctx.schedule_sub_orchestration("patient", "dropped at once"));
    let both = ctx
        .join2(
            ctx.select2(ctx.schedule_activity("echo", "x"), ctx.schedule_timer(LONG)),
            ctx.select2(ctx.schedule_timer(SHORT), ctx.schedule_activity("slow", "third")),
        )
        .await;
    Ok(format!("{first} {second} {} {}", both.0.index(), both.1.index()))
}

/// Holds one of everything when the cancellation arrives.
async fn cancelled(ctx: OrchestrationContext, input: String) -> Outcome {
    let held = (
        ctx.schedule_activity("slow", input.clone()),
        ctx.schedule_sub_orchestration("patient", input),
        ctx.dequeue_event("inbox"),
        ctx.schedule_timer(LONG),
    );
    ctx.set_custom_status("waiting");
    let go = ctx.schedule_wait("go").await;
    let text = ctx.schedule_activity("echo", go).await?;
    drop(held);
    ctx.schedule_timer(SHORT).await;
    Ok(text)
}

async fn fails(ctx: OrchestrationContext, input: String) -> Outcome {
    ctx.schedule_activity("fail", input).await?;
    Ok("unreachable".to_owned())
}

async fn panics(ctx: OrchestrationContext, input: String) -> Outcome {
    let text = ctx.schedule_activity("echo", input).await?;
    panic!("as asked: {text}");
}
