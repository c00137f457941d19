//! Model, engine, provider contract, client and runtime of Duroxide.
//!
//! Programs depend on the crate `duroxide`, which shows all of this under stable paths. The layers
//! are `model <- typed <- context <- engine`, `model <- providers <- client`, and `runtime` uses
//! all; `ARCHITECTURE.md` lists exactly which module uses which.

pub mod client;
pub mod clock;
pub mod context;
pub mod engine;
mod event_stamp;
pub mod histories;
pub mod limits;
pub mod model;
pub mod observability;
mod panics;
pub mod providers;
pub mod query;
pub mod runtime;
pub mod transfer;
pub mod typed;

pub use client::{Client, ClientError};
pub use context::{
    ActivityOptions, Cancelled, DurableFuture, Elapsed, OrchestrationContext, Saga, UndoFailure,
};
pub use model::*;
pub use runtime::ActivityContext;
