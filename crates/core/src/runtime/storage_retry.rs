//! Retries of storage operations that must not be dropped in silence.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;
use tracing::warn;

use super::lease::Lease;
use crate::limits::{COMMIT_RETRY_FIRST, COMMIT_RETRY_MAX, COMMIT_TRIES_MIN};
use crate::providers::ProviderError;

/// Runs a storage operation and retries it after a retryable error, while the lease is held and for
/// at most the length of the lease. Without that bound, a store that never recovers would occupy a
/// slot for ever.
pub(crate) async fn retry_while_leased<T, F>(
    operation: &'static str,
    lease: &Lease,
    length: Duration,
    mut call: impl FnMut() -> F,
) -> Result<T, ProviderError>
where
    F: Future<Output = Result<T, ProviderError>>,
{
    let started = Instant::now();
    let mut pause = COMMIT_RETRY_FIRST;
    let mut tries = 1;
    loop {
        let error = match call().await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        let has_time = tries < COMMIT_TRIES_MIN || started.elapsed() < length;
        if !error.is_retryable() || lease.lost().is_cancelled() || !has_time {
            return Err(error);
        }
        warn!(
            target: "duroxide::runtime",
            operation, tries, %error,
            "storage operation failed; retrying"
        );
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(COMMIT_RETRY_MAX);
        tries += 1;
    }
}

/// Logs that a lease could not be released.
pub(crate) fn log_unreleased(what: &str, result: Result<(), ProviderError>) {
    if let Err(error) = result {
        warn!(
            target: "duroxide::runtime",
            what, %error,
            "could not release the lease; the store redelivers the work when the lease expires"
        );
    }
}
