//! Asks: starts, signals, reads and mends instances through a provider.

mod deliver;
mod ending;
mod error;
mod handle;
mod inspect;
mod kv;
mod live_nodes;
mod open_calls;
mod progress;
mod raw_history;
mod retention;
mod signal;
mod start;
mod status;
mod stranded;
mod stranded_scan;
mod suspension;
mod termination;
#[cfg(test)]
mod tests;
mod unserved;
mod unstarted;
mod wait;

pub use error::ClientError;
pub use handle::Client;
pub(crate) use live_nodes::LiveNodes;
pub use live_nodes::StrandedReason;
pub use start::{StartRequest, Started};
pub use stranded::{StrandedItem, StrandedWork, StrandedWorkPage, StrandedWorkQuery};
pub(crate) use stranded_scan::{Found, Place, scan};
pub use unserved::{UnservedReason, UnservedWork};
pub use unstarted::{UnstartedInstance, UnstartedReason};
