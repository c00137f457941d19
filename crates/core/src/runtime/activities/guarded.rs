//! Runs user code and turns its panics into values.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use tracing::warn;

use crate::panics::{self, Payload as Panic};

type Code<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A future whose panics are values, also those of its destructors.
pub(super) struct Guarded<'a, T> {
    /// `None` once it has returned or panicked.
    code: Option<Code<'a, T>>,
}

impl<'a, T> Guarded<'a, T> {
    pub(super) fn new(code: impl Future<Output = T> + Send + 'a) -> Self {
        Self { code: Some(Box::pin(code)) }
    }
}

impl<T> Future for Guarded<'_, T> {
    type Output = Result<T, Panic>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(code) = &mut self.code else { return Poll::Pending };
        // Unwind safety: after a panic the code is dropped and never polled again.
        match catch_unwind(AssertUnwindSafe(|| code.as_mut().poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => {
                discard(self.code.take());
                Poll::Ready(Ok(output))
            }
            Err(panic) => {
                discard(self.code.take());
                Poll::Ready(Err(panic))
            }
        }
    }
}

impl<T> Drop for Guarded<'_, T> {
    fn drop(&mut self) {
        discard(self.code.take());
    }
}

/// Drops code. Its outcome is known by then, so a panic of a destructor is only logged.
fn discard<T>(code: Option<Code<'_, T>>) {
    let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(code))) else { return };
    warn!(
        target: "duroxide::runtime",
        panic = panics::text(panic.as_ref()).unwrap_or_else(|| "no text".to_owned()),
        "an activity panicked while it was being dropped"
    );
    panics::discard(panic);
}

/// The recorded text of a panic. Stored histories contain these words, which are those of tokio.
pub(super) fn describe(panic: Panic) -> String {
    let task = tokio::task::try_id().map_or_else(|| "?".to_owned(), |id| id.to_string());
    let described = match panics::text(panic.as_ref()) {
        Some(text) => format!("task {task} panicked with message {text:?}"),
        None => format!("task {task} panicked"),
    };
    panics::discard(panic);
    described
}

#[cfg(test)]
mod tests {
    use std::any::Any;

    use super::*;

    struct PanicsInDrop;

    impl Drop for PanicsInDrop {
        fn drop(&mut self) {
            panic!("in drop");
        }
    }

    async fn panics_with(payload: impl Any + Send) -> Result<(), Panic> {
        Guarded::new(async { std::panic::panic_any(payload) }).await
    }

    #[tokio::test]
    async fn a_panic_is_a_value() {
        let panic = panics_with("kaboom").await.unwrap_err();
        assert!(describe(panic).ends_with("panicked with message \"kaboom\""));
        let panic = panics_with(7_u32).await.unwrap_err();
        assert!(describe(panic).ends_with("panicked"));
    }

    #[tokio::test]
    async fn a_result_survives_the_panic_of_a_destructor() {
        struct Ready5(PanicsInDrop);
        impl Future for Ready5 {
            type Output = u32;
            fn poll(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<u32> {
                Poll::Ready(5)
            }
        }
        assert_eq!(Guarded::new(Ready5(PanicsInDrop)).await.unwrap(), 5);
    }

    #[tokio::test]
    async fn a_panic_while_a_future_is_dropped_is_contained() {
        let held = PanicsInDrop;
        drop(Guarded::new(async move {
            let _held = &held;
            std::future::pending::<()>().await;
        }));
        describe(panics_with(PanicsInDrop).await.unwrap_err());
    }
}
