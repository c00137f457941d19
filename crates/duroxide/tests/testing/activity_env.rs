//! One activity alone.

use std::time::Duration;

use duroxide::prelude::*;
use duroxide::testing::ActivityEnv;

#[activity]
async fn import(ctx: ActivityContext, files: u32) -> Result<String, String> {
    let done = ctx.last_progress_typed::<u32>()?.unwrap_or(0);
    for file in done..files {
        ctx.report_progress_typed(&(file + 1)).await.map_err(|error| error.to_string())?;
    }
    Ok(format!("{} of {files} in attempt {}", files - done, ctx.attempt()))
}

#[activity]
async fn watch(ctx: ActivityContext) -> Result<u32, String> {
    ctx.cancelled().await;
    Err(format!("{} is cancelled", ctx.activity_name()))
}

#[tokio::test]
async fn an_attempt_continues_where_the_last_one_stopped() {
    let env = ActivityEnv::new();
    assert_eq!(env.run(import, 3).await, Ok("3 of 3 in attempt 1".to_owned()));
    assert_eq!(env.progress().await.as_deref(), Some("3"));
    let env = ActivityEnv::new().with_attempt(2).with_last_progress("2");
    assert_eq!(env.run(import, 3).await, Ok("1 of 3 in attempt 2".to_owned()));
}

#[tokio::test]
async fn a_cancellation_and_a_deadline_reach_the_activity() {
    let env = ActivityEnv::new();
    env.cancel();
    assert_eq!(env.run(watch, ()).await, Err("watch is cancelled".to_owned()));
    let env = ActivityEnv::new().with_deadline(Duration::from_millis(1));
    assert_eq!(env.run(watch, ()).await, Err("watch is cancelled".to_owned()));
    assert_eq!(env.context("any").await.activity_name(), "any");
}
