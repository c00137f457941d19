//! The feature `replay-version-test`: kinds of events that only a node "2.0" knows, and processes
//! that act as another version.

#![cfg(all(feature = "replay-version-test", feature = "sqlite"))]
#![expect(clippy::wildcard_enum_match_arm, reason = "a test names the variants that it expects")]

mod kinds;
mod nodes;
