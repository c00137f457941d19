//! Recorded histories, replayed by every build, and the checker that replays them.
//!
//! `recorded/` has the histories of 0.1.32, written by `bench/recorder`, and those of this project,
//! written by `record` below. A recording is never edited: a release adds one.

#![cfg(feature = "sqlite")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a test names the variants that it expects")]

mod checking;
mod code;
mod driver;
mod exporting;
mod patches;
mod recorded;
mod speed;
mod starting;
mod stores;
mod support;
mod typed;
