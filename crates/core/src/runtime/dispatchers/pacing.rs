//! How often a dispatcher polls for work.

use std::time::Duration;

use tokio::time::Instant;
use tracing::{error, warn};

use crate::limits::{FETCH_PAUSE_MIN, FETCH_RETRY_MAX, FETCH_RETRY_STEP};
use crate::providers::{ChangeWatch, ProviderError};
use crate::runtime::tasks::Tasks;

/// Pauses between fetches.
#[derive(Debug)]
pub(super) struct Pacing {
    dispatcher: &'static str,
    interval_min: Duration,
    failures: u32,
}

impl Pacing {
    pub(super) fn new(dispatcher: &'static str, interval_min: Duration) -> Self {
        Self { dispatcher, interval_min, failures: 0 }
    }

    /// A fetch succeeded.
    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// Pauses after a poll that found nothing, for providers that cannot wait. A watch that was
    /// made before the poll ends the pause when something changes.
    pub(super) async fn idle(&self, polled: Instant, changes: Option<ChangeWatch>, tasks: &Tasks) {
        // There is always a pause: polling in a loop would starve other tasks. Yielding is not
        // enough, because this task would stay on a thread that user code may block for long.
        let left = self.interval_min.saturating_sub(polled.elapsed()).max(FETCH_PAUSE_MIN);
        let changed = async {
            match changes {
                Some(mut changes) => changes.changed().await,
                None => std::future::pending().await,
            }
        };
        // Both a change and the end of the pause are reasons to poll.
        let pause = tokio::time::timeout(left, changed);
        tasks.unless_stopped(pause).await.unwrap_or(Ok(())).unwrap_or_default();
    }

    /// Pauses after a failed fetch; longer after each failure.
    pub(super) async fn failed(&mut self, error: &ProviderError, tasks: &Tasks) {
        self.failures = self.failures.saturating_add(1);
        let pause = FETCH_RETRY_STEP.saturating_mul(1 << self.failures.min(16));
        let pause = pause.min(FETCH_RETRY_MAX);
        if error.is_store_trouble() {
            warn!(
                target: "duroxide::runtime",
                dispatcher = self.dispatcher, %error, ?pause,
                "fetch failed; retrying"
            );
        } else {
            error!(
                target: "duroxide::runtime",
                dispatcher = self.dispatcher, %error, ?pause,
                "fetch failed permanently; polling again"
            );
        }
        tasks.unless_stopped(tokio::time::sleep(pause)).await;
    }
}
