//! The only way in which an operation fails here: it makes no sense or comes too late.

use duroxide_core::providers::ProviderError;

/// Why an operation was refused. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal(pub(crate) String);

impl Refusal {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }

    /// The error of the contract. A refusal is permanent: the same call is refused again. A
    /// backend that can be busy or unreachable says `retryable` then, and only then.
    pub(crate) fn during(self, operation: &str) -> ProviderError {
        ProviderError::permanent(operation, self.0)
    }
}
