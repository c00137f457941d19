//! Starting orchestrations by their function, and the handle of an instance.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde::Serialize;

use super::{Client, ClientError, StartRequest};
use crate::model::{AppErrorKind, ErrorDetails, OrchestrationStatus, codec};
use crate::typed::{CallError, CallInput, Callable, CallableFn, Orchestration, Queue, Signal};

/// The handle of one instance of an orchestration `H`. It holds no connection to the instance:
/// dropping it changes nothing, and [`Client::attach`] makes another one.
///
/// # Examples
///
/// ```
/// # extern crate duroxide_core as duroxide;
/// # use duroxide_macros::{activity, orchestration};
///
/// use std::time::Duration;
///
/// use duroxide::typed::CallError;
/// use duroxide::{Client, ClientError, OrchestrationContext};
///
/// #[orchestration]
/// async fn buy(_ctx: OrchestrationContext, cents: u64) -> Result<u64, String> {
///     Ok(cents)
/// }
///
/// async fn run(client: &Client) -> Result<(), ClientError> {
///     let order = client.start(buy, "order-17", 1200).await?;
///     match order.result_within(Duration::from_secs(30)).await {
///         Ok(cents) => println!("{cents} cents"),
///         Err(CallError::TimedOut) => order.cancel("it takes too long").await?,
///         Err(error) => println!("{error}"),
///     }
///     Ok(())
/// }
/// ```
pub struct InstanceHandle<H> {
    client: Client,
    instance: String,
    orchestration: PhantomData<fn() -> H>,
}

impl Client {
    /// Starts an orchestration by its function, which has `#[orchestration]`. The input is what it
    /// takes after its context, by value or by reference. If the attribute names a version, the
    /// instance has this version; otherwise the node that takes the start chooses.
    ///
    /// A start of an instance that exists is ignored; to be notified of that, and to set search
    /// attributes, send a [`StartRequest::of`].
    ///
    /// # Errors
    /// As [`start_orchestration`](Self::start_orchestration), and when the input cannot be encoded.
    pub async fn start<F, M>(
        &self,
        orchestration: F,
        instance: impl Into<String>,
        input: impl CallInput<<F::Handle as Callable>::Input>,
    ) -> Result<InstanceHandle<F::Handle>, ClientError>
    where
        F: CallableFn<M, Handle: Orchestration>,
    {
        let instance = instance.into();
        let start = StartRequest::of(orchestration, instance.as_str(), input)?;
        self.start_with(start).await?;
        Ok(InstanceHandle::new(self.clone(), instance))
    }

    /// The handle of an instance of this orchestration that was started elsewhere.
    #[must_use = "it only makes a handle: nothing is sent to the instance"]
    pub fn attach<F, M>(
        &self,
        orchestration: F,
        instance: impl Into<String>,
    ) -> InstanceHandle<F::Handle>
    where
        F: CallableFn<M, Handle: Orchestration>,
    {
        // Only its type counts.
        drop(orchestration);
        InstanceHandle::new(self.clone(), instance.into())
    }
}

impl StartRequest {
    /// A start of an orchestration by its function. If its attribute names a version, the start has
    /// this version.
    ///
    /// # Errors
    /// When the input cannot be encoded.
    pub fn of<F, M>(
        orchestration: F,
        instance: impl Into<String>,
        input: impl CallInput<<F::Handle as Callable>::Input>,
    ) -> Result<Self, ClientError>
    where
        F: CallableFn<M, Handle: Orchestration>,
    {
        // Only its type counts.
        drop(orchestration);
        let input = input.encode().map_err(|error| ClientError::InvalidInput {
            message: format!("cannot encode the input of '{}': {error}", F::Handle::NAME),
        })?;
        let start = Self::new(instance, F::Handle::NAME).with_input(input);
        Ok(match F::Handle::VERSION {
            Some(version) => start.with_version(version),
            None => start,
        })
    }
}

impl<H> InstanceHandle<H> {
    fn new(client: Client, instance: String) -> Self {
        Self { client, instance, orchestration: PhantomData }
    }

    /// The id of the instance.
    pub fn instance_id(&self) -> &str {
        &self.instance
    }

    /// The status of the latest execution. Until a node has run the first turn of a start, it is
    /// [`NotFound`](OrchestrationStatus::NotFound).
    ///
    /// # Errors
    /// When the store fails.
    pub async fn status(&self) -> Result<OrchestrationStatus, ClientError> {
        self.client.get_orchestration_status(&self.instance).await
    }

