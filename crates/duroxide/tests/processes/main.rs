//! Leases, fencing and cancellation between real processes that share one store.
//!
//! A process is killed by SIGKILL and paused by SIGSTOP, so these run on Unix only. The store is
//! named by its URL: `DUROXIDE_PROCESSES_STORE` puts another one under the same tests.
#![cfg(all(unix, feature = "sqlite"))]

mod cancelling;
mod code;
mod diary;
mod killed;
mod long;
mod node;
mod paused;
mod place;
mod sessions;
