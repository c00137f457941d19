//! Whether the store of a node is in trouble: since when, and what the last error was.
//!
//! Every call of a node reports its outcome here. Trouble begins with a call that fails although
//! its data is good, and is over when every operation that failed has succeeded again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tokio::time::Instant;
use tracing::{error, warn};

use super::ProviderError;
use crate::limits::{
    FAILING_FOR_MAX, TROUBLE_FORGOTTEN_AFTER, TROUBLE_LASTING_MIN, TROUBLE_LOG_INTERVAL,
};
use crate::observability::MetricsProvider;

/// What a node knows about its store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct StoreHealth {
    /// The trouble that the store is in; `None` if it works.
    pub trouble: Option<StoreTrouble>,
}

impl StoreHealth {
    /// Whether the store works.
    pub fn is_healthy(&self) -> bool {
        self.trouble.is_none()
    }
}

/// Trouble of a store: calls fail although their data is good. Work waits until it is over.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreTrouble {
    /// When the first call failed.
    pub since: SystemTime,
    /// The operation that failed last.
    pub operation: String,
    /// Its error.
    pub error: ProviderError,
    /// How many calls have failed since.
    pub failures: u64,
}

/// Follows the outcome of every call of one node.
#[derive(Debug, Default)]
pub(crate) struct TroubleWatch {
    /// Read by every successful call, so that a store without trouble costs no lock.
    is_in_trouble: AtomicBool,
    state: Mutex<State>,
    metrics: Option<Arc<MetricsProvider>>,
}

#[derive(Debug, Default)]
struct State {
    current: Option<Current>,
    /// When lasting trouble was over.
    last_ended: Option<Instant>,
    /// When the last line was logged, which bounds how many there are.
    last_logged: Option<Instant>,
}

#[derive(Debug)]
struct Current {
    trouble: StoreTrouble,
    began: Instant,
    /// The operations that have not succeeded since they failed, and when they failed last.
    failing: Vec<(String, Instant)>,
    /// When any call succeeded last.
    last_success: Option<Instant>,
    /// Whether its beginning is in the log.
    is_logged: bool,
}

impl TroubleWatch {
    pub(crate) fn new(metrics: Option<Arc<MetricsProvider>>) -> Self {
        Self { metrics, ..Self::default() }
    }

    /// Notes how a call ended.
    pub(crate) fn note<T>(&self, operation: &str, result: &Result<T, ProviderError>) {
        match result {
            Err(error) if error.is_store_trouble() => self.failed(operation, error),
            // A refusal is a response of a store that works.
            Ok(_) | Err(_) if self.is_in_trouble.load(Ordering::Relaxed) => {
                self.succeeded(operation);
            }
            Ok(_) | Err(_) => {}
        }
    }

    /// What is known now.
    pub(crate) fn health(&self) -> StoreHealth {
        let mut state = self.lock();
        self.settle(&mut state);
        let trouble = state.current.as_ref().map(|current| current.trouble.clone());
        StoreHealth { trouble }
    }

    /// Whether the store is in lasting trouble or has only just recovered from it. What was fetched
    /// again and again meanwhile proves nothing about the work.
    pub(crate) fn explains_lost_leases(&self) -> bool {
        let state = self.lock();
        let lasts = |current: &Current| current.began.elapsed() >= TROUBLE_LASTING_MIN;
        state.current.as_ref().is_some_and(lasts)
            || state.last_ended.is_some_and(|ended| ended.elapsed() < TROUBLE_FORGOTTEN_AFTER)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, operation: &str, error: &ProviderError) {
        let now = Instant::now();
        let mut state = self.lock();
        let current = state.current.get_or_insert_with(|| Current {
            trouble: StoreTrouble {
                since: wall_clock(),
                operation: String::new(),
                error: error.clone(),
                failures: 0,
            },
            began: now,
            failing: Vec::new(),
            last_success: None,
            is_logged: false,
        });
        operation.clone_into(&mut current.trouble.operation);
        current.trouble.error = error.clone();
        current.trouble.failures += 1;
        match current.failing.iter_mut().find(|(failing, _)| failing == operation) {
            Some((_, last)) => *last = now,
            None => current.failing.push((operation.to_owned(), now)),
        }
        if !self.is_in_trouble.swap(true, Ordering::Relaxed) {
            self.set_gauge(true);
        }
        state.log_trouble(now);
    }

