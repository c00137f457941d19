//! The workflows of the cases.

use bench_harness::job::number;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{ActivityContext, OrchestrationContext, OrchestrationRegistry};

/// The queue and the event that workflows wait for.
pub(super) const INBOX: &str = "inbox";

/// Bytes of a large result.
const LARGE: usize = 1_000_000;

/// Messages that one execution reads.
const PER_EXECUTION: u64 = 1_000;

pub(super) fn activities() -> ActivityRegistry {
    ActivityRegistry::builder()
        .register("one", |_ctx: ActivityContext, _input: String| async move { Ok("1".to_owned()) })
        .register(
            "large",
            |_ctx: ActivityContext, _input: String| async move { Ok("x".repeat(LARGE)) },
        )
        .build()
}

pub(super) fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("small", small)
        .register("drain", drain)
        .register("long", long)
        .register("large_result", large_result)
        .register("parent", parent)
        .register(
            "leaf",
            |_ctx: OrchestrationContext, _input: String| async move { Ok("1".to_owned()) },
        )
        .register("session", session)
        .register("turn", turn)
        .build()
}

async fn small(ctx: OrchestrationContext, _input: String) -> Result<String, String> {
    for _ in 0..5 {
        ctx.schedule_activity("one", "").await?;
    }
    Ok("5".to_owned())
}

/// Reads as many messages as the input says.
async fn drain(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let left = number(&input)?;
    for _ in 0..left.min(PER_EXECUTION) {
        ctx.dequeue_event(INBOX).await;
    }
    match left.saturating_sub(PER_EXECUTION) {
        0 => Ok("read".to_owned()),
        left => ctx.continue_as_new(left.to_string()).await,
    }
}

/// Makes two events for each of as many activities as the input says, then waits.
async fn long(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let calls = (0..number(&input)?).map(|_| ctx.schedule_activity("one", ""));
    let count = ctx.join(calls.collect()).await.len();
    ctx.set_custom_status("waiting");
    ctx.dequeue_event(INBOX).await;
    Ok(count.to_string())
}

/// Holds a large result while it waits.
async fn large_result(ctx: OrchestrationContext, _input: String) -> Result<String, String> {
    let result = ctx.schedule_activity("large", "").await?;
    ctx.set_custom_status("waiting");
    ctx.dequeue_event(INBOX).await;
    Ok(result.len().to_string())
}

async fn parent(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let children = (0..number(&input)?).map(|_| ctx.schedule_sub_orchestration("leaf", ""));
    sum(ctx.join(children.collect()).await)
}

async fn session(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let count = number(&input)?;
    let calls = (0..count).map(|_| ctx.schedule_activity_on_session("one", "", "one session"));
    sum(ctx.join(calls.collect()).await)
}

/// Records as many events in its only turn as the input says.
async fn turn(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    for value in 0..number(&input)? {
        ctx.set_kv_value("key", value.to_string());
    }
    Ok(input)
}

fn sum(results: Vec<Result<String, String>>) -> Result<String, String> {
    let mut sum = 0;
    for result in results {
        sum += number(&result?)?;
    }
    Ok(sum.to_string())
}
