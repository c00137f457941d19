//! Why an operation of this provider fails: its arguments are invalid, or its lease is lost.

use duroxide_core::providers::kit::RowError;
use duroxide_core::providers::{ProviderError, ProviderErrorKind};

/// Why an operation was refused. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    kind: ProviderErrorKind,
    pub(crate) reason: String,
}

impl Refusal {
    pub(crate) fn new(kind: ProviderErrorKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into() }
    }

    /// The error of the contract. A refusal is permanent: the same call is refused again. A
    /// backend that can be busy or unreachable returns `retryable` then, and only then.
    pub(crate) fn during(self, operation: &str) -> ProviderError {
        ProviderError::permanent(operation, self.reason).with_kind(self.kind)
    }
}

impl From<RowError> for Refusal {
    fn from(error: RowError) -> Self {
        Self::new(error.kind(), error.to_string())
    }
}
