//! The quickstart is killed again and again; nothing is lost and no finished step runs twice.
//!
//! The child is this test executable itself with the quickstart compiled in, so that it is always
//! the code at hand and needs no other target to be built first.

#[path = "../../examples/quickstart/cli/mod.rs"]
mod quickstart;

mod child;
mod kills;
mod ledger;
#[cfg(feature = "postgres")]
mod postgres;
mod rng;
mod usage;
