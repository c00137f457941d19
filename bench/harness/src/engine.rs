//! The interface between workloads and engines.

use std::path::Path;

use async_trait::async_trait;

use crate::Job;

/// The error text of an engine.
pub type Failure = String;

/// A running engine on one store.
#[async_trait]
pub trait Engine: Send + Sync {
    /// Starts an instance; the start is durable when this returns.
    async fn start(&self, id: &str, job: &Job) -> Result<(), Failure>;
    /// Waits until an instance has completed and returns its result.
    async fn finish(&self, id: &str) -> Result<String, Failure>;
    /// Sends a number to an instance that waits for one; the message is durable when this returns.
    async fn signal(&self, id: &str, value: u64) -> Result<(), Failure>;
    /// Waits until an instance can make no progress without a further message.
    async fn wait_until_idle(&self, id: &str) -> Result<(), Failure>;
    /// SQL statements run until now, if the engine counts them.
    fn statements(&self) -> Option<u64> {
        None
    }
    /// Stops the engine and closes the store.
    async fn stop(&self) -> Result<(), Failure>;
}

/// Opens engines of one kind.
#[async_trait]
pub trait Opener: Send + Sync {
    /// Name of engine and store, as in `--engines`.
    fn name(&self) -> &'static str;
    /// Which failures a committed transaction survives.
    fn durability(&self) -> &'static str;
    /// Whether the engine has the features that the job needs.
    fn supports(&self, job: &Job) -> bool;
    /// Opens the store in `folder`, creating it if there is none, and starts the engine.
    async fn open(&self, folder: &Path) -> Result<Box<dyn Engine>, Failure>;
}
