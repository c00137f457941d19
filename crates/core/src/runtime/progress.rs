//! What a running activity says of how far it is.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use thiserror::Error;
use tokio::sync::Mutex as TurnTaking;

use super::limits::{COMMIT_RETRY_FIRST, COMMIT_RETRY_MAX, COMMIT_TRIES_MIN, MAX_PROGRESS_BYTES};
use crate::providers::{Provider, ProviderError};

/// Why a report of progress was not kept.
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
    /// The activity is cancelled or runs elsewhere by now; nobody wants its reports or its result.
    #[error("the activity no longer has its lease: it was cancelled or runs elsewhere")]
    LeaseLost,
    /// The store does not take it.
    #[error("progress could not be stored: {0}")]
    Store(ProviderError),
}

/// The reports of one attempt. At most one write is under way; what is reported meanwhile is
/// replaced by what is reported later, so that a fast loop does not flood the store.
pub(crate) struct ProgressReporter {
    provider: Arc<dyn Provider>,
    lock_token: String,
    lease_length: Duration,
    newest: Mutex<Report>,
    /// Held by whoever writes.
    written: TurnTaking<Written>,
}

/// Reports are numbered from 1.
#[derive(Debug, Clone, Default)]
struct Report {
    number: u64,
    text: Arc<str>,
}

/// What became of all reports up to a number.
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

    /// Ends when this report or a later one is durable, or when neither can be.
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

    /// Stores a report, trying again while the trouble is a passing one.
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

    /// A permanent answer means a lost lease, unless the lease can still be renewed.
    async fn refused(&self, error: ProviderError) -> ProgressError {
        let renewed = self.provider.renew_work_item_lock(&self.lock_token, self.lease_length).await;
        match renewed {
            Err(lost) if !lost.is_retryable() => ProgressError::LeaseLost,
            Ok(()) | Err(_) => ProgressError::Store(error),
        }
    }
}
