//! An order saga behind an HTTP API: reserve, charge, ship. What was done is undone if a later step
//! fails or if the customer withdraws the order.

pub mod api;
mod ledger;
pub mod shop;
pub mod workflow;
