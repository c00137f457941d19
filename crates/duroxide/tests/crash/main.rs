//! Kills the quickstart repeatedly: nothing is lost and no completed step runs again.
//!
//! The child is this test executable with the quickstart compiled in, so that it always runs the
//! current code and needs no other target.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test names the variants that it expects")]

#[path = "../../examples/quickstart/cli/mod.rs"]
mod quickstart;

mod child;
mod kills;
mod ledger;
#[cfg(feature = "postgres")]
mod postgres;
mod rng;
mod usage;
