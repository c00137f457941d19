//! Instances that an operator mends: retried from their failure, reset to an event, forked. Every
//! case runs on both stores, with the real runtime.

#![cfg(feature = "sqlite")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a test names the variants that it expects")]

#[macro_use]
mod support;

mod bulk;
mod bulk_versions;
mod children;
mod edits;
mod failures;
mod forks;
mod keys;
mod messages;
mod operators;
mod prefixes;
mod retention;
mod running;
