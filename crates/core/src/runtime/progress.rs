//! Progress that a running activity reports.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use thiserror::Error;
use tokio::sync::Mutex as TurnTaking;

use crate::limits::{COMMIT_RETRY_FIRST, COMMIT_RETRY_MAX, COMMIT_TRIES_MIN, MAX_PROGRESS_BYTES};
use crate::providers::{Provider, ProviderError};

/// Why a progress report was not stored.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProgressError {
    /// It is larger than a report may be.
    #[error("progress of {bytes} bytes exceeds the limit of {MAX_PROGRESS_BYTES} bytes")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// It cannot be written as text.
    #[error("progress cannot be encoded: {message}")]
    Unencodable {
        /// Why.
        message: String,
    },
    /// The activity was cancelled or runs on another worker; its reports and its result are
    /// unwanted.
    #[error("the activity no longer has its lease: it was cancelled or runs elsewhere")]
    LeaseLost,
    /// The store refused it.
    #[error("progress could not be stored: {0}")]
    Store(ProviderError),
}

impl From<ProgressError> for String {
    fn from(error: ProgressError) -> Self {
        error.to_string()
    }
}

/// The reports of one attempt. At most one write is pending; a report that waits for it is replaced
/// by a later one, so that a fast loop does not flood the store.
pub(crate) struct ProgressReporter {
    provider: Arc<dyn Provider>,
    lock_token: String,
    lease_length: Duration,
    newest: Mutex<Report>,
    /// Locked while a report is written.
    written: TurnTaking<Written>,
}

/// Reports are numbered from 1.
#[derive(Debug, Clone, Default)]
struct Report {
    number: u64,
    text: Arc<str>,
}

/// The outcome of all reports up to a number.
#[derive(Debug)]
struct Written {
    number: u64,
    outcome: Result<(), ProgressError>,
}

impl fmt::Debug for ProgressReporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgressReporter").field("newest", &self.newest).finish_non_exhaustive()
    }
}

impl ProgressReporter {
    /// For the attempt that holds this lease.
    pub(crate) fn new(
        provider: Arc<dyn Provider>,
        lock_token: String,
        lease_length: Duration,
    ) -> Self {
        let written = TurnTaking::new(Written { number: 0, outcome: Ok(()) });
        Self { provider, lock_token, lease_length, newest: Mutex::default(), written }
    }

    /// Returns when this report or a later one is durable, or when neither can be.
    pub(crate) async fn report(&self, text: String) -> Result<(), ProgressError> {
        if text.len() > MAX_PROGRESS_BYTES {
            return Err(ProgressError::TooLarge { bytes: text.len() });
        }
        let number = self.note(text);
        let mut written = self.written.lock().await;
        if written.number >= number || written.outcome == Err(ProgressError::LeaseLost) {
            return written.outcome.clone();
        }
        let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let outcome = self.write(&newest.text).await;
        *written = Written { number: newest.number, outcome: outcome.clone() };
        outcome
    }

    fn note(&self, text: String) -> u64 {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        newest.number += 1;
        newest.text = text.into();
        newest.number
    }

    /// Stores a report, with retries after retryable errors.
    async fn write(&self, text: &str) -> Result<(), ProgressError> {
        let mut pause = COMMIT_RETRY_FIRST;
        for _try in 1..COMMIT_TRIES_MIN {
            match self.provider.record_activity_progress(&self.lock_token, text).await {
                Ok(()) => return Ok(()),
                Err(error) if error.is_retryable() => {}
                Err(error) => return Err(self.refused(error).await),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(COMMIT_RETRY_MAX);
        }
        let last = self.provider.record_activity_progress(&self.lock_token, text).await;
        last.map_err(ProgressError::Store)
    }

    /// A permanent error means a lost lease, unless the lease can still be renewed.
    async fn refused(&self, error: ProviderError) -> ProgressError {
        let renewed = self.provider.renew_work_item_lock(&self.lock_token, self.lease_length).await;
        match renewed {
            Err(lost) if !lost.is_retryable() => ProgressError::LeaseLost,
            Ok(()) | Err(_) => ProgressError::Store(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::fake::FakeProvider;

    fn reporter(provider: &Arc<FakeProvider>) -> Arc<ProgressReporter> {
        let provider = Arc::clone(provider) as Arc<dyn Provider>;
        let lease_length = Duration::from_secs(30);
        Arc::new(ProgressReporter::new(provider, "token".to_owned(), lease_length))
    }

    fn hiccup() -> ProviderError {
        ProviderError::retryable("record_activity_progress", "busy")
    }

    fn refusal() -> ProviderError {
        ProviderError::permanent("record_activity_progress", "no")
    }

    #[tokio::test]
    async fn while_one_report_is_written_only_the_newest_of_the_others_is_kept() {
        let provider = FakeProvider::watching();
        let reporter = reporter(&provider);
        let mut reports = tokio::task::JoinSet::new();
        for number in 0..1_000 {
            let reporter = Arc::clone(&reporter);
            reports.spawn(async move { reporter.report(number.to_string()).await });
            // Each is noted before the next one.
            tokio::task::yield_now().await;
        }
        provider.report_permits.add_permits(1_000);
        assert!(reports.join_all().await.iter().all(Result::is_ok));
        assert_eq!(provider.state().reports, ["0", "999"]);
    }

    #[tokio::test]
    async fn an_abandoned_report_does_not_block_the_next() {
        let provider = FakeProvider::watching();
        let reporter = reporter(&provider);
        let abandoned = tokio::time::timeout(Duration::ZERO, reporter.report("a".to_owned())).await;
        assert!(abandoned.is_err(), "it was being written");
        provider.report_permits.add_permits(1);
        assert_eq!(reporter.report("b".to_owned()).await, Ok(()));
        assert_eq!(provider.state().reports, ["b"]);
    }

    #[tokio::test(start_paused = true)]
    async fn retryable_errors_are_retried_and_then_returned() {
        let provider = FakeProvider::watching();
        let reporter = reporter(&provider);
        provider.report_permits.add_permits(100);
        provider.state().report_errors = vec![hiccup(); 5].into();
        assert_eq!(reporter.report("a".to_owned()).await, Ok(()));
        provider.state().report_errors = vec![hiccup(); 6].into();
        assert_eq!(reporter.report("b".to_owned()).await, Err(ProgressError::Store(hiccup())));
        assert_eq!(reporter.report("c".to_owned()).await, Ok(()));
        assert_eq!(provider.state().reports, ["a", "c"]);
    }

    #[tokio::test]
    async fn a_refusal_is_a_lost_lease_only_if_the_lease_is_lost() {
        let provider = FakeProvider::watching();
        let reporter = reporter(&provider);
        provider.report_permits.add_permits(100);
        provider.state().report_errors = vec![refusal(); 2].into();
        assert_eq!(reporter.report("a".to_owned()).await, Err(ProgressError::Store(refusal())));
        provider.state().leases_lost = true;
        assert_eq!(reporter.report("b".to_owned()).await, Err(ProgressError::LeaseLost));
        let permits = provider.report_permits.available_permits();
        assert_eq!(reporter.report("c".to_owned()).await, Err(ProgressError::LeaseLost));
        assert_eq!(provider.report_permits.available_permits(), permits, "nothing was tried");
    }

    #[tokio::test]
    async fn what_is_too_large_is_not_sent() {
        let provider = FakeProvider::watching();
        let large = "x".repeat(MAX_PROGRESS_BYTES + 1);
        let refused = reporter(&provider).report(large).await;
        assert_eq!(refused, Err(ProgressError::TooLarge { bytes: MAX_PROGRESS_BYTES + 1 }));
    }
}
