//! The workflows written for Duroxide. The same source is compiled against this project and
//! against the published 0.1.32.

use std::time::Duration;

use bench_harness::job::{number, two_numbers};
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{ActivityContext, OrchestrationContext, OrchestrationRegistry};

/// The event queue of instances that wait for events.
pub(crate) const INBOX: &str = "inbox";

/// The activities: add one, return the input, wait for the given number of milliseconds.
pub(crate) fn activities() -> ActivityRegistry {
    ActivityRegistry::builder()
        .register("add_one", |_ctx: ActivityContext, input: String| async move {
            Ok((number(&input)? + 1).to_string())
        })
        .register("echo", |_ctx: ActivityContext, input: String| async move { Ok(input) })
        .register("wait", |_ctx: ActivityContext, input: String| async move {
            tokio::time::sleep(Duration::from_millis(number(&input)?)).await;
            Ok("1".to_owned())
        })
        .build()
}

/// One orchestration for each job.
pub(crate) fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("chain", chain)
        .register("chain_then_wait", chain_then_wait)
        .register("fan_out", fan_out)
        .register("waits", waits)
        .register("tree", tree)
        .register("timers", timers)
        .register("events", events)
        .register("loop", continued)
        .register("payload", payload)
        .build()
}

async fn chain(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let (steps, _) = two_numbers(&input)?;
    let mut value = "0".to_owned();
    for _ in 0..steps {
        value = ctx.schedule_activity("add_one", value).await?;
    }
    Ok(value)
}

async fn chain_then_wait(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let value = number(&chain(ctx.clone(), input).await?)?;
    ctx.set_custom_status("waiting");
    let sent = number(&ctx.dequeue_event(INBOX).await)?;
    Ok((value + sent).to_string())
}

async fn fan_out(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let (width, _) = two_numbers(&input)?;
    let calls = (0..width).map(|call| ctx.schedule_activity("add_one", call.to_string()));
    total(ctx.join(calls.collect()).await)
}

async fn waits(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let (count, each_ms) = two_numbers(&input)?;
    let calls = (0..count).map(|_| ctx.schedule_activity("wait", each_ms.to_string()));
    total(ctx.join(calls.collect()).await)
}

async fn tree(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let (depth, width) = two_numbers(&input)?;
    if depth == 0 {
        return ctx.schedule_activity("add_one", "0").await;
    }
    let below = format!("{} {width}", depth - 1);
    let children = (0..width).map(|_| ctx.schedule_sub_orchestration("tree", below.clone()));
    total(ctx.join(children.collect()).await)
}

async fn timers(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let (count, delay_ms) = two_numbers(&input)?;
    let delay = Duration::from_millis(delay_ms);
    let fired = ctx.join((0..count).map(|_| ctx.schedule_timer(delay)).collect()).await;
    Ok(fired.len().to_string())
}

async fn events(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let (count, _) = two_numbers(&input)?;
    let mut sum = 0;
    for _ in 0..count {
        sum += number(&ctx.dequeue_event(INBOX).await)?;
    }
    Ok(sum.to_string())
}

async fn continued(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let (round, rounds) = two_numbers(&input)?;
    let next = ctx.schedule_activity("add_one", round.to_string()).await?;
    if number(&next)? == rounds {
        return Ok(next);
    }
    ctx.continue_as_new(format!("{next} {rounds}")).await
}

async fn payload(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let (steps, bytes) = two_numbers(&input)?;
    let size = usize::try_from(bytes).map_err(|error| error.to_string())?;
    let mut sum = 0;
    for _ in 0..steps {
        sum += ctx.schedule_activity("echo", "x".repeat(size)).await?.len();
    }
    Ok(sum.to_string())
}

fn total(results: Vec<Result<String, String>>) -> Result<String, String> {
    let mut sum = 0;
    for result in results {
        sum += number(&result?)?;
    }
    Ok(sum.to_string())
}
