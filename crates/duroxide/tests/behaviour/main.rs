//! What people rely on, through the real runtime, the real client and the SQLite store.
//!
//! Tests never wait for luck: they wait for a signal or a stored fact, and move the clock.
#![cfg(feature = "sqlite")]

mod activities;
mod cancellation;
mod events;

mod support;
mod timers;
mod turns;
