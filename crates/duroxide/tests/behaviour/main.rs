//! Promised behaviour, tested through the real runtime, the real client and the SQLite store.
//!
//! Tests wait for a notification or a stored event, and move the clock. `docs/internals/rules.md`
//! states the rules of replay that several groups rely on.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test names the variants that it expects")]
#![cfg(feature = "sqlite")]

mod activities;
mod blocking;
mod bounds;
mod builder;
mod cancel_requests;
mod cancellation;
mod cancellation_causes;
mod children;
mod client;
mod continue_as_new;
mod crashing_node;
mod dashboards;
mod determinism;
mod direct;
mod direct_slots;
mod events;
mod faults;
mod faulty;
mod files;
mod gauges;
mod initiators;
mod innocent;
mod kv;
mod late_leases;
mod metrics;
mod panics;
mod patches;
mod prefetch;
mod progress;
mod queries;
mod replay_every_turn;
mod replay_ranges;
mod retry;
mod session_life;
mod session_slots;
mod sessions;
mod shutdown;
mod shutdown_under_load;
mod start_limits;
mod status;
mod store_panics;
mod stranded;
mod stranded_cancels;
mod support;
mod suspension;
mod sweeper;
mod tags;
mod timers;
mod traces;
mod turn_clock;
mod turns;
mod unserved;
mod versions;
mod wrong_calls;
