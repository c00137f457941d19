//! Runs the command as people and scripts do, on both stores.

mod acting;
mod bulk;
mod documented;
mod following;
mod interrupts;
mod mending;
mod output;
mod reading;
mod refusals;
mod stores;
mod strange;
mod support;
mod transfer;
