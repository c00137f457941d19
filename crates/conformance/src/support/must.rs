//! Turns an unexpected result into a message that names the operation.

use duroxide_core::providers::ProviderError;

/// Results that the contract prescribes.
pub(crate) trait Must<T> {
    /// The value; `what` must have succeeded.
    fn must(self, what: &str) -> T;

    /// The error; `what` must have failed.
    fn must_fail(self, what: &str) -> ProviderError;

    /// The error; `what` must have failed permanently, so that callers do not retry.
    fn must_fail_for_good(self, what: &str) -> ProviderError;
}

impl<T> Must<T> for Result<T, ProviderError> {
    #[track_caller]
    fn must(self, what: &str) -> T {
        self.unwrap_or_else(|error| panic!("{what} must succeed, but: {error}"))
    }

    #[track_caller]
    fn must_fail(self, what: &str) -> ProviderError {
        match self {
            Ok(_) => panic!("{what} must fail, but it succeeded"),
            Err(error) => error,
        }
    }

    #[track_caller]
    fn must_fail_for_good(self, what: &str) -> ProviderError {
        let error = self.must_fail(what);
        assert!(!error.is_retryable(), "{what} must fail permanently, but may be retried: {error}");
        error
    }
}
