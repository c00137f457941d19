//! The workflows written for durare.

use std::time::Duration;

use bench_harness::job::{number, two_numbers};
use durare::{DurableContext, DurableEngine, Error, Result, WorkflowOptions};
use futures_util::future::join_all;

/// The topic of instances that wait for events.
pub(crate) const TOPIC: &str = "inbox";
/// The key that an instance sets when it waits.
pub(crate) const STATUS: &str = "status";

const WAIT_MAX: Duration = Duration::from_secs(3600);

/// One workflow for each job.
pub(crate) fn register(engine: &mut DurableEngine) {
    engine.register("chain", chain);
    engine.register("chain_then_wait", chain_then_wait);
    engine.register("fan_out", fan_out);
    engine.register("tree", tree);
    engine.register("timers", timers);
    engine.register("events", events);
    engine.register("payload", payload);
}

async fn add_one(value: u64) -> Result<u64> {
    Ok(value + 1)
}

async fn steps_of(ctx: &DurableContext, steps: u64) -> Result<u64> {
    let mut value = 0;
    for _ in 0..steps {
        value = ctx.step("add_one", move || add_one(value)).await?;
    }
    Ok(value)
}

async fn chain(ctx: DurableContext, input: String) -> Result<String> {
    let (steps, _) = two_numbers(&input).map_err(Error::app)?;
    Ok(steps_of(&ctx, steps).await?.to_string())
}

async fn chain_then_wait(ctx: DurableContext, input: String) -> Result<String> {
    let (steps, _) = two_numbers(&input).map_err(Error::app)?;
    let value = steps_of(&ctx, steps).await?;
    ctx.set_event(STATUS, "waiting").await?;
    Ok((value + received(&ctx).await?).to_string())
}

async fn fan_out(ctx: DurableContext, input: String) -> Result<String> {
    let (width, _) = two_numbers(&input).map_err(Error::app)?;
    let calls = (0..width).map(|call| ctx.step("add_one", move || add_one(call)));
    let mut sum = 0;
    for result in join_all(calls.collect::<Vec<_>>()).await {
        sum += result?;
    }
    Ok(sum.to_string())
}

async fn tree(ctx: DurableContext, input: String) -> Result<String> {
    let (depth, width) = two_numbers(&input).map_err(Error::app)?;
    if depth == 0 {
        return Ok(steps_of(&ctx, 1).await?.to_string());
    }
    let below = format!("{} {width}", depth - 1);
    let mut children = Vec::new();
    for _ in 0..width {
        let options = WorkflowOptions::default();
        children.push(ctx.start_workflow::<_, String>("tree", below.clone(), options).await?);
    }
    let mut sum = 0;
    for child in children {
        sum += number(&child.result().await?).map_err(Error::app)?;
    }
    Ok(sum.to_string())
}

async fn timers(ctx: DurableContext, input: String) -> Result<String> {
    let (count, delay_ms) = two_numbers(&input).map_err(Error::app)?;
    let delay = Duration::from_millis(delay_ms);
    let sleeps: Vec<_> = (0..count).map(|_| ctx.sleep(delay)).collect();
    let mut fired = 0_u64;
    for slept in join_all(sleeps).await {
        slept?;
        fired += 1;
    }
    Ok(fired.to_string())
}

async fn events(ctx: DurableContext, input: String) -> Result<String> {
    let (count, _) = two_numbers(&input).map_err(Error::app)?;
    let mut sum = 0;
    for _ in 0..count {
        sum += received(&ctx).await?;
    }
    Ok(sum.to_string())
}

async fn payload(ctx: DurableContext, input: String) -> Result<String> {
    let (steps, bytes) = two_numbers(&input).map_err(Error::app)?;
    let size = usize::try_from(bytes).map_err(|error| Error::app(error.to_string()))?;
    let mut sum = 0;
    for _ in 0..steps {
        let text = "x".repeat(size);
        let result: String = ctx.step("echo", move || async move { Ok(text) }).await?;
        sum += result.len();
    }
    Ok(sum.to_string())
}

async fn received(ctx: &DurableContext) -> Result<u64> {
    let sent: Option<u64> = ctx.recv(TOPIC, WAIT_MAX).await?;
    sent.ok_or_else(|| Error::app("no event came"))
}
