//! What the writer thread runs for its callers.

use duroxide_core::providers::ProviderError;
use tokio::sync::oneshot;

use crate::error::JobError;
use crate::write::writer::Tx;

/// Releases leases whose caller did not receive them.
pub(crate) type Undo<T> = fn(&mut Tx<'_>, &T) -> Result<(), JobError>;

pub(crate) type Work<T> = Box<dyn FnMut(&mut Tx<'_>) -> Result<T, JobError> + Send>;

/// A job as the writer thread sees it.
pub(crate) trait Job: Send {
    /// Whether its changes must survive a power loss.
    fn is_durable(&self) -> bool;
    /// Whether it acquires leases, which are released if the caller is gone.
    fn acquires_leases(&self) -> bool;
    /// Whether the caller is gone.
    fn is_abandoned(&self) -> bool;
    /// Does the work, again if its changes were undone; false if it failed and they must be undone.
    fn run(&mut self, tx: &mut Tx<'_>) -> bool;
    /// Why its last run failed.
    fn failure(&self) -> Option<String> {
        None
    }
    /// Replaces a good outcome: the changes did not last.
    fn fail(&mut self, error: &JobError);
    /// Responds to the caller; returns the job that must follow if the caller is gone.
    fn respond(self: Box<Self>) -> Option<Box<dyn Job>>;
}

/// A job and the channel to its caller.
pub(crate) struct TypedJob<T> {
    pub(crate) operation: &'static str,
    pub(crate) work: Work<T>,
    pub(crate) outcome: Option<Result<T, ProviderError>>,
    /// `None` if no caller waits for the outcome.
    pub(crate) reply: Option<oneshot::Sender<Result<T, ProviderError>>>,
    pub(crate) undo: Option<Undo<T>>,
    pub(crate) durable: bool,
}

impl<T> TypedJob<T> {
    pub(crate) fn new(operation: &'static str, work: Work<T>) -> Self {
        Self { operation, work, outcome: None, reply: None, undo: None, durable: true }
    }
}

impl<T: Send + 'static> Job for TypedJob<T> {
    fn is_durable(&self) -> bool {
        self.durable
    }

    fn acquires_leases(&self) -> bool {
        self.undo.is_some()
    }

    fn is_abandoned(&self) -> bool {
        self.reply.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    fn run(&mut self, tx: &mut Tx<'_>) -> bool {
        self.outcome = None;
        // Without a caller no lease is acquired.
        if self.acquires_leases() && self.is_abandoned() {
            return true;
        }
        let outcome = (self.work)(tx).map_err(|error| error.during(self.operation));
        let good = outcome.is_ok();
        self.outcome = Some(outcome);
        good
    }

    fn failure(&self) -> Option<String> {
        let error = self.outcome.as_ref()?.as_ref().err()?;
        Some(error.to_string())
    }

    fn fail(&mut self, error: &JobError) {
        if !matches!(self.outcome, Some(Err(_))) {
            self.outcome = Some(Err(error.during(self.operation)));
        }
    }

    fn respond(self: Box<Self>) -> Option<Box<dyn Job>> {
        let operation = self.operation;
        let outcome = self.outcome?;
        let unsent = match self.reply {
            Some(reply) => reply.send(outcome).err()?,
            None => outcome,
        };
        let undelivered = match unsent {
            Ok(value) => value,
            Err(error) => {
                tracing::warn!(
                    target: "duroxide::providers::sqlite",
                    operation,
                    %error,
                    "a storage job failed and its caller is gone; discarding the error"
                );
                return None;
            }
        };
        let undo = self.undo?;
        Some(Box::new(TypedJob::new(operation, Box::new(move |tx| undo(tx, &undelivered)))))
    }
}
