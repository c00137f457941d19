//! Leases, fencing, routing and cancellation between real processes that share one store, and what
//! must hold on every store.
//!
//! A process is killed by SIGKILL and paused by SIGSTOP, so these run on Unix only. Each case runs
//! on every store that is compiled in.
#![cfg(all(unix, any(feature = "sqlite", feature = "postgres")))]

#[macro_use]
mod stores;

mod cancelling;
mod cluster;
mod code;
mod counters;
mod journal;
mod killed;
mod long;
mod node;
mod node_process;
mod paused;
mod routing;
mod sessions;
mod spreading;
mod stranded_cancels;
#[cfg(feature = "sqlite")]
mod taken_over;
mod terminating;
