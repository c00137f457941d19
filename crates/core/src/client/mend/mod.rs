//! Mends instances: runs a failed one again from its failure, resets one to an event, or forks it.
//!
//! History stays append-only: a mended instance gets a new execution that carries the kept events
//! of the old one. The composition of that execution is pure; the store takes it in one call.

mod children;
mod compose;
mod cut;
mod fork;
mod keys;
mod open;
mod options;
mod perform;
mod plan;
mod planning;
mod reset;
mod retry;
mod settle;
mod source;

pub use options::{LaterMessages, LaterResults, MendChildren, MendOptions, MendPoint};
pub use plan::{
    ActivityToRun, ChildAct, ChildPlan, DroppedEvent, MendPlan, ReappliedEvent, SetTimer,
};
