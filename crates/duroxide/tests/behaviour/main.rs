//! What people rely on, through the real runtime, the real client and the SQLite store.
//!
//! Tests never wait for luck: they wait for a signal or a stored fact, and move the clock.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test names the variants that it expects")]
#![cfg(feature = "sqlite")]

mod activities;
mod ahead;
mod blocking;
mod builder;
mod cancellation;
mod cancellation_causes;
mod children;
mod client;
mod continue_as_new;
mod determinism;
mod direct;
mod direct_slots;
mod doomed;
mod events;
mod faults;
mod faulty;
mod kv;
mod metrics;
mod panics;
mod panics_of_the_store;
mod progress;
mod retry;
mod session_life;
mod session_slots;
mod sessions;
mod shutdown;
mod shutdown_under_load;
mod start_limits;
mod status;
mod support;
mod tags;
mod timers;
mod turns;
mod unserved;
mod versions;
