//! Code that is not registered, or twice.

use duroxide::prelude::*;
use duroxide::testing::TestEnv;

use crate::texts::assert_text;

#[activity]
async fn charge(_ctx: ActivityContext, cents: u64) -> Result<String, String> {
    Ok(format!("{cents} cents charged"))
}

#[orchestration]
async fn ship(_ctx: OrchestrationContext) -> Result<(), String> {
    Ok(())
}

#[orchestration]
async fn buy(ctx: OrchestrationContext, cents: u64) -> Result<String, String> {
    let receipt = ctx.call(charge, cents).await?;
    ctx.child(ship, ()).await?;
    Ok(receipt)
}

#[tokio::test]
async fn a_forgotten_registration() {
    let store = Arc::new(SqliteProvider::new_in_memory().await.unwrap());
    let refused = DuroxideRuntime::builder().with_provider(store).register(buy).build().await;
    assert_text("forgotten_registration", &refused.unwrap_err().to_string());
}

#[tokio::test]
async fn a_forgotten_registration_in_a_test() {
    let env = TestEnv::builder().register(buy).register(ship).build();
    let refused = env.start(buy, "order-17", 1200).await;
    assert_text("forgotten_registration_in_a_test", &refused.unwrap_err().to_string());
}

#[tokio::test]
async fn a_function_that_is_registered_twice() {
    let store = Arc::new(SqliteProvider::new_in_memory().await.unwrap());
    let builder = DuroxideRuntime::builder().with_provider(store);
    let refused = builder.register(ship).register(ship).build().await;
    assert_text("registered_twice", &refused.unwrap_err().to_string());
}

/// Names that are strings are found missing only when they are used.
#[tokio::test]
async fn a_name_with_a_typing_error() {
    let by_name = OrchestrationRegistry::builder()
        .register("Buy", |ctx: OrchestrationContext, _input: String| async move {
            ctx.schedule_activity("chrage", "1200").await
        })
        .build();
    let env = TestEnv::builder().orchestrations(by_name).register(charge).build();
    env.start_named("Buy", "order-17", "").await.unwrap();
    let failed = env.result_named("order-17").await.unwrap();
    assert_text("misspelt_name", &failed.unwrap_err());
}
