//! The key-value store of an instance.

mod across_executions;
mod basics;
mod deletion;
mod delta;
mod list;
mod snapshot;
mod values;

pub use across_executions::*;
pub use basics::*;
pub use deletion::*;
pub use delta::*;
pub use snapshot::*;