    fn succeeded(&self, operation: &str) {
        let mut state = self.lock();
        if let Some(current) = &mut state.current {
            current.last_success = Some(Instant::now());
            current.failing.retain(|(failing, _)| failing != operation);
        }
        self.settle(&mut state);
    }

    /// Ends the trouble if nothing fails any more. An operation that the node no longer calls must
    /// not keep it in trouble: each one is retried, so that it would have failed again by now.
    fn settle(&self, state: &mut State) {
        let now = Instant::now();
        let Some(current) = &mut state.current else { return };
        if let Some(success) = current.last_success {
            current.failing.retain(|(_, last)| *last > success || now - *last < FAILING_FOR_MAX);
        }
        if current.failing.is_empty() {
            self.is_in_trouble.store(false, Ordering::Relaxed);
            self.set_gauge(false);
            state.end(now);
        }
    }

    fn set_gauge(&self, is_in_trouble: bool) {
        if let Some(metrics) = &self.metrics {
            metrics.set_store_in_trouble(is_in_trouble);
        }
    }
}

impl State {
    /// Logs that trouble began or lasts, at a bounded rate.
    fn log_trouble(&mut self, now: Instant) {
        if self.last_logged.is_some_and(|last| now - last < TROUBLE_LOG_INTERVAL) {
            return;
        }
        let Some(current) = &mut self.current else { return };
        let StoreTrouble { operation, error, failures, .. } = &current.trouble;
        error!(
            target: "duroxide::runtime",
            operation, %error, failures, lasts_for = ?(now - current.began),
            "the store is in trouble; work waits and is retried until it is over"
        );
        current.is_logged = true;
        self.last_logged = Some(now);
    }

    fn end(&mut self, now: Instant) {
        let Some(current) = self.current.take() else { return };
        let lasted = now - current.began;
        if lasted >= TROUBLE_LASTING_MIN {
            self.last_ended = Some(now);
        }
        if current.is_logged {
            warn!(
                target: "duroxide::runtime",
                ?lasted, failures = current.trouble.failures,
                "the trouble of the store is over"
            );
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "people compare it with their logs")]
fn wall_clock() -> SystemTime {
    SystemTime::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy() -> Result<(), ProviderError> {
        Err(ProviderError::retryable("ack", "disk full"))
    }

    #[tokio::test(start_paused = true)]
    async fn trouble_lasts_until_every_failed_operation_has_succeeded() {
        let watch = TroubleWatch::new(None);
        assert!(watch.health().is_healthy());
        watch.note("commit", &busy());
        watch.note("fetch", &busy());
        let trouble = watch.health().trouble.unwrap();
        assert_eq!((trouble.operation.as_str(), trouble.failures), ("fetch", 2));
        assert_eq!(trouble.error.message, "disk full");
        watch.note("fetch", &Ok(()));
        assert!(!watch.health().is_healthy());
        watch.note("commit", &Err::<(), _>(ProviderError::permanent("ack", "lost lease")));
        assert!(watch.health().is_healthy(), "a refusal is a response");
    }

    #[tokio::test(start_paused = true)]
    async fn an_operation_that_is_no_longer_called_is_forgotten() {
        let watch = TroubleWatch::new(None);
        watch.note("read", &busy());
        watch.note("fetch", &Ok(()));
        assert!(!watch.health().is_healthy());
        tokio::time::advance(FAILING_FOR_MAX).await;
        assert!(watch.health().is_healthy());
    }

    #[tokio::test(start_paused = true)]
    async fn only_lasting_trouble_explains_lost_leases() {
        let watch = TroubleWatch::new(None);
        watch.note("commit", &busy());
        assert!(!watch.explains_lost_leases());
        tokio::time::advance(TROUBLE_LASTING_MIN).await;
        assert!(watch.explains_lost_leases());
        watch.note("commit", &Ok(()));
        assert!(watch.explains_lost_leases(), "the work is only being fetched again");
        tokio::time::advance(TROUBLE_FORGOTTEN_AFTER).await;
        assert!(!watch.explains_lost_leases());
    }
}
