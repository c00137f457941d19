//! Both styles in one program, and an instance that changes from one to the other.

use duroxide::prelude::*;
use serde::{Deserialize, Serialize};

use crate::support::node;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Order {
    article: String,
    quantity: u32,
}

#[activity(name = "Price")]
async fn price(_ctx: ActivityContext, order: Order) -> Result<u32, String> {
    Ok(order.quantity * 4)
}

#[orchestration(name = "Order")]
async fn order(ctx: OrchestrationContext, order: Order) -> Result<u32, String> {
    let price = ctx.call(price, &order).await?;
    ctx.set_custom_status("priced");
    let bonus: u32 = ctx.try_schedule_wait_typed("bonus").await?;
    Ok(price + ctx.call(price_of_nothing, ()).await? - bonus)
}

#[activity(name = "Nothing")]
async fn price_of_nothing(_ctx: ActivityContext) -> Result<u32, String> {
    Ok(0)
}

fn chairs() -> Order {
    Order { article: "chair".to_owned(), quantity: 3 }
}

/// The same program, written with strings.
fn untyped() -> (ActivityRegistry, OrchestrationRegistry) {
    async fn price(_ctx: ActivityContext, order: Order) -> Result<u32, String> {
        Ok(order.quantity * 4)
    }
    async fn nothing(_ctx: ActivityContext, _input: ()) -> Result<u32, String> {
        Ok(0)
    }
    async fn order(ctx: OrchestrationContext, order: Order) -> Result<u32, String> {
        let price: u32 = ctx.schedule_activity_typed("Price", &order).await?;
        ctx.set_custom_status("priced");
        let bonus: u32 = ctx.try_schedule_wait_typed("bonus").await?;
        let nothing: u32 = ctx.schedule_activity_typed("Nothing", &()).await?;
        Ok(price + nothing - bonus)
    }
    let activities = ActivityRegistry::builder();
    let activities = activities.register_typed("Price", price).register_typed("Nothing", nothing);
    let orchestrations = OrchestrationRegistry::builder().register_typed("Order", order);
    (activities.build(), orchestrations.build())
}

fn typed() -> (ActivityRegistry, OrchestrationRegistry) {
    let activities = ActivityRegistry::builder().register_fn(price).register_fn(price_of_nothing);
    (activities.build(), OrchestrationRegistry::builder().register_fn(order).build())
}

#[tokio::test]
async fn an_instance_goes_on_in_the_other_style() {
    for is_typed_first in [false, true] {
        let store = Arc::new(SqliteProvider::new_in_memory().await.unwrap());
        let (first, second) =
            if is_typed_first { (typed(), untyped()) } else { (untyped(), typed()) };
        let client = Client::new(store.clone());
        let runtime = Runtime::start_with_store(store.clone(), first.0, first.1).await;
        client.start_orchestration_typed("order-1", "Order", chairs()).await.unwrap();
        let limit = Duration::from_secs(60);
        client.wait_for_status_change("order-1", 0, limit / 1000, limit).await.unwrap();
        runtime.shutdown(None).await;

        let runtime = Runtime::start_with_store(store, second.0, second.1).await;
        let instance = client.attach(order, "order-1");
        client.raise_event_typed("order-1", "bonus", &2_u32).await.unwrap();
        assert_eq!(instance.result().await, Ok(10), "typed first: {is_typed_first}");
        runtime.shutdown(None).await;
    }
}

#[tokio::test]
async fn each_style_calls_the_other() {
    #[orchestration(calls(price))]
    async fn outer(ctx: OrchestrationContext, order: Order) -> Result<u32, String> {
        // By name, beside a typed call.
        let by_name: u32 = ctx.schedule_activity_typed("Price", &order).await?;
        let by_child: u32 = ctx.schedule_sub_orchestration_typed("By name", &order).await?;
        Ok(by_name + by_child + ctx.call(price, order).await?)
    }
    async fn by_name(ctx: OrchestrationContext, order: Order) -> Result<u32, String> {
        let price: u32 = ctx.call(price, order).await?;
        Ok(price)
    }
    let orchestrations = OrchestrationRegistry::builder().register_typed("By name", by_name);
    let builder = DuroxideRuntime::builder().with_orchestrations(orchestrations.build());
    let (runtime, client) = node(builder.register(outer).register(price)).await;
    client.start_orchestration_typed("outer", "outer", chairs()).await.unwrap();
    let limit = Duration::from_secs(60);
    let sum = client.wait_for_orchestration_typed::<u32>("outer", limit).await.unwrap();
    assert_eq!(sum, Ok(36));
    runtime.shutdown(None).await;
}
