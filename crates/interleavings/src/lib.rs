//! Concurrent parts of the product under `shuttle`, which decides at every lock and every atomic
//! operation which thread goes on, and repeats a run from its seed.
//!
//! The files are those of the product, included by their path. They name their primitives by
//! `super::sync`, which is the standard library there and `shuttle` here, and what else they use is
//! small enough to stand beside them.

pub mod fast_path;
mod limits;
mod runtime;
