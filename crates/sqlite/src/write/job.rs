//! What the writer thread runs for its callers.

use duroxide_core::providers::ProviderError;
use tokio::sync::oneshot;

use crate::error::JobError;
use crate::write::writer::Tx;

/// Takes a lease back whose answer was not taken.
pub(crate) type Undo<T> = fn(&mut Tx<'_>, &T) -> Result<(), JobError>;

pub(crate) type Work<T> = Box<dyn FnMut(&mut Tx<'_>) -> Result<T, JobError> + Send>;

/// A job as the writer thread sees it.
pub(crate) trait Job: Send {
    /// Whether its changes have to survive a loss of power.
    fn is_durable(&self) -> bool;
    /// Whether it takes leases, which go back if nobody waits for them any more.
    fn takes_leases(&self) -> bool;
    /// Whether whoever asked has gone away.
    fn is_unheard(&self) -> bool;
    /// Does the work, again if its changes were undone; false if it failed and they have to be.
    fn run(&mut self, tx: &mut Tx<'_>) -> bool;
    /// Replaces a good outcome: the changes did not last.
    fn fail(&mut self, error: &JobError);
    /// Answers the caller; the job that has to follow if nobody listens.
    fn answer(self: Box<Self>) -> Option<Box<dyn Job>>;
}

/// A job and whoever waits for its outcome.
pub(crate) struct TypedJob<T> {
    pub(crate) operation: &'static str,
    pub(crate) work: Work<T>,
    pub(crate) outcome: Option<Result<T, ProviderError>>,
    /// `None` if nobody waits for the answer.
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

    fn takes_leases(&self) -> bool {
        self.undo.is_some()
    }

    fn is_unheard(&self) -> bool {
        self.reply.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    fn run(&mut self, tx: &mut Tx<'_>) -> bool {
        self.outcome = None;
        // A lease that nobody waits for any more is not taken.
        if self.takes_leases() && self.is_unheard() {
            return true;
        }
        let outcome = (self.work)(tx).map_err(|error| error.during(self.operation));
        let good = outcome.is_ok();
        self.outcome = Some(outcome);
        good
    }

    fn fail(&mut self, error: &JobError) {
        if !matches!(self.outcome, Some(Err(_))) {
            self.outcome = Some(Err(error.during(self.operation)));
        }
    }

    fn answer(self: Box<Self>) -> Option<Box<dyn Job>> {
        let operation = self.operation;
        let outcome = self.outcome?;
        let unheard = match self.reply {
            Some(reply) => reply.send(outcome).err()?,
            None => outcome,
        };
        let undelivered = match unheard {
            Ok(value) => value,
            Err(error) => {
                tracing::warn!(%error, "a storage job failed and nobody waits for its answer");
                return None;
            }
        };
        let undo = self.undo?;
        Some(Box::new(TypedJob::new(operation, Box::new(move |tx| undo(tx, &undelivered)))))
    }
}
