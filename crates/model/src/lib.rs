//! The protocol between nodes and a store, as a model that a checker explores completely.
//!
//! One instance, two nodes, one operator and a client share a store. The checker tries every order
//! of their steps, with every placement of a bounded number of faults. Time is not a number here:
//! a lease may expire at any moment, which covers every clock.
//!
//! - [`Store`] and its operations (`store`) mirror `crates/conformance/src/reference`: the files
//!   `turn_lock.rs`, `fetch.rs`, `commit.rs`, `direct_turn.rs`, `worker_queue.rs`, `holding.rs`.
//! - What a node does with an answer (`steps`) mirrors `dispatchers`, `turns` and `fast_path` of
//!   `crates/core/src/runtime`.
//! - The code of the instance (`program`) stands for the engine and an orchestration.
//! - A [`Rule`] is one of `docs/internals/fast-path.md` or of the contract of `Provider`.
//! - A [`Promise`] is what `ARCHITECTURE.md` promises of every provider.
//!
//! Each [`Rule`] can be left out. The tests show that the model keeps every [`Promise`] with all
//! rules, and that without any one of them the checker finds a run that breaks the promise named
//! by [`Rule::protects`].

mod action;
mod config;
mod endless;
mod model;
mod program;
mod promise;
mod rule;
mod state;
mod steps;
mod store;
mod symmetry;

pub use action::Action;
pub use config::{Config, Faults, NodeKind};
pub use endless::{Runs, explore_runs};
pub use promise::Promise;
pub use rule::Rule;
pub use state::{Lease, Node, State, Store};
