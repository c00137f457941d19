//! Code that decides otherwise when it is replayed, or does what no replay can repeat. The test kit
//! replays every turn, so that each mistake is reported in the turn in which it is made.

use std::collections::HashMap;

use duroxide::prelude::*;
use duroxide::testing::TestEnv;
use duroxide::typed::{Orchestration, RecordedFn};

use crate::texts::{assert_text, without_numbers};

#[activity]
async fn notify(_ctx: ActivityContext, text: String) -> Result<String, String> {
    Ok(text)
}

/// Runs an orchestration in the test kit and returns the text of its failure.
async fn failure_of<F, M>(orchestration: F) -> String
where
    F: RecordedFn<OrchestrationContext, M, Handle: Orchestration<Input = ()>>,
{
    let registry = OrchestrationRegistry::builder().register_fn(orchestration).build();
    let name = registry.list_names().remove(0);
    let env = TestEnv::builder().orchestrations(registry).register(notify).build();
    env.start_named(&name, "mistaken-1", "").await.unwrap();
    env.result_named("mistaken-1").await.unwrap().expect_err("the mistake is caught")
}

#[tokio::test]
async fn a_timer_of_the_executor() {
    #[orchestration]
    async fn remind(_ctx: OrchestrationContext) -> Result<(), String> {
        tokio::time::sleep(Duration::from_millis(1)).await;
        Ok(())
    }
    assert_text("executor_timer", &failure_of(remind).await);
}

#[tokio::test]
async fn a_task_of_the_executor() {
    #[orchestration]
    async fn remind(_ctx: OrchestrationContext) -> Result<u32, String> {
        tokio::spawn(async { 7 }).await.map_err(|error| error.to_string())
    }
    assert_text("executor_task", &failure_of(remind).await);
}

#[tokio::test]
async fn the_clock_of_the_machine() {
    #[orchestration]
    #[expect(clippy::disallowed_methods, reason = "the mistake of this test")]
    async fn remind(ctx: OrchestrationContext) -> Result<String, String> {
        let now = std::time::SystemTime::now();
        let since = now.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        Ok(ctx.call(notify, since.to_string()).await?)
    }
    assert_text("machine_clock", &without_numbers(&failure_of(remind).await));
}

#[tokio::test]
async fn the_order_of_a_hash_map() {
    #[orchestration]
    async fn notify_all(ctx: OrchestrationContext) -> Result<(), String> {
        let orders: HashMap<u32, &str> = (0..40).map(|number| (number, "order")).collect();
        for number in orders.keys() {
            ctx.call(notify, number.to_string()).await?;
        }
        Ok(())
    }
    assert_text("hash_map_order", &without_numbers(&failure_of(notify_all).await));
}

#[tokio::test]
async fn a_missing_await() {
    #[orchestration]
    async fn remind(ctx: OrchestrationContext) -> Result<String, String> {
        // By a call of `drop`: the compiler warns of a call that is only forgotten.
        drop(ctx.call(notify, "forgotten"));
        Ok(ctx.call(notify, "awaited").await?)
    }
    assert_text("missing_await", &failure_of(remind).await);
}

#[tokio::test]
async fn code_that_blocks_its_thread() {
    #[orchestration]
    async fn remind(ctx: OrchestrationContext) -> Result<String, String> {
        std::thread::sleep(Duration::from_millis(550));
        Ok(ctx.call(notify, "late").await?)
    }
    assert_text("blocking", &failure_of(remind).await);
}
