//! Jobs that take long and run in slices, each in a commit of its own, so that other jobs run in
//! between.

use std::ops::AddAssign;

use duroxide_core::providers::ProviderError;
use tokio::sync::oneshot;

use crate::error::JobError;
use crate::write::job::Job;
use crate::write::writer::{Tx, Writer, closed};

/// What one slice did.
#[derive(Debug)]
pub(crate) struct Slice<T> {
    pub(crate) done: T,
    /// Whether nothing is left to do.
    pub(crate) is_last: bool,
}

type Work<T> = Box<dyn FnMut(&mut Tx<'_>, usize) -> Result<Slice<T>, JobError> + Send>;

/// A job in slices and the channel to its caller. What the slices do adds up.
struct SlicedJob<T> {
    operation: &'static str,
    work: Work<T>,
    /// Slices that are committed.
    number: usize,
    total: T,
    outcome: Option<Result<Slice<T>, ProviderError>>,
    /// `None` if no caller waits for the outcome.
    reply: Option<oneshot::Sender<Result<T, ProviderError>>>,
}

impl Writer {
    /// Runs slices until one is the last. Returns the sum once the last is durable, and with it all
    /// before. They run even if the caller drops the future. `work` gets the number of the slice;
    /// one that was undone runs again under the same number.
    pub(crate) async fn run_in_slices<T: AddAssign + Default + Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnMut(&mut Tx<'_>, usize) -> Result<Slice<T>, JobError> + Send + 'static,
    ) -> Result<T, ProviderError> {
        let (reply, response) = oneshot::channel();
        self.send(Box::new(SlicedJob::new(operation, work, Some(reply))));
        response.await.map_err(|_| closed(operation))?
    }

    /// Like [`run_in_slices`](Self::run_in_slices), without a caller that waits.
    pub(crate) fn start_slices<T: AddAssign + Default + Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnMut(&mut Tx<'_>, usize) -> Result<Slice<T>, JobError> + Send + 'static,
    ) {
        self.send(Box::new(SlicedJob::new(operation, work, None)));
    }
}

impl<T: Default> SlicedJob<T> {
    fn new(
        operation: &'static str,
        work: impl FnMut(&mut Tx<'_>, usize) -> Result<Slice<T>, JobError> + Send + 'static,
        reply: Option<oneshot::Sender<Result<T, ProviderError>>>,
    ) -> Self {
        let work = Box::new(work);
        Self { operation, work, number: 0, total: T::default(), outcome: None, reply }
    }

    fn continues(&self) -> bool {
        matches!(&self.outcome, Some(Ok(slice)) if !slice.is_last)
    }
}

impl<T: AddAssign + Default + Send + 'static> Job for SlicedJob<T> {
    /// Only the last slice waits for the disk: the log keeps the order of commits.
    fn is_durable(&self) -> bool {
        self.reply.is_some() && !self.continues()
    }

    fn acquires_leases(&self) -> bool {
        false
    }

    fn is_abandoned(&self) -> bool {
        self.reply.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    fn run(&mut self, tx: &mut Tx<'_>) -> bool {
        let outcome = (self.work)(tx, self.number);
        let good = outcome.is_ok();
        self.outcome = Some(outcome.map_err(|error| error.during(self.operation)));
        good
    }

    fn fail(&mut self, error: &JobError) {
        if !matches!(self.outcome, Some(Err(_))) {
            self.outcome = Some(Err(error.during(self.operation)));
        }
    }

    fn respond(mut self: Box<Self>) -> Option<Box<dyn Job>> {
        match self.outcome.take()? {
            Ok(slice) => {
                self.total += slice.done;
                self.number += 1;
                if !slice.is_last {
                    return Some(self);
                }
                let total = std::mem::take(&mut self.total);
                if let Some(reply) = self.reply.take() {
                    // The caller may be gone; the work is done.
                    drop(reply.send(Ok(total)));
                }
            }
            Err(error) => match self.reply.take() {
                Some(reply) => drop(reply.send(Err(error))),
                None => tracing::warn!(
                    target: "duroxide::providers::sqlite",
                    operation = self.operation,
                    %error,
                    "a storage job in slices failed; it continues when the database is opened"
                ),
            },
        }
        None
    }
}
