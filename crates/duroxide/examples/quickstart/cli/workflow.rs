//! The order: what happens (activities) and in which order (the orchestration).
//!
//! The names in the attributes are stored with every order. The functions may be renamed, the
//! names must stay.

use duroxide::prelude::*;
use serde::{Deserialize, Serialize};

use super::world::World;

/// The decision about an order: `approve`, or anything else.
pub(crate) const APPROVAL: Signal<String> = Signal::new("approval");
const NO_CARRIER: &str = "Atlantis";

/// What an order is started with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) item: String,
    pub(crate) place: String,
    pub(crate) pace: Duration,
    pub(crate) patience: Duration,
}

/// The whole order. After a kill this function runs again from the top, but every step that is
/// recorded returns its result at once.
#[orchestration(name = "Order", calls(Shop::refund_card, Shop::release_stock))]
pub(crate) async fn order(ctx: OrchestrationContext, order: Order) -> Result<String, String> {
    ctx.call(Shop::reserve_stock, &order).await?;
    ctx.call(Shop::charge_card, &order).await?;

    let refusal = duroxide::select! {
        answer = ctx.wait(APPROVAL) => match answer?.as_str() {
            "approve" => None,
            _ => Some("it was rejected".to_owned()),
        },
        () = ctx.schedule_timer(order.patience) => Some("it was not approved in time".to_owned()),
    };
    if let Some(reason) = refusal {
        return undo(&ctx, &order, &reason).await;
    }

    ctx.schedule_timer(order.pace * 3).await;
    if let Err(reason) = ctx.call(Shop::ship_parcel, &order).await {
        return undo(&ctx, &order, &reason.to_string()).await;
    }
    ctx.call(Shop::send_receipt, &order).await?;
    Ok(format!("{} shipped to {}", order.item, order.place))
}

/// Compensation: undoes the completed steps, last first.
async fn undo(ctx: &OrchestrationContext, order: &Order, reason: &str) -> Result<String, String> {
    ctx.call(Shop::refund_card, order).await?;
    ctx.call(Shop::release_stock, order).await?;
    Ok(format!("{} cancelled: {reason}", order.item))
}

/// The activities, with the world that they act on.
#[derive(Debug)]
pub(crate) struct Shop {
    pub(crate) world: World,
}

#[activity]
impl Shop {
    #[activity(name = "ReserveStock")]
    async fn reserve_stock(&self, ctx: ActivityContext, order: Order) -> Result<String, String> {
        self.act(&ctx, &order).await?;
        Ok(format!("{} set aside", order.item))
    }

    #[activity(name = "ChargeCard")]
    async fn charge_card(&self, ctx: ActivityContext, order: Order) -> Result<String, String> {
        self.act(&ctx, &order).await?;
        Ok("120.00 charged".to_owned())
    }

    #[activity(name = "ShipParcel")]
    async fn ship_parcel(&self, ctx: ActivityContext, order: Order) -> Result<String, String> {
        if order.place == NO_CARRIER {
            self.world.starts(ctx.activity_name());
            tokio::time::sleep(order.pace).await;
            return Err(format!("no carrier ships to {NO_CARRIER}"));
        }
        self.act(&ctx, &order).await?;
        Ok(format!("parcel is on its way to {}", order.place))
    }

    #[activity(name = "SendReceipt")]
    async fn send_receipt(&self, ctx: ActivityContext, order: Order) -> Result<String, String> {
        self.act(&ctx, &order).await?;
        Ok("receipt sent".to_owned())
    }

    #[activity(name = "RefundCard")]
    async fn refund_card(&self, ctx: ActivityContext, order: Order) -> Result<String, String> {
        self.act(&ctx, &order).await?;
        Ok("120.00 paid back".to_owned())
    }

    #[activity(name = "ReleaseStock")]
    async fn release_stock(&self, ctx: ActivityContext, order: Order) -> Result<String, String> {
        self.act(&ctx, &order).await?;
        Ok(format!("{} put back", order.item))
    }

    /// Waits for the pace of the order, and has its effect once.
    async fn act(&self, ctx: &ActivityContext, order: &Order) -> Result<(), String> {
        self.world.starts(ctx.activity_name());
        tokio::time::sleep(order.pace).await;
        let key = format!("{}/{}", ctx.instance_id(), ctx.activity_name());
        let world = self.world.clone();
        let written = tokio::task::spawn_blocking(move || world.record(&key)).await;
        match written {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(format!("cannot write the effects file: {error}")),
            Err(error) => Err(error.to_string()),
        }
    }
}
