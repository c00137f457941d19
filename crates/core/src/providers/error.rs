//! Errors of storage operations.

use crate::model::ErrorDetails;

/// A storage operation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{operation}: {message}")]
pub struct ProviderError {
    /// What was being done.
    pub operation: String,
    /// What went wrong.
    pub message: String,
    /// Whether the same call may succeed later.
    pub retryable: bool,
}

impl ProviderError {
    /// A passing error.
    pub fn retryable(operation: impl Into<String>, message: impl Into<String>) -> Self {
        Self { operation: operation.into(), message: message.into(), retryable: true }
    }

    /// An error that stays.
    pub fn permanent(operation: impl Into<String>, message: impl Into<String>) -> Self {
        Self { operation: operation.into(), message: message.into(), retryable: false }
    }

    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        self.retryable
    }

    /// The stored form.
    pub fn to_infrastructure_error(&self) -> ErrorDetails {
        ErrorDetails::Infrastructure {
            operation: self.operation.clone(),
            message: self.message.clone(),
            retryable: self.retryable,
        }
    }
}

impl From<String> for ProviderError {
    fn from(message: String) -> Self {
        Self::retryable("unknown", message)
    }
}

impl From<&str> for ProviderError {
    fn from(message: &str) -> Self {
        Self::retryable("unknown", message)
    }
}
