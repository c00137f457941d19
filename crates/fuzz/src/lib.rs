//! Fuzzing on the stable toolchain: a number leads to an input, an input to a verdict.
//!
//! Each [`Target`] is a reader of texts that come from outside: rows, files, command lines. Its
//! inputs are the files of `corpus/<target>`, changed by a [mutation] that knows bytes, words, JSON
//! and lines. A seed always gives the same input, so that every failure can be repeated. A target
//! fails if it panics, takes too long, or breaks one of its rules, such as that what was read
//! prints back to the same value.
//!
//! [`rows`] changes what is stored, with SQL beside the provider, while a node works.

mod corpus;
pub mod mutation;
mod rng;
pub mod rows;
mod runner;
mod target;
mod targets;

pub use corpus::keep;
pub use rng::Rng;
pub use runner::{Failure, Run, Runner};
pub use target::{Target, Verdict};
pub use targets::TARGETS;
