//! The shape of a program with typed functions.

use std::fmt;

use duroxide::prelude::*;
use serde::{Deserialize, Serialize};

use crate::support::node;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Order {
    article: String,
    quantity: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum PayError {
    Declined { code: u32 },
    Down,
}

impl fmt::Display for PayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Declined { code } => write!(f, "declined with code {code}"),
            Self::Down => f.write_str("the bank is down"),
        }
    }
}

fn order(quantity: u32) -> Order {
    Order { article: "chair".to_owned(), quantity }
}

#[activity]
async fn charge(_ctx: ActivityContext, order: Order) -> Result<String, PayError> {
    match order.quantity {
        0 => Err(PayError::Declined { code: 7 }),
        _ => Ok(format!("paid: {} x {}", order.quantity, order.article)),
    }
}

#[orchestration(version = "1.0.0")]
async fn buy(ctx: OrchestrationContext, order: Order) -> Result<String, PayError> {
    ctx.schedule_timer(Duration::from_millis(1)).await;
    match ctx.call(charge, order).await {
        Ok(receipt) => Ok(receipt),
        Err(CallError::App(error)) => Err(error),
        Err(_other) => Err(PayError::Down),
    }
}

#[activity(name = "Add")]
async fn add(_ctx: ActivityContext, left: u64, right: u64) -> Result<u64, String> {
    Ok(left + right)
}

#[activity]
async fn ping(_ctx: ActivityContext) -> Result<String, String> {
    Ok("pong".to_owned())
}

#[orchestration(name = "Several")]
async fn several(ctx: OrchestrationContext, request: Order) -> Result<(u64, String), String> {
    let sum = ctx.call(add, (2, 3)).await?;
    let pong = ctx.call(ping, ()).await?;
    let bought = ctx.child(buy, &request).await?;
    Ok((sum, format!("{pong}, {bought}")))
}

#[tokio::test]
async fn an_orchestration_calls_activities_and_children_by_their_functions() {
    let builder = DuroxideRuntime::builder();
    let builder = builder.register(several).register(buy).register(charge);
    let (runtime, client) = node(builder.register(add).register(ping)).await;
    let several = client.start(several, "several", &order(2)).await.unwrap();
    let result = several.result().await.unwrap();
    assert_eq!(result, (5, "pong, paid: 2 x chair".to_owned()));
    runtime.shutdown(None).await;
}

#[tokio::test]
async fn the_error_of_an_activity_arrives_with_its_type() {
    let (runtime, client) = node(DuroxideRuntime::builder().register(buy).register(charge)).await;
    let input = order(0);
    let declined = client.start(buy, "declined", &input).await.unwrap();
    assert_eq!(declined.result().await, Err(CallError::App(PayError::Declined { code: 7 })));
    runtime.shutdown(None).await;
}

#[tokio::test]
async fn a_function_stays_callable_as_it_is() {
    async fn price(quantity: u32) -> Result<u32, String> {
        Ok(quantity * 4)
    }
    assert_eq!(price(2).await, Ok(8));
    assert_eq!(<charge as duroxide::typed::Callable>::NAME, "charge");
    assert_eq!(<add as duroxide::typed::Callable>::NAME, "Add");
}

#[tokio::test]
async fn a_missing_registration_is_an_error_when_the_runtime_is_built() {
    let store = Arc::new(SqliteProvider::new_in_memory().await.unwrap());
    let builder = DuroxideRuntime::builder().with_provider(store).register(several).register(ping);
    let error = builder.build().await.unwrap_err().to_string();
    let missing = [
        "orchestration 'Several' calls activity 'Add', which is not registered",
        "orchestration 'Several' calls orchestration 'buy', which is not registered",
    ];
    assert!(missing.iter().all(|text| error.contains(text)), "{error}");
    assert!(!error.contains("ping"), "{error}");
}
