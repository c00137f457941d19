//! Retries of storage operations while the store is in trouble.
//!
//! Trouble passes: a full disk is cleared, a right is granted again, a server restarts. Work waits
//! for that and never fails because of it. Only an error that the data of the call causes is final.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;
use tracing::{debug, warn};

use super::lease::Lease;
use crate::limits::{COMMIT_RETRY_FIRST, COMMIT_RETRY_MAX, COMMIT_TRIES_MIN, RECLAIMS_MAX};
use crate::providers::{ProviderError, ProviderErrorKind};

/// Retries while the lease is held, for as long as it takes. For what must not be repeated or lost,
/// such as the result of an activity.
pub(crate) async fn retry_while_leased<T, F>(
    operation: &'static str,
    lease: &Lease,
    call: impl FnMut() -> F,
) -> Result<T, ProviderError>
where
    F: Future<Output = Result<T, ProviderError>>,
{
    retry(operation, Some(lease), |_tries, _elapsed| !lease.lost().is_cancelled(), call).await
}

/// Retries while the lease is held, for at most its length. For turns, which can be repeated: a
/// turn that cannot be committed now must not keep its slot from others for ever.
pub(crate) async fn retry_for_lease<T, F>(
    operation: &'static str,
    lease: &Lease,
    length: Duration,
    call: impl FnMut() -> F,
) -> Result<T, ProviderError>
where
    F: Future<Output = Result<T, ProviderError>>,
{
    let goes_on = |tries, elapsed| {
        !lease.lost().is_cancelled() && (tries < COMMIT_TRIES_MIN || elapsed < length)
    };
    retry(operation, Some(lease), goes_on, call).await
}

/// Retries for as long as it takes. For reads, without which work cannot continue correctly.
pub(crate) async fn retry_for_ever<T, F>(
    operation: &'static str,
    call: impl FnMut() -> F,
) -> Result<T, ProviderError>
where
    F: Future<Output = Result<T, ProviderError>>,
{
    retry(operation, None, |_tries, _elapsed| true, call).await
}

/// A refusal because the lease has expired is final only if another node has claimed the work
/// since: otherwise the lease is reclaimed and the operation repeated.
async fn retry<T, F>(
    operation: &'static str,
    lease: Option<&Lease>,
    goes_on: impl Fn(u32, Duration) -> bool,
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
        if let Some(lease) = lease
            && error.kind == ProviderErrorKind::LostLease
            && reclaims < RECLAIMS_MAX
        {
            reclaims += 1;
            match lease.reclaim(reclaims).await {
                Ok(()) => continue,
                Err(refusal) => error = refusal,
            }
        }
        if !error.is_store_trouble() || !goes_on(tries, started.elapsed()) {
            return Err(error);
        }
        log(operation, tries, &error);
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(COMMIT_RETRY_MAX);
        tries += 1;
    }
}

/// Only the first failure of a call is a warning: the node reports lasting trouble by itself.
fn log(operation: &'static str, tries: u32, error: &ProviderError) {
    let text = "storage operation failed; retrying";
    match tries {
        1 => warn!(target: "duroxide::runtime", operation, tries, %error, "{text}"),
        _ => debug!(target: "duroxide::runtime", operation, tries, %error, "{text}"),
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
