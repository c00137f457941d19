//! Futures with a deadline, and many futures of which only some run at once.

use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::orchestration::OrchestrationContext;
use crate::model::Either2;

/// A future did not complete in time.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
///
/// use std::time::Duration;
///
/// use duroxide::OrchestrationContext;
///
/// async fn approval(ctx: OrchestrationContext, order: String) -> Result<String, String> {
///     match ctx.timeout(Duration::from_secs(3600), ctx.schedule_wait("approved")).await {
///         Ok(by) => Ok(format!("{order} approved by {by}")),
///         Err(elapsed) => Err(format!("no approval: {elapsed}")), // not completed within 3600s
///     }
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Elapsed {
    /// The time that it had.
    pub limit: Duration,
}

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not completed within {:?}", self.limit)
    }
}

impl std::error::Error for Elapsed {}

impl From<Elapsed> for String {
    fn from(elapsed: Elapsed) -> Self {
        elapsed.to_string()
    }
}

impl OrchestrationContext {
    /// Waits for a future, but not longer than `limit`. Unless the future is ready at once, the
    /// first poll schedules a timer for the limit. When that fires first, the future is dropped,
    /// which cancels its work. If both are ready, the future wins.
    ///
    /// The future may be any durable one, also an `async` block of several steps.
    ///
    /// # Errors
    /// The output is [`Elapsed`] if the timer fires first.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use std::time::Duration;
    ///
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn quote(ctx: OrchestrationContext, item: String) -> Result<String, String> {
    ///     let quote = ctx.schedule_activity("AskSupplier", item);
    ///     ctx.timeout(Duration::from_secs(60), quote).await?
    /// }
    /// ```
    #[track_caller]
    pub fn timeout<F: Future>(
        &self,
        limit: Duration,
        future: F,
    ) -> impl Future<Output = Result<F::Output, Elapsed>> + use<'_, F> {
        let site = Location::caller();
        async move {
            let timer = async { self.schedule_timer_at(site, limit).await };
            match self.select2(future, timer).await {
                Either2::First(value) => Ok(value),
                Either2::Second(()) => Err(Elapsed { limit }),
            }
        }
    }

    /// Calls `start` for each item and waits for the futures that it returns, of which at most
    /// `concurrency` run at once. The results are in the order of the items.
    ///
    /// `start` is called when there is room for its future, in the order of the items. A zero
    /// counts as one. A completion costs the same for ten items and for ten thousand.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn resize_all(ctx: OrchestrationContext, files: String) -> Result<String, String> {
    ///     let resize = |file: &str| ctx.schedule_activity("Resize", file);
    ///     let resized = ctx.map_concurrent(files.lines(), 20, resize).await;
    ///     let resized: Result<Vec<String>, String> = resized.into_iter().collect();
    ///     Ok(resized?.join("\n"))
    /// }
    /// ```
    pub async fn map_concurrent<I, S, F>(
        &self,
        items: I,
        concurrency: usize,
        start: S,
    ) -> Vec<F::Output>
    where
        I: IntoIterator,
        S: FnMut(I::Item) -> F,
        F: Future,
    {
        let items: Vec<I::Item> = items.into_iter().collect();
        let results = items.iter().map(|_item| None).collect();
        let lanes = concurrency.max(1).min(items.len());
        let shared = Mutex::new(Fan { items: items.into_iter().enumerate(), start, results });
        // Each lane runs one future at a time. A join polls only the lanes that were woken.
        self.join((0..lanes).map(|_lane| run_lane(&shared)).collect()).await;
        let fan = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        fan.results.into_iter().flatten().collect()
    }
}

/// What the lanes of one fan-out share.
struct Fan<T, S, R> {
    items: std::iter::Enumerate<std::vec::IntoIter<T>>,
    start: S,
    results: Vec<Option<R>>,
}

async fn run_lane<T, S, F>(shared: &Mutex<Fan<T, S, F::Output>>)
where
    S: FnMut(T) -> F,
    F: Future,
{
    while let Some((index, future)) = start_next(shared) {
        let value = future.await;
        let mut fan = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(result) = fan.results.get_mut(index) {
            *result = Some(value);
        }
    }
}

fn start_next<T, S, F>(shared: &Mutex<Fan<T, S, F::Output>>) -> Option<(usize, F)>
where
    S: FnMut(T) -> F,
    F: Future,
{
    let mut fan = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let (index, item) = fan.items.next()?;
    Some((index, (fan.start)(item)))
}
