//! Retries of storage operations that must not be dropped in silence.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;
use tracing::{debug, warn};

use super::lease::Lease;
use crate::limits::{COMMIT_RETRY_FIRST, COMMIT_RETRY_MAX, COMMIT_TRIES_MIN, RECLAIMS_MAX};
use crate::providers::{ProviderError, ProviderErrorKind};

/// Runs a storage operation and retries it after a retryable error, while the lease is held and for
/// at most the length of the lease. Without that bound, a store that never recovers would occupy a
/// slot for ever.
///
/// A refusal because the lease has expired is final only if another node has claimed the work
/// since: otherwise the lease is reclaimed and the operation repeated.
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
    let (mut tries, mut reclaims) = (1, 0);
    loop {
        let mut error = match call().await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        if error.kind == ProviderErrorKind::LostLease && reclaims < RECLAIMS_MAX {
            reclaims += 1;
            match lease.reclaim(reclaims).await {
                Ok(()) => continue,
                Err(refusal) => error = refusal,
            }
        }
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
    let Err(error) = result else { return };
    if error.kind == ProviderErrorKind::LostLease {
        debug!(target: "duroxide::runtime", what, %error, "the lease was lost before its release");
    } else {
        warn!(
            target: "duroxide::runtime",
            what, %error,
            "could not release the lease; the store redelivers the work when the lease expires"
        );
    }
}
