//! What a workload needs of an engine.

use std::path::Path;

use async_trait::async_trait;

use crate::Job;

/// Why something did not work, in the words of the engine.
pub type Failure = String;

/// A running engine on one store.
#[async_trait]
pub trait Engine: Send + Sync {
    /// Starts an instance; an answer means that the start is durable.
    async fn start(&self, id: &str, job: &Job) -> Result<(), Failure>;
    /// Waits for the end of an instance and returns its result.
    async fn finish(&self, id: &str) -> Result<String, Failure>;
    /// Sends a number to an instance that waits for one; an answer means that it is durable.
    async fn signal(&self, id: &str, value: u64) -> Result<(), Failure>;
    /// Waits until an instance has done everything that it can do without a further message.
    async fn quiet(&self, id: &str) -> Result<(), Failure>;
    /// SQL statements run until now, if the engine counts them.
    fn statements(&self) -> Option<u64> {
        None
    }
    /// Stops the engine and closes the store.
    async fn stop(&self) -> Result<(), Failure>;
}

/// Makes engines of one kind.
#[async_trait]
pub trait Opener: Send + Sync {
    /// Name of engine and store, as `--engines` takes it.
    fn name(&self) -> &'static str;
    /// What an answered commit survives.
    fn durability(&self) -> &'static str;
    /// Whether the engine has what the job needs.
    fn can(&self, job: &Job) -> bool;
    /// Opens the store in `folder`, which may hold one already, and starts the engine.
    async fn open(&self, folder: &Path) -> Result<Box<dyn Engine>, Failure>;
}
