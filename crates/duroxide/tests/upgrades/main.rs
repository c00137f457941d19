//! Upgrades of a cluster of real processes that share one store: a good one, a rollback and a bad
//! one.
//!
//! A node acts as the version of Duroxide that its deployment names; only "2.0.0" writes and
//! decodes the kinds of events that the feature `replay-version-test` adds.
#![cfg(all(unix, feature = "replay-version-test", any(feature = "sqlite", feature = "postgres")))]

#[macro_use]
#[path = "../processes/stores.rs"]
mod stores;

#[path = "../processes/cluster.rs"]
mod cluster;
#[path = "../processes/journal.rs"]
mod journal;
#[path = "../processes/node_process.rs"]
mod node_process;

mod bad;
mod code;
mod counted_fetches;
mod deployment;
mod load;
mod node;
mod rolling;
mod work;