    /// Raises a signal, like [`Client::raise_event`]: one for an unknown instance is dropped.
    ///
    /// # Errors
    /// When the payload cannot be encoded or the store fails.
    pub async fn raise<T: Serialize>(
        &self,
        signal: Signal<T>,
        payload: impl CallInput<T>,
    ) -> Result<(), ClientError> {
        let payload = encoded(signal.name(), &payload)?;
        self.client.raise_event(self.instance.as_str(), signal.name(), payload).await
    }

    /// Puts a message into a queue, like [`Client::enqueue_event`]: one for an unknown instance
    /// waits for it.
    ///
    /// # Errors
    /// When the message cannot be encoded or the store fails.
    pub async fn enqueue<T: Serialize>(
        &self,
        queue: Queue<T>,
        message: impl CallInput<T>,
    ) -> Result<(), ClientError> {
        let message = encoded(queue.name(), &message)?;
        self.client.enqueue_event(self.instance.as_str(), queue.name(), message).await
    }

    /// Cancels the instance, like [`Client::cancel_instance`].
    ///
    /// # Errors
    /// When the store fails.
    pub async fn cancel(&self, reason: impl Into<String>) -> Result<(), ClientError> {
        self.client.cancel_instance(self.instance.as_str(), reason).await
    }

    /// Asks the instance to end by itself within `grace`, like [`Client::request_cancellation`].
    ///
    /// # Errors
    /// [`ClientError::InstanceNotFound`] if there is no such instance.
    pub async fn request_cancellation(
        &self,
        reason: impl Into<String>,
        grace: Duration,
    ) -> Result<(), ClientError> {
        self.client.request_cancellation(self.instance.as_str(), reason, grace).await
    }
}

impl<H: Orchestration> InstanceHandle<H> {
    /// Waits for the result, however long it takes.
    ///
    /// # Errors
    /// The error of the orchestration, or why there is none: it was cancelled, it failed for
    /// another reason, or the store cannot be read.
    pub async fn result(&self) -> Result<H::Output, CallError<H::Error>> {
        self.result_within(Duration::MAX).await
    }

    /// Waits for the result, at most this long.
    ///
    /// # Errors
    /// As [`result`](Self::result), and [`CallError::TimedOut`] if it takes longer. The instance
    /// goes on.
    pub async fn result_within(&self, limit: Duration) -> Result<H::Output, CallError<H::Error>> {
        let status = self.client.wait_for_orchestration(&self.instance, limit).await;
        let status = status.map_err(|error| match error {
            ClientError::Timeout => CallError::TimedOut,
            other @ (ClientError::Provider(_)
            | ClientError::ManagementNotAvailable
            | ClientError::InvalidInput { .. }
            | ClientError::InstanceStillRunning { .. }
            | ClientError::CannotDeleteSubOrchestration { .. }
            | ClientError::InstanceNotFound { .. }) => CallError::infrastructure(other.to_string()),
        })?;
        outcome_of::<H>(status)
    }
}

/// The typed outcome of an instance that has ended.
fn outcome_of<H: Callable>(status: OrchestrationStatus) -> Result<H::Output, CallError<H::Error>> {
    match status {
        OrchestrationStatus::Completed { output, .. } => {
            let what = || format!("the result of orchestration '{}'", H::NAME);
            codec::decode_as(what, &output).map_err(CallError::infrastructure)
        }
        OrchestrationStatus::Failed { details, .. } => Err(failure_of::<H>(details)),
        OrchestrationStatus::NotFound | OrchestrationStatus::Running { .. } => {
            Err(CallError::infrastructure("the instance has not ended"))
        }
    }
}

fn failure_of<H: Callable>(details: ErrorDetails) -> CallError<H::Error> {
    let text = details.display_message();
    match details {
        ErrorDetails::Application { kind, message, .. } => match kind {
            AppErrorKind::OrchestrationFailed | AppErrorKind::ActivityFailed => {
                CallError::from_text::<H>(&message)
            }
            AppErrorKind::Cancelled { reason } => CallError::Cancelled { reason },
            AppErrorKind::Panicked => CallError::infrastructure(text),
        },
        ErrorDetails::Infrastructure { .. }
        | ErrorDetails::Configuration { .. }
        | ErrorDetails::Poison { .. } => CallError::infrastructure(text),
    }
}

fn encoded<T>(name: &str, payload: &impl CallInput<T>) -> Result<String, ClientError> {
    payload.encode().map_err(|error| ClientError::InvalidInput {
        message: format!("cannot encode the payload of '{name}': {error}"),
    })
}

// Not derived: a derive requires the handle itself to be `Clone` and `Debug`.
impl<H> Clone for InstanceHandle<H> {
    fn clone(&self) -> Self {
        Self::new(self.client.clone(), self.instance.clone())
    }
}

impl<H> fmt::Debug for InstanceHandle<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InstanceHandle")
            .field("instance_id", &self.instance)
            .finish_non_exhaustive()
    }
}
