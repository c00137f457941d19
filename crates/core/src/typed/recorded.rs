//! The future of a function that has a handle.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::callable::Callable;

type Code<'a, H> =
    dyn Future<Output = Result<<H as Callable>::Output, <H as Callable>::Error>> + Send + 'a;

/// What a function with `#[activity]` or `#[orchestration]` returns: the future of its own `async`
/// code, with the function's handle in the type. Awaiting it runs the code in place, without a
/// runtime, like any other `async fn`.
///
/// # Examples
///
/// ```
/// # extern crate duroxide_core as duroxide;
/// # use duroxide_macros::{activity, orchestration};
///
/// use duroxide::OrchestrationContext;
///
/// #[orchestration]
/// async fn price(_ctx: OrchestrationContext, quantity: u64) -> Result<u64, String> {
///     Ok(quantity * 4)
/// }
///
/// #[orchestration]
/// async fn sum(ctx: OrchestrationContext) -> Result<u64, String> {
///     // An ordinary call: no child, and nothing is recorded.
///     Ok(price(ctx.clone(), 2).await? + price(ctx, 3).await?)
/// }
/// ```
#[must_use = "the code runs only when this future is awaited"]
pub struct Recorded<'a, H: Callable> {
    code: Pin<Box<Code<'a, H>>>,
}

impl<'a, H: Callable> Recorded<'a, H> {
    /// The future of this code.
    pub fn new(
        code: impl Future<Output = Result<H::Output, H::Error>> + Send + 'a,
    ) -> Recorded<'a, H> {
        Self { code: Box::pin(code) }
    }
}

impl<H: Callable> Future for Recorded<'_, H> {
    type Output = Result<H::Output, H::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.code.as_mut().poll(cx)
    }
}

impl<H: Callable> fmt::Debug for Recorded<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Recorded").field(&H::NAME).finish()
    }
}
