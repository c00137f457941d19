//! Functions with `#[activity]` and `#[orchestration]`: calls, registrations, errors and retries.

#![cfg(all(feature = "sqlite", feature = "macros"))]

mod continuing;
mod conversions;
mod errors;
mod handles;
mod mixed;
mod options;
mod retries;
mod same_history;
mod shape;
mod state;
mod support;
