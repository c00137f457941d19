//! Steps that are undone when a later one fails.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use super::orchestration::OrchestrationContext;

type Undoing = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

struct Undo {
    step: String,
    start: Box<dyn FnOnce() -> Undoing + Send>,
}

/// The undo of each completed step of a workflow. If the workflow fails, they run backwards.
///
/// An undo is ordinary orchestration code, so it is durable: after a crash it goes on where it was.
/// An undo that fails does not stop the others; let it retry what is worth retrying. Dropping a
/// saga runs nothing.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
/// use duroxide::{OrchestrationContext, Saga};
///
/// async fn trip(ctx: OrchestrationContext, city: String) -> Result<String, String> {
///     let mut saga = ctx.saga();
///     let booked = book(&ctx, &mut saga, city).await;
///     // If a step failed, this cancels the hotel, then the flight, and returns the error.
///     saga.finish(booked).await
/// }
///
/// async fn book(
///     ctx: &OrchestrationContext,
///     saga: &mut Saga,
///     city: String,
/// ) -> Result<String, String> {
///     let flight = ctx.schedule_activity("BookFlight", city.clone()).await?;
///     let (undo, booking) = (ctx.clone(), flight.clone());
///     saga.on_error("flight", move || async move {
///         undo.schedule_activity("CancelFlight", booking).await
///     });
///     let hotel = ctx.schedule_activity("BookHotel", city).await?;
///     let (undo, booking) = (ctx.clone(), hotel.clone());
///     saga.on_error("hotel", move || async move {
///         undo.schedule_activity("CancelHotel", booking).await
///     });
///     let paid = ctx.schedule_activity("Charge", format!("{flight} {hotel}")).await?;
///     Ok(format!("{flight}, {hotel}, {paid}"))
/// }
/// ```
#[must_use = "a saga undoes nothing unless it is finished"]
pub struct Saga {
    ctx: OrchestrationContext,
    undos: Vec<Undo>,
}

/// An undo that failed.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
///
/// use duroxide::OrchestrationContext;
///
/// async fn trip(ctx: OrchestrationContext, city: String) -> Result<String, String> {
///     let mut saga = ctx.saga();
///     let flight = ctx.schedule_activity("BookFlight", city).await?;
///     let undo = ctx.clone();
///     saga.on_error("flight", move || async move {
///         undo.schedule_activity("CancelFlight", flight).await
///     });
///     for failure in saga.undo_all().await {
///         ctx.trace_error(format!("{}: {}", failure.step, failure.error));
///     }
///     Ok("stayed at home".to_owned())
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UndoFailure {
    /// The name of its step.
    pub step: String,
    /// Its error.
    pub error: String,
}

impl fmt::Display for UndoFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "could not undo step '{}': {}", self.step, self.error)
    }
}

impl std::error::Error for UndoFailure {}

impl From<UndoFailure> for String {
    fn from(failure: UndoFailure) -> Self {
        failure.to_string()
    }
}

impl OrchestrationContext {
    /// A saga without steps.
    pub fn saga(&self) -> Saga {
        Saga { ctx: self.clone(), undos: Vec::new() }
    }
}

impl fmt::Debug for Saga {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps: Vec<&str> = self.undos.iter().map(|undo| undo.step.as_str()).collect();
        f.debug_struct("Saga").field("steps", &steps).finish_non_exhaustive()
    }
}

impl Saga {
    /// Registers how to undo a step. Call it when the step is done; the name is for errors.
    pub fn on_error<U, F, T, E>(&mut self, step: impl Into<String>, undo: U)
    where
        U: FnOnce() -> F + Send + 'static,
        F: Future<Output = Result<T, E>> + Send + 'static,
        E: fmt::Display,
    {
        let start = move || -> Undoing {
            let undoing = undo();
            Box::pin(async move { undoing.await.map(drop).map_err(|error| error.to_string()) })
        };
        self.undos.push(Undo { step: step.into(), start: Box::new(start) });
    }

    /// Ends the saga with the result of its steps. After an error it undoes them, the last one
    /// first, and logs those that could not be undone.
    ///
    /// # Errors
    /// The error in `result`.
    pub async fn finish<T, E>(self, result: Result<T, E>) -> Result<T, E> {
        if result.is_err() {
            let ctx = self.ctx.clone();
            for failure in self.undo_all().await {
                ctx.trace_warn(failure.to_string());
            }
        }
        result
    }

    /// Undoes all steps, the last one first. Returns the failures.
    pub async fn undo_all(self) -> Vec<UndoFailure> {
        let mut failures = Vec::new();
        for Undo { step, start } in self.undos.into_iter().rev() {
            if let Err(error) = start().await {
                failures.push(UndoFailure { step, error });
            }
        }
        failures
    }
}
