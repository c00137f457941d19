//! The workflow of these tests: an order that is charged after three days.

use duroxide::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) item: String,
    pub(crate) amount: u32,
}

pub(crate) fn order() -> Order {
    Order { item: "book".to_owned(), amount: 12 }
}

#[derive(Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
pub(crate) enum PayError {
    #[error("declined: {0}")]
    Declined(String),
    #[error("the bank is down")]
    Down,
}

pub(crate) const DAY: Duration = Duration::from_secs(24 * 3600);

#[activity]
pub(crate) async fn charge(_ctx: ActivityContext, order: Order) -> Result<String, PayError> {
    Err(PayError::Declined(order.item))
}

#[activity]
pub(crate) async fn notify(_ctx: ActivityContext, text: String) -> Result<usize, String> {
    Ok(text.len())
}

#[orchestration(version = "1.0.0")]
pub(crate) async fn buy(ctx: OrchestrationContext, order: Order) -> Result<String, PayError> {
    ctx.schedule_timer(3 * DAY).await;
    match ctx.call(charge, order).await {
        Ok(receipt) => Ok(receipt),
        Err(CallError::App(error)) => Err(error),
        Err(_other) => Err(PayError::Down),
    }
}

pub(crate) const APPROVED: Signal<String> = Signal::new("approved");

/// Waits for an approval; after each of two days it reminds.
#[orchestration]
pub(crate) async fn approval(ctx: OrchestrationContext, who: String) -> Result<String, String> {
    for _reminder in 0..2 {
        let approved = ctx.schedule_wait("approved");
        duroxide::select! {
            by = approved => return Ok(format!("approved by {by}")),
            () = ctx.schedule_timer(DAY) => {}
        }
        ctx.call(notify, who.clone()).await.map_err(|error| error.to_string())?;
    }
    Err("no decision".to_owned())
}

/// Notifies all, at most two at once, and sums up what the calls return.
#[orchestration]
pub(crate) async fn fan_out(
    ctx: OrchestrationContext,
    names: Vec<String>,
) -> Result<usize, String> {
    let start = |name: String| async { ctx.call(notify, name).await };
    let sizes = ctx.map_concurrent(names, 2, start).await;
    let sizes: Result<Vec<usize>, _> = sizes.into_iter().collect();
    Ok(sizes.map_err(|error| error.to_string())?.into_iter().sum())
}
