//! Code whose steps have another order than the histories of running instances.

use duroxide::prelude::*;
use duroxide::runtime::MismatchPolicy;
use duroxide::testing::{Replayer, TestEnv};

use crate::texts::assert_text;

const TIMEOUT: Duration = Duration::from_secs(60);

#[activity]
async fn charge(_ctx: ActivityContext, cents: u64) -> Result<String, String> {
    Ok(format!("{cents} cents charged"))
}

#[activity]
async fn ship(_ctx: ActivityContext, cents: u64) -> Result<String, String> {
    Ok(format!("{cents} cents shipped"))
}

const PACKED: Signal<String> = Signal::new("packed");

#[orchestration]
async fn buy(ctx: OrchestrationContext, cents: u64) -> Result<String, String> {
    ctx.call(charge, cents).await?;
    ctx.set_custom_status("charged");
    ctx.wait(PACKED).await?;
    Ok(ctx.call(ship, cents).await?)
}

mod changed {
    use super::{PACKED, charge, ship};
    use duroxide::prelude::*;

    #[orchestration]
    pub(super) async fn buy(ctx: OrchestrationContext, cents: u64) -> Result<String, String> {
        ctx.call(ship, cents).await?;
        ctx.wait(PACKED).await?;
        Ok(ctx.call(charge, cents).await?)
    }
}

/// In a test, before the code is deployed.
#[tokio::test]
async fn a_changed_order_of_steps() {
    let env = TestEnv::builder().register(buy).register(charge).register(ship).build();
    let _run = env.start(buy, "order-17", 1200).await.unwrap();
    env.until_idle().await.unwrap();
    let recorded = env.export("order-17").await.unwrap();
    let agreed = Replayer::of(buy).replay(&recorded).unwrap();
    assert!(agreed[0].verdict.is_fine(), "{}", agreed[0]);
    let checked = Replayer::of(changed::buy).replay(&recorded).unwrap();
    assert_text("changed_order", &checked[0].to_string());
}

#[tokio::test]
async fn a_changed_order_of_steps_in_production() {
    let store = Arc::new(SqliteProvider::new_in_memory().await.unwrap());
    let client = Client::new(store.clone());
    let builder = DuroxideRuntime::builder().with_provider(store.clone());
    let builder = builder.register(buy).register(charge).register(ship);
    let node = builder.build().await.unwrap();
    let order = client.start(buy, "order-17", 1200).await.unwrap();
    client.wait_for_status_change("order-17", 0, TIMEOUT / 1000, TIMEOUT).await.unwrap();
    node.shutdown(None).await;

    let options = RuntimeOptions::default().with_mismatch_policy(MismatchPolicy::Fail);
    let builder = DuroxideRuntime::builder().with_provider(store).with_options(options);
    let builder = builder.register(changed::buy).register(charge).register(ship);
    let node = builder.build().await.unwrap();
    order.raise(PACKED, "a box").await.unwrap();
    let failed = order.result().await.unwrap_err();
    assert_text("changed_order_in_production", &failed.to_string());
    node.shutdown(None).await;
}
