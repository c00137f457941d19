//! Joining and racing.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use super::join::Join;
use super::orchestration::OrchestrationContext;
use crate::model::{Either2, Either3};

impl OrchestrationContext {
    /// Waits for all, in any number. Results come in the order of the arguments; each completion
    /// costs the same however many there are.
    pub async fn join<T, F: Future<Output = T>>(&self, futures: Vec<F>) -> Vec<T> {
        let poll_all = !self.shared.state().rules.wake_driven;
        Join::new(futures, poll_all).await
    }

    /// Waits for both.
    pub async fn join2<T1, T2, F1, F2>(&self, f1: F1, f2: F2) -> (T1, T2)
    where
        F1: Future<Output = T1>,
        F2: Future<Output = T2>,
    {
        let (mut f1, mut f2) = (pin!(f1), pin!(f2));
        let (mut r1, mut r2) = (None, None);
        poll_fn(|cx| {
            poll_into(f1.as_mut(), &mut r1, cx);
            poll_into(f2.as_mut(), &mut r2, cx);
            match (r1.take(), r2.take()) {
                (Some(v1), Some(v2)) => Poll::Ready((v1, v2)),
                (v1, v2) => {
                    (r1, r2) = (v1, v2);
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Waits for all three.
    pub async fn join3<T1, T2, T3, F1, F2, F3>(&self, f1: F1, f2: F2, f3: F3) -> (T1, T2, T3)
    where
        F1: Future<Output = T1>,
        F2: Future<Output = T2>,
        F3: Future<Output = T3>,
    {
        let ((v1, v2), v3) = self.join2(self.join2(f1, f2), f3).await;
        (v1, v2, v3)
    }

    /// Waits for the first of two; the other is dropped, which cancels it. If both are ready, the
    /// first argument wins.
    pub async fn select2<T1, T2, F1, F2>(&self, f1: F1, f2: F2) -> Either2<T1, T2>
    where
        F1: Future<Output = T1>,
        F2: Future<Output = T2>,
    {
        let (mut f1, mut f2) = (pin!(f1), pin!(f2));
        poll_fn(|cx| {
            if let Poll::Ready(value) = f1.as_mut().poll(cx) {
                return Poll::Ready(Either2::First(value));
            }
            f2.as_mut().poll(cx).map(Either2::Second)
        })
        .await
    }

    /// Waits for the first of three; the others are dropped, which cancels them. If several are
    /// ready, the earliest argument wins.
    pub async fn select3<T1, T2, T3, F1, F2, F3>(
        &self,
        f1: F1,
        f2: F2,
        f3: F3,
    ) -> Either3<T1, T2, T3>
    where
        F1: Future<Output = T1>,
        F2: Future<Output = T2>,
        F3: Future<Output = T3>,
    {
        match self.select2(self.select2(f1, f2), f3).await {
            Either2::First(Either2::First(value)) => Either3::First(value),
            Either2::First(Either2::Second(value)) => Either3::Second(value),
            Either2::Second(value) => Either3::Third(value),
        }
    }
}

/// Polls a future that is not finished yet and keeps its value.
fn poll_into<F: Future>(
    future: std::pin::Pin<&mut F>,
    slot: &mut Option<F::Output>,
    cx: &mut std::task::Context<'_>,
) {
    if slot.is_none()
        && let Poll::Ready(value) = future.poll(cx)
    {
        *slot = Some(value);
    }
}
