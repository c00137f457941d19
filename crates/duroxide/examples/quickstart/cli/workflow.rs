//! The order: what happens (activities) and in which order (the orchestration).

use std::time::Duration;

use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{ActivityContext, Either2, OrchestrationContext, OrchestrationRegistry};
use serde::{Deserialize, Serialize};

use super::world::World;

pub(crate) const ORCHESTRATION: &str = "Order";
pub(crate) const APPROVAL: &str = "approval";
const NO_CARRIER: &str = "Atlantis";

/// What an order is started with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) item: String,
    pub(crate) place: String,
    pub(crate) pace: Duration,
    pub(crate) patience: Duration,
}

pub(crate) fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder().register_typed(ORCHESTRATION, order).build()
}

/// The whole order. After a kill this function runs again from the top, but every step that is
/// recorded returns its result at once.
async fn order(ctx: OrchestrationContext, order: Order) -> Result<String, String> {
    step(&ctx, "ReserveStock", &order).await?;
    step(&ctx, "ChargeCard", &order).await?;

    let answer = ctx.schedule_wait(APPROVAL);
    let too_late = ctx.schedule_timer(order.patience);
    let refusal = match ctx.select2(answer, too_late).await {
        Either2::First(answer) if answer == "approve" => None,
        Either2::First(_) => Some("it was rejected".to_owned()),
        Either2::Second(()) => Some("it was not approved in time".to_owned()),
    };
    if let Some(reason) = refusal {
        return undo(&ctx, &order, &reason).await;
    }

    ctx.schedule_timer(order.pace * 3).await;
    if let Err(reason) = step(&ctx, "ShipParcel", &order).await {
        return undo(&ctx, &order, &reason).await;
    }
    step(&ctx, "SendReceipt", &order).await?;
    Ok(format!("{} shipped to {}", order.item, order.place))
}

/// Compensation: undoes the completed steps, last first.
async fn undo(ctx: &OrchestrationContext, order: &Order, reason: &str) -> Result<String, String> {
    step(ctx, "RefundCard", order).await?;
    step(ctx, "ReleaseStock", order).await?;
    Ok(format!("{} cancelled: {reason}", order.item))
}

async fn step(ctx: &OrchestrationContext, name: &str, order: &Order) -> Result<String, String> {
    ctx.schedule_activity_typed(name, order).await
}

pub(crate) fn activities(world: &World) -> ActivityRegistry {
    let effect = |said: fn(&Order) -> String| {
        let world = world.clone();
        move |ctx: ActivityContext, order: Order| act(ctx, order, world.clone(), said)
    };
    let ship = {
        let world = world.clone();
        move |ctx: ActivityContext, order: Order| ship(ctx, order, world.clone())
    };
    ActivityRegistry::builder()
        .register_typed("ReserveStock", effect(|order| format!("{} set aside", order.item)))
        .register_typed("ChargeCard", effect(|_| "120.00 charged".to_owned()))
        .register_typed("ShipParcel", ship)
        .register_typed("SendReceipt", effect(|_| "receipt sent".to_owned()))
        .register_typed("RefundCard", effect(|_| "120.00 paid back".to_owned()))
        .register_typed("ReleaseStock", effect(|order| format!("{} put back", order.item)))
        .build()
}

async fn ship(ctx: ActivityContext, order: Order, world: World) -> Result<String, String> {
    if order.place == NO_CARRIER {
        world.starts(ctx.activity_name());
        tokio::time::sleep(order.pace).await;
        return Err(format!("no carrier ships to {NO_CARRIER}"));
    }
    act(ctx, order, world, |order| format!("parcel is on its way to {}", order.place)).await
}

/// Waits for the pace of the order, has its effect once, and returns what it did.
async fn act(
    ctx: ActivityContext,
    order: Order,
    world: World,
    said: fn(&Order) -> String,
) -> Result<String, String> {
    world.starts(ctx.activity_name());
    tokio::time::sleep(order.pace).await;
    let key = format!("{}/{}", ctx.instance_id(), ctx.activity_name());
    let written = tokio::task::spawn_blocking(move || world.record(&key)).await;
    match written {
        Ok(Ok(())) => Ok(said(&order)),
        Ok(Err(error)) => Err(format!("cannot write the effects file: {error}")),
        Err(error) => Err(error.to_string()),
    }
}
