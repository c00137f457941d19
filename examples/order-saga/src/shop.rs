//! The activities: warehouse, bank and carrier. Here they write into a file; real ones call other
//! services, with a key by which those recognize a repeated call.

use std::io;
use std::path::PathBuf;

use duroxide::prelude::*;
use serde::{Deserialize, Serialize};

use crate::ledger::Ledger;
use crate::workflow::Order;

/// Goods that are set aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation(pub String);

/// Money that was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payment(pub String);

/// Goods on their way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parcel {
    /// Number by which the carrier finds it.
    pub tracking: String,
}

/// Why nothing is reserved or released.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum StockError {
    /// There is none left.
    #[error("{item} is sold out")]
    SoldOut {
        /// The article.
        item: String,
    },
    /// The call may be repeated.
    #[error("the warehouse does not respond: {0}")]
    Down(String),
}

/// Why nothing is charged or refunded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum PayError {
    /// The bank refuses.
    #[error("the card {card} is declined")]
    Declined {
        /// Number of the card.
        card: String,
    },
    /// The call may be repeated.
    #[error("the bank does not respond: {0}")]
    Down(String),
}

/// Why nothing is shipped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum ShipError {
    /// The carriers do not serve the place.
    #[error("no carrier goes to {city}")]
    NoCarrier {
        /// The place.
        city: String,
    },
    /// The call may be repeated.
    #[error("the carrier does not respond: {0}")]
    Down(String),
}

impl Retryable for StockError {
    fn retry_hint(&self) -> RetryHint {
        match self {
            Self::SoldOut { .. } => RetryHint::Never,
            Self::Down(_) => RetryHint::Policy,
        }
    }
}

impl Retryable for PayError {
    fn retry_hint(&self) -> RetryHint {
        match self {
            Self::Declined { .. } => RetryHint::Never,
            Self::Down(_) => RetryHint::Policy,
        }
    }
}

impl Retryable for ShipError {
    fn retry_hint(&self) -> RetryHint {
        match self {
            Self::NoCarrier { .. } => RetryHint::Never,
            Self::Down(_) => RetryHint::Policy,
        }
    }
}

/// The services behind the activities.
#[derive(Debug)]
pub struct Shop {
    ledger: Ledger,
}

impl Shop {
    /// A shop that notes what it does in this file.
    pub fn new(ledger: PathBuf) -> Self {
        Self { ledger: Ledger::new(ledger) }
    }

    /// Notes an effect of an order, once however often the step runs. Returns its number.
    fn note(&self, ctx: &ActivityContext, what: &str) -> io::Result<String> {
        // An order has each step once, so this names the effect.
        let key = format!("{}/{}", ctx.instance_id(), ctx.activity_name());
        self.ledger.note_once(&key, what)?;
        Ok(key)
    }
}

// Timeouts are longer than the lease of an activity, 30 s: when a node dies, another one runs its
// activities after that time. Effects have keys, so that an attempt after a timeout is safe.
#[activity]
impl Shop {
    /// Sets the article aside.
    #[activity(timeout = "2m", retry(attempts = 5, backoff = "1s", max = "1m", timeouts))]
    pub async fn reserve(
        &self,
        ctx: ActivityContext,
        order: Order,
    ) -> Result<Reservation, StockError> {
        if order.item == "unicorn" {
            return Err(StockError::SoldOut { item: order.item });
        }
        let noted = self.note(&ctx, &order.item);
        noted.map(Reservation).map_err(|error| StockError::Down(error.to_string()))
    }

    /// Puts the article back.
    #[activity(timeout = "2m", retry(attempts = 50, backoff = "1s", max = "1m", timeouts))]
    pub async fn release(
        &self,
        ctx: ActivityContext,
        reservation: Reservation,
    ) -> Result<(), StockError> {
        let noted = self.note(&ctx, &reservation.0);
        noted.map(drop).map_err(|error| StockError::Down(error.to_string()))
    }

    /// Takes the money.
    #[activity(timeout = "2m", retry(attempts = 5, backoff = "1s", max = "1m", timeouts))]
    pub async fn charge(&self, ctx: ActivityContext, order: Order) -> Result<Payment, PayError> {
        if order.card == "0000" {
            return Err(PayError::Declined { card: order.card });
        }
        let noted = self.note(&ctx, &format!("{} cents", order.cents));
        noted.map(Payment).map_err(|error| PayError::Down(error.to_string()))
    }

    /// Returns the money.
    #[activity(timeout = "2m", retry(attempts = 50, backoff = "1s", max = "1m", timeouts))]
    pub async fn refund(&self, ctx: ActivityContext, payment: Payment) -> Result<(), PayError> {
        let noted = self.note(&ctx, &payment.0);
        noted.map(drop).map_err(|error| PayError::Down(error.to_string()))
    }

    /// Sends the parcel.
    #[activity(timeout = "2m", retry(attempts = 5, backoff = "1s", max = "1m", timeouts))]
    pub async fn ship(&self, ctx: ActivityContext, order: Order) -> Result<Parcel, ShipError> {
        if order.city == "Atlantis" {
            return Err(ShipError::NoCarrier { city: order.city });
        }
        let noted = self.note(&ctx, &order.city);
        let parcel = noted.map(|tracking| Parcel { tracking });
        parcel.map_err(|error| ShipError::Down(error.to_string()))
    }
}
