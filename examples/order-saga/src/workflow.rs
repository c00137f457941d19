//! The saga: what happens to an order, and what is undone if it fails.

use duroxide::CancelRequest;
use duroxide::prelude::*;
use serde::{Deserialize, Serialize};

use crate::shop::{Parcel, PayError, ShipError, Shop, StockError};

/// What a customer orders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Name of the article.
    pub item: String,
    /// The price.
    pub cents: u64,
    /// Number of the card to charge.
    pub card: String,
    /// Where the parcel goes.
    pub city: String,
    /// How long the order is packed. Until then the customer can withdraw it.
    #[serde(default)]
    pub packing_seconds: u64,
}

/// Why an order is not shipped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum OrderError {
    /// Nothing was reserved.
    #[error(transparent)]
    Stock(#[from] CallError<StockError>),
    /// Nothing was charged.
    #[error(transparent)]
    Payment(#[from] CallError<PayError>),
    /// Nothing was shipped.
    #[error(transparent)]
    Shipping(#[from] CallError<ShipError>),
    /// The customer does not want it any more.
    #[error("withdrawn: {reason}")]
    Withdrawn {
        /// What the customer said.
        reason: String,
    },
}

impl From<CancelRequest> for OrderError {
    fn from(request: CancelRequest) -> Self {
        Self::Withdrawn { reason: request.reason }
    }
}

/// Reserves, charges and ships. The custom status names the step.
///
/// A withdrawal takes effect between steps and while the order is packed. It does not interrupt a
/// step: a charge that is given up halfway could still arrive at the bank after its refund.
#[orchestration(version = "1.0.0")]
pub async fn fulfil(ctx: OrchestrationContext, order: Order) -> Result<Parcel, OrderError> {
    let mut saga = ctx.saga();
    let steps = async {
        ctx.set_custom_status("reserving");
        let reservation = ctx.call(Shop::reserve, &order).await?;
        saga.on_error("reserve", {
            let ctx = ctx.clone();
            move || async move { ctx.call(Shop::release, reservation).await }
        });

        still_wanted(&ctx)?;
        ctx.set_custom_status("charging");
        let payment = ctx.call(Shop::charge, &order).await?;
        saga.on_error("charge", {
            let ctx = ctx.clone();
            move || async move { ctx.call(Shop::refund, payment).await }
        });

        ctx.set_custom_status("packing");
        let packed = ctx.schedule_timer(Duration::from_secs(order.packing_seconds));
        ctx.cancellable(packed).await?;

        ctx.set_custom_status("shipping");
        Ok::<Parcel, OrderError>(ctx.call(Shop::ship, &order).await?)
    };
    let outcome = steps.await;
    ctx.set_custom_status(if outcome.is_ok() { "shipped" } else { "undoing" });
    let outcome = saga.finish(outcome).await;
    if outcome.is_err() {
        ctx.set_custom_status("undone");
    }
    outcome
}

fn still_wanted(ctx: &OrchestrationContext) -> Result<(), OrderError> {
    ctx.cancel_request().map_or(Ok(()), |request| Err(request.into()))
}
