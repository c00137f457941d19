//! Replays recorded events, and turns new messages into events and actions.
//!
//! An [`Execution`] is a value: the orchestration's future, its schedules and its events.
//! It has no clock, no randomness, no I/O and no async runtime, and keeps these promises:
//!
//! 1. One path: recorded events and new ones are fed by the same function, the code is polled
//!    between them by the same rule, and new schedules are recorded one at a time, each as if it
//!    were read back. What is decided live is decided again on replay.
//! 2. Events are numbered in the order in which they are fed: first the messages of the turn, then
//!    what the code asked for, then the futures that it dropped, then the last event.
//! 3. A turn that fails for a fault or a limit records its messages and the failure, and nothing
//!    that the code asked for or dropped in that turn.
//! 4. Only the engine wakes the code. Any other wake-up is a fault with a name.

mod actions;
mod cancel;
mod cancel_request;
mod execution;
mod feed;
mod finish;
mod inputs;
mod json;
mod ledger;
mod limits;
mod matching;
mod mending;
mod record;
mod roles;
mod stage;
mod turn;
mod verify;
mod waker;

pub use execution::Execution;
pub use inputs::IgnoredInputs;
pub use turn::{AnsweredCall, Parent, Setup, Turn, TurnResult};
pub use verify::{Agreement, Disagreement};
pub use waker::FOREIGN_WAKE_SIGNAL;
