//! Giving work back, and repeating what must not be dropped in silence.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;
use tracing::warn;

use crate::limits::{COMMIT_RETRY_FIRST, COMMIT_RETRY_MAX, COMMIT_TRIES_MIN};
use crate::providers::ProviderError;
use crate::runtime::lease::Lease;

/// Repeats a storage operation that fails for a passing reason, while the lease lasts and no longer
/// than the lease is long. Without a bound of its own, trouble that never passes would hold a slot
/// for ever.
pub(super) async fn persist<T, F>(
    operation: &'static str,
    lease: &Lease,
    length: Duration,
    mut call: impl FnMut() -> F,
) -> Result<T, ProviderError>
where
    F: Future<Output = Result<T, ProviderError>>,
{
    let began = Instant::now();
    let mut pause = COMMIT_RETRY_FIRST;
    let mut tries = 1;
    loop {
        let error = match call().await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        let patient = tries < COMMIT_TRIES_MIN || began.elapsed() < length;
        if !error.is_retryable() || lease.lost().is_cancelled() || !patient {
            return Err(error);
        }
        warn!(target: "duroxide::runtime", operation, tries, %error, "tried again");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(COMMIT_RETRY_MAX);
        tries += 1;
    }
}

/// Logs that work could not be given back: its lease will run out instead.
pub(super) fn log_unreturned(what: &str, result: Result<(), ProviderError>) {
    if let Err(error) = result {
        warn!(
            target: "duroxide::runtime",
            what, %error,
            "could not be given back; it is redelivered when its lease runs out"
        );
    }
}
