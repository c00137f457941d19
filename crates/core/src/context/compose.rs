//! Joins and races of futures.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use super::join::Join;
use super::orchestration::OrchestrationContext;
use crate::model::{Either2, Either3};

impl OrchestrationContext {
    /// Waits for all futures and returns their results in the order of the arguments. A completion
    /// costs the same for ten futures and for ten thousand.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn resize_all(ctx: OrchestrationContext, files: String) -> Result<String, String> {
    ///     // Every call schedules its activity, so all of them run at the same time.
    ///     let scheduled: Vec<_> =
    ///         files.lines().map(|file| ctx.schedule_activity("Resize", file)).collect();
    ///     let results = ctx.join(scheduled).await;
    ///     let resized: Result<Vec<String>, String> = results.into_iter().collect();
    ///     Ok(resized?.join("\n"))
    /// }
    /// ```
    pub async fn join<T, F: Future<Output = T>>(&self, futures: Vec<F>) -> Vec<T> {
        let poll_all = !self.shared.state().rules.wake_driven;
        Join::new(futures, poll_all).await
    }

    /// Waits for both futures.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn book_trip(ctx: OrchestrationContext, city: String) -> Result<String, String> {
    ///     let flight = ctx.schedule_activity("BookFlight", city.clone());
    ///     let hotel = ctx.schedule_activity("BookHotel", city);
    ///     let (flight, hotel) = ctx.join2(flight, hotel).await;
    ///     Ok(format!("{}, {}", flight?, hotel?))
    /// }
    /// ```
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

    /// Waits for all three futures.
    pub async fn join3<T1, T2, T3, F1, F2, F3>(&self, f1: F1, f2: F2, f3: F3) -> (T1, T2, T3)
    where
        F1: Future<Output = T1>,
        F2: Future<Output = T2>,
        F3: Future<Output = T3>,
    {
        let ((v1, v2), v3) = self.join2(self.join2(f1, f2), f3).await;
        (v1, v2, v3)
    }

    /// Waits for the first of two futures. It drops the other one, which cancels its work. If both
    /// are ready, the first argument wins.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use std::time::Duration;
    ///
    /// use duroxide::{Either2, OrchestrationContext};
    ///
    /// async fn quote(ctx: OrchestrationContext, item: String) -> Result<String, String> {
    ///     let quote = ctx.schedule_activity("AskSupplier", item);
    ///     let deadline = ctx.schedule_timer(Duration::from_secs(60));
    ///     match ctx.select2(quote, deadline).await {
    ///         Either2::First(quote) => quote,
    ///         Either2::Second(()) => Err("the supplier did not respond".to_owned()),
    ///     }
    /// }
    /// ```
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

    /// Waits for the first of three futures. It drops the others, which cancels their work. If
    /// several are ready, the earliest argument wins.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use std::time::Duration;
    ///
    /// use duroxide::{Either3, OrchestrationContext};
    ///
    /// async fn approval(ctx: OrchestrationContext, _order: String) -> Result<String, String> {
    ///     let approved = ctx.schedule_wait("approved");
    ///     let rejected = ctx.schedule_wait("rejected");
    ///     let deadline = ctx.schedule_timer(Duration::from_secs(24 * 60 * 60));
    ///     match ctx.select3(approved, rejected, deadline).await {
    ///         Either3::First(by) => Ok(format!("approved by {by}")),
    ///         Either3::Second(reason) => Err(reason),
    ///         Either3::Third(()) => Err("no decision within a day".to_owned()),
    ///     }
    /// }
    /// ```
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

/// Polls a future that has no value yet, and stores its value.
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
