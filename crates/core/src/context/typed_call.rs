//! The future of a typed activity call: one attempt, or as many as its retry policy allows.

use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use super::activities::activity_result;
use super::attempts::{Attempts, CallFailure};
use super::future::DurableFuture;
use crate::typed::{CallError, Callable, Retry};

type CallResult<H> = Result<<H as Callable>::Output, CallError<<H as Callable>::Error>>;

/// The future of a typed activity call. [`OrchestrationContext::call`] has scheduled the first
/// attempt; dropping the future before it completes requests cancellation.
///
/// The methods replace options of the activity's attribute. Call them right after scheduling,
/// before any await.
///
/// [`OrchestrationContext::call`]: super::OrchestrationContext::call
///
/// # Examples
///
/// ```
/// # extern crate duroxide_core as duroxide;
/// # use duroxide_macros::{activity, orchestration};
///
/// use std::time::Duration;
///
/// use duroxide::typed::Retry;
/// use duroxide::{ActivityContext, OrchestrationContext};
///
/// #[activity]
/// async fn charge(_ctx: ActivityContext, cents: u64) -> Result<u64, String> {
///     Ok(cents)
/// }
///
/// #[orchestration]
/// async fn buy(ctx: OrchestrationContext, cents: u64) -> Result<u64, String> {
///     let retry = Retry::new(5).with_fixed_backoff(Duration::from_secs(1));
///     let limit = Duration::from_secs(30);
///     let charged = ctx.call(charge, cents).with_timeout(limit).with_retry(retry);
///     Ok(charged.await?)
/// }
/// ```
#[must_use = "dropping this future cancels the scheduled activity"]
pub struct Call<H: Callable> {
    stage: Stage<H>,
}

enum Stage<H: Callable> {
    Scheduled(Box<Attempts>),
    /// One attempt without limits.
    Single(DurableFuture<Result<String, String>>),
    Repeated(Pin<Box<dyn Future<Output = Result<String, CallFailure>> + Send>>),
    /// The input could not be encoded.
    Refused(CallError<H::Error>),
    Done,
}

// No part is pinned in place: all parts are moved or boxed.
impl<H: Callable> Unpin for Call<H> {}

impl<H: Callable> Call<H> {
    pub(super) fn scheduled(attempts: Attempts) -> Self {
        Self { stage: Stage::Scheduled(Box::new(attempts)) }
    }

    pub(super) fn refused(error: CallError<H::Error>) -> Self {
        Self { stage: Stage::Refused(error) }
    }

    /// Routes the activity to workers that accept `tag`.
    ///
    /// # Panics
    /// When the code has awaited something since the call.
    pub fn with_tag(self, tag: impl Into<String>) -> Self {
        self.changed(|attempts| attempts.set_tag(tag.into()))
    }

    /// Runs the activity on the worker that owns the session.
    ///
    /// # Panics
    /// When the code has awaited something since the call.
    pub fn with_session(self, session_id: impl Into<String>) -> Self {
        self.changed(|attempts| attempts.set_session(session_id.into()))
    }

    /// Makes an attempt fail if no worker starts it within `limit`.
    ///
    /// # Panics
    /// When the code has awaited something since the call.
    pub fn with_schedule_to_start_limit(self, limit: Duration) -> Self {
        self.changed(|attempts| attempts.set_start_limit(limit))
    }

    /// Limits each attempt: after this time the activity is cancelled. The time counts from the
    /// first poll of this future.
    pub fn with_timeout(self, limit: Duration) -> Self {
        self.changed(|attempts| attempts.timeout = Some(limit))
    }

    /// Attempts the activity again after a failure. An older
    /// [`RetryPolicy`](crate::model::RetryPolicy) fits, too.
    ///
    /// # Panics
    /// When the code has awaited something since the call.
    pub fn with_retry(self, retry: impl Into<Retry>) -> Self {
        self.changed(|attempts| attempts.set_retry(retry.into()))
    }

    fn changed(mut self, change: impl FnOnce(&mut Attempts)) -> Self {
        match &mut self.stage {
            Stage::Scheduled(attempts) => change(attempts),
            Stage::Refused(_) => {}
            Stage::Single(_) | Stage::Repeated(_) | Stage::Done => {
                panic!("options of a call must be set before it is awaited")
            }
        }
        self
    }
}

impl<H: Callable> Future for Call<H> {
    type Output = CallResult<H>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let outcome = match mem::replace(&mut this.stage, Stage::Done) {
            Stage::Scheduled(attempts) => {
                this.stage = if attempts.is_single() {
                    Stage::Single(attempts.first)
                } else {
                    Stage::Repeated(Box::pin(attempts.run()))
                };
                return Pin::new(this).poll(cx);
            }
            Stage::Single(mut attempt) => match Pin::new(&mut attempt).poll(cx) {
                Poll::Ready(result) => result.map_err(CallFailure::Error),
                Poll::Pending => {
                    this.stage = Stage::Single(attempt);
                    return Poll::Pending;
                }
            },
            Stage::Repeated(mut attempts) => match attempts.as_mut().poll(cx) {
                Poll::Ready(result) => result,
                Poll::Pending => {
                    this.stage = Stage::Repeated(attempts);
                    return Poll::Pending;
                }
            },
            Stage::Refused(error) => return Poll::Ready(Err(error)),
            Stage::Done => panic!("Call polled after it had yielded its value"),
        };
        Poll::Ready(finished::<H>(outcome))
    }
}

impl<H: Callable> fmt::Debug for Call<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Call").field(&H::NAME).finish()
    }
}

fn finished<H: Callable>(outcome: Result<String, CallFailure>) -> CallResult<H> {
    let failure = match outcome {
        Ok(text) => {
            let decoded = activity_result(H::NAME.to_owned())(Ok(text));
            return decoded.map_err(CallError::infrastructure);
        }
        Err(failure) => failure,
    };
    Err(match failure {
        CallFailure::Error(text) => CallError::from_text::<H>(&text),
        CallFailure::Exhausted { last, attempts } => match CallError::from_text::<H>(&last) {
            CallError::App(last) | CallError::Exhausted { last, .. } => {
                CallError::Exhausted { last, attempts }
            }
            other @ (CallError::TimedOut
            | CallError::Cancelled { .. }
            | CallError::Infrastructure { .. }) => other,
        },
        CallFailure::TimedOut => CallError::TimedOut,
    })
}
