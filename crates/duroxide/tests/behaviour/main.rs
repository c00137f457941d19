//! What people rely on, through the real runtime, the real client and the SQLite store.
//!
//! Tests never wait for luck: they wait for a signal or a stored fact, and move the clock.
#![cfg(feature = "sqlite")]

mod activities;
mod builder;
mod cancellation;
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
mod progress;
mod retry;
mod sessions;
mod shutdown;
mod start_limits;
mod status;
mod support;
mod tags;
mod timers;
mod turns;
mod unserved;
mod versions;
