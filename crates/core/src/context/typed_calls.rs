//! Calls of functions that have a handle, and typed signals and queues.

use std::panic::Location;

use serde::de::DeserializeOwned;

use super::activities::decoded;
use super::attempts::Attempts;
use super::future::DurableFuture;
use super::orchestration::OrchestrationContext;
use super::sub_orchestrations::Child;
use super::typed_call::Call;
use crate::typed::{
    Activity, CallError, CallInput, Callable, CallableFn, CodeContext, Orchestration, PayloadError,
    Queue, Signal,
};

/// The future of a child.
type ChildFuture<H> =
    DurableFuture<Result<<H as Callable>::Output, CallError<<H as Callable>::Error>>>;

impl CodeContext for OrchestrationContext {}

impl OrchestrationContext {
    /// Calls an activity: a function, or a method of a state, that has `#[activity]`. The input is
    /// what it takes after its context, by value or by reference: several parameters are one tuple,
    /// none is `()`.
    ///
    /// The call schedules the activity at once. The options of the attribute apply, and
    /// [`Call`] can replace each one.
    #[track_caller]
    pub fn call<F, M>(
        &self,
        activity: F,
        input: impl CallInput<<F::Handle as Callable>::Input>,
    ) -> Call<F::Handle>
    where
        F: CallableFn<M, Handle: Activity>,
    {
        // Only its type counts.
        drop(activity);
        let (site, name) = (Location::caller(), F::Handle::NAME);
        match input.encode() {
            Ok(input) => {
                let defaults = F::Handle::OPTIONS;
                Call::scheduled(Attempts::schedule(self, site, name, input, defaults))
            }
            Err(error) => Call::refused(not_encoded("activity", name, &error)),
        }
    }

    /// Starts a child under a generated id and returns the future of its result. If the attribute
    /// of the orchestration names a version, the child has this version.
    #[track_caller]
    pub fn child<F, M>(
        &self,
        orchestration: F,
        input: impl CallInput<<F::Handle as Callable>::Input>,
    ) -> ChildFuture<F::Handle>
    where
        F: CallableFn<M, Handle: Orchestration>,
    {
        drop(orchestration);
        self.typed_child::<F::Handle>(None, input.encode())
    }

    /// Starts a child under the given id, like [`child`](Self::child).
    #[track_caller]
    pub fn child_with_id<F, M>(
        &self,
        orchestration: F,
        instance: impl Into<String>,
        input: impl CallInput<<F::Handle as Callable>::Input>,
    ) -> ChildFuture<F::Handle>
    where
        F: CallableFn<M, Handle: Orchestration>,
    {
        drop(orchestration);
        self.typed_child::<F::Handle>(Some(instance.into()), input.encode())
    }

    /// Waits for a signal, like [`schedule_wait`](Self::schedule_wait).
    #[track_caller]
    pub fn wait<T: DeserializeOwned + Send + 'static>(
        &self,
        signal: Signal<T>,
    ) -> DurableFuture<Result<T, PayloadError>> {
        self.try_schedule_wait_typed(signal.name()).map(|read| read.map_err(PayloadError::new))
    }

    /// Receives the next message of a queue, like [`dequeue_event`](Self::dequeue_event). A message
    /// that does not decode counts as received.
    #[track_caller]
    pub fn receive<T: DeserializeOwned + Send + 'static>(
        &self,
        queue: Queue<T>,
    ) -> DurableFuture<Result<T, PayloadError>> {
        self.try_dequeue_event_typed(queue.name()).map(|read| read.map_err(PayloadError::new))
    }

    #[track_caller]
    fn typed_child<H: Orchestration>(
        &self,
        instance: Option<String>,
        input: Result<String, String>,
    ) -> ChildFuture<H> {
        let input = match input {
            Ok(input) => input,
            Err(error) => {
                return DurableFuture::ready(Err(not_encoded("orchestration", H::NAME, &error)));
            }
        };
        let version = H::VERSION.map(str::to_owned);
        let child = Child { name: H::NAME.to_owned(), version, instance };
        self.start_child(child, input).map(|result| match result {
            Ok(text) => {
                decoded("sub-orchestration", H::NAME, Ok(text)).map_err(CallError::infrastructure)
            }
            Err(text) => Err(CallError::from_text::<H>(&text)),
        })
    }
}

fn not_encoded<E>(kind: &str, name: &str, error: &str) -> CallError<E> {
    CallError::infrastructure(format!("cannot encode the input of {kind} '{name}': {error}"))
}
