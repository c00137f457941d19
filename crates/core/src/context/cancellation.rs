//! Requests to end, as the code sees them.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::orchestration::{OrchestrationContext, Shared};
use crate::model::CancelRequest;

/// The request that an execution has received, and who waits for one.
#[derive(Debug, Default)]
pub(crate) struct Cancellation {
    request: Option<CancelRequest>,
    /// By the token of the future.
    waiters: BTreeMap<u64, Waker>,
}

impl Cancellation {
    /// Notes a request. The first one counts. Returns the wakers to call.
    pub(crate) fn request(&mut self, request: CancelRequest) -> Vec<Waker> {
        if self.request.is_some() {
            return Vec::new();
        }
        self.request = Some(request);
        std::mem::take(&mut self.waiters).into_values().collect()
    }

    /// Whether a future of the code waits for a request.
    pub(crate) fn is_awaited(&self) -> bool {
        !self.waiters.is_empty()
    }

    pub(crate) fn requested(&self) -> Option<&CancelRequest> {
        self.request.as_ref()
    }
}

impl OrchestrationContext {
    /// The request to end that this execution has received, if it has.
    ///
    /// A client sends it with
    /// [`request_cancellation`](crate::client::Client::request_cancellation); a parent that is
    /// asked to end asks its children. The code may go on, clean up and return what it wants,
    /// until the deadline of the request. History records when the request arrived, so that
    /// replay sees it at the same place.
    pub fn cancel_request(&self) -> Option<CancelRequest> {
        self.shared.state().cancellation.requested().cloned()
    }

    /// Waits for a request to end. At once ready if there is one.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use std::time::Duration;
    ///
    /// use duroxide::{Either2, OrchestrationContext};
    ///
    /// async fn poll_for_a_week(ctx: OrchestrationContext, url: String) -> Result<String, String> {
    ///     for _hour in 0..7 * 24 {
    ///         let pause = ctx.schedule_timer(Duration::from_secs(3600));
    ///         if let Either2::First(request) = ctx.select2(ctx.cancelled(), pause).await {
    ///             ctx.schedule_activity("Unsubscribe", url).await?;
    ///             return Err(format!("stopped: {}", request.reason));
    ///         }
    ///         ctx.schedule_activity("Poll", url.clone()).await?;
    ///     }
    ///     Ok(url)
    /// }
    /// ```
    pub fn cancelled(&self) -> Cancelled {
        let token = self.shared.state().new_token();
        Cancelled { shared: Arc::clone(&self.shared), token }
    }

    /// Runs a part of the code until it returns, or until this execution is asked to end. Then the
    /// part is dropped: its activities are cancelled, and its children, which have been asked too,
    /// end in their own way. What follows runs to its end: this is the place to compensate.
    ///
    /// If both happen in one turn, the result of the part counts. After the request, a part that is
    /// an `async` block does not run at all.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn buy(ctx: OrchestrationContext, order: String) -> Result<String, String> {
    ///     let receipt = ctx.schedule_activity("Charge", order.clone()).await?;
    ///     let ship = async {
    ///         ctx.schedule_wait("packed").await;
    ///         ctx.schedule_activity("Ship", order).await
    ///     };
    ///     match ctx.cancellable(ship).await {
    ///         Ok(shipped) => shipped,
    ///         Err(request) => {
    ///             ctx.schedule_activity("Refund", receipt).await?;
    ///             Err(format!("withdrawn: {}", request.reason))
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// The request, if it came first.
    pub async fn cancellable<F: Future>(&self, part: F) -> Result<F::Output, CancelRequest> {
        if let Some(request) = self.cancel_request() {
            return Err(request);
        }
        let mut cancelled = self.cancelled();
        let mut part = pin!(part);
        poll_fn(|cx| match part.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending => Pin::new(&mut cancelled).poll(cx).map(Err),
        })
        .await
    }
}

/// Waits for a request to end; see [`OrchestrationContext::cancelled`].
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
///
/// use duroxide::OrchestrationContext;
/// use duroxide::model::Either2;
///
/// async fn order(ctx: OrchestrationContext, order: String) -> Result<String, String> {
///     match ctx.select2(ctx.schedule_wait("packed"), ctx.cancelled()).await {
///         Either2::First(_packed) => ctx.schedule_activity("Ship", order).await,
///         Either2::Second(request) => Err(format!("withdrawn: {}", request.reason)),
///     }
/// }
/// ```
#[must_use = "it waits only when it is awaited"]
#[derive(Debug)]
pub struct Cancelled {
    shared: Arc<Shared>,
    token: u64,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("instance_id", &self.instance_id).finish_non_exhaustive()
    }
}

impl Future for Cancelled {
    type Output = CancelRequest;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<CancelRequest> {
        let mut state = self.shared.state();
        if let Some(request) = state.cancellation.requested() {
            return Poll::Ready(request.clone());
        }
        state.cancellation.waiters.insert(self.token, cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        let waker = self.shared.state().cancellation.waiters.remove(&self.token);
        // Outside the lock: dropping a waker may run code.
        drop(waker);
    }
}
