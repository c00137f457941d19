//! Asks: starts, signals, reads and mends instances through a provider.

mod deliver;
mod error;
mod handle;
mod inspect;
mod kv;
mod progress;
mod retention;
mod signal;
mod start;
mod status;
mod suspension;
#[cfg(test)]
mod tests;
mod unserved;
mod unstarted;
mod wait;

pub use error::ClientError;
pub use handle::Client;
pub use start::{StartRequest, Started};
pub use unserved::{UnservedReason, UnservedWork};
pub(crate) use unstarted::is_stranded;
pub use unstarted::{UnstartedInstance, UnstartedReason};
