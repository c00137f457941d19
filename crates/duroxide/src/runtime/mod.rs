//! Runs a node: registries, options, observability, start and shutdown.

mod builder;
mod handle;

pub use builder::{DuroxideRuntime, RuntimeBuildError, RuntimeBuilder};
pub use duroxide_core::runtime::*;
pub use handle::Runtime;
