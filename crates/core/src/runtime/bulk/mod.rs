//! Carries out bulk acts: a durable orchestration that fixes the ids first and then acts on them.
//!
//! Only nodes that have registered this code run it: [`host`] starts a small one, and a program can
//! add [`orchestrations`] and [`activities`] to its own registries. The client starts acts and
//! reads their records; see [`Client::start_bulk`](crate::Client::start_bulk).

mod apply;
mod code;
mod freeze;
mod hosting;
mod one;

pub use hosting::{BulkHost, activities, host, orchestrations};
