//! A subscription that lives for years: one instance for each customer.
//!
//! - [`subscription()`] bills a period, waits for its end, obeys the [`COMMANDS`] that come
//!   meanwhile, and continues as new: each execution is one period, so the history stays short.
//! - A charge that fails starts the dunning: reminders and further attempts over some days.
//! - By the search attributes `plan`, `state` and `until` an operator finds all that are past due.

mod bank;
mod period;
mod plan;
mod workflow;

pub use bank::{Bank, Bill, PayError};
pub use period::Interval;
pub use plan::Plan;
pub use workflow::{COMMANDS, Command, Ending, Subscription, subscription};
