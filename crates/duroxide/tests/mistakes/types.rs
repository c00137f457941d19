//! Values of another type, where no compiler sees both sides: names that are strings, and messages
//! from outside.

use duroxide::prelude::*;
use duroxide::testing::TestEnv;

use crate::texts::assert_text;

const APPROVED: Signal<bool> = Signal::new("approved");

#[activity]
async fn charge(_ctx: ActivityContext, cents: u64) -> Result<String, String> {
    Ok(format!("{cents} cents charged"))
}

#[orchestration]
async fn buy(ctx: OrchestrationContext, cents: u64) -> Result<String, String> {
    ctx.wait(APPROVED).await?;
    Ok(ctx.call(charge, cents).await?)
}

/// Runs to the end and returns the text of the failure.
async fn failure(env: &TestEnv, instance: &str) -> String {
    env.result_named(instance).await.unwrap().expect_err("the mistake is caught")
}

#[tokio::test]
async fn an_input_of_another_type() {
    let env = TestEnv::builder().register(buy).register(charge).build();
    env.start_named("buy", "order-17", "twelve").await.unwrap();
    assert_text("wrong_input", &failure(&env, "order-17").await);
}

#[tokio::test]
async fn an_input_of_an_activity_of_another_type() {
    let by_name = OrchestrationRegistry::builder()
        .register("Buy", |ctx: OrchestrationContext, _input: String| async move {
            ctx.schedule_activity_typed::<_, String>("charge", &("Ada", 1200)).await
        })
        .build();
    let env = TestEnv::builder().orchestrations(by_name).register(charge).build();
    env.start_named("Buy", "order-17", "").await.unwrap();
    assert_text("wrong_input_of_an_activity", &failure(&env, "order-17").await);
}

#[tokio::test]
async fn a_payload_of_another_type() {
    let env = TestEnv::builder().register(buy).register(charge).build();
    let run = env.start(buy, "order-17", 1200).await.unwrap();
    env.until_idle().await.unwrap();
    env.raise_named("order-17", "approved", "certainly").await.unwrap();
    assert_text("wrong_payload", &env.result(&run).await.unwrap_err().to_string());
}
