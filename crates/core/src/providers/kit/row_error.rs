//! Why a value cannot become a row, or a row a value.

use std::sync::Arc;

use crate::limits::MAX_ID_BYTES;
use crate::providers::{ListCursor, ProviderError, ProviderErrorKind};

/// A value that cannot become a row, or a row that cannot become a value.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RowError {
    /// An event has no position in its history.
    #[error("Failed to append history: event_id 0 means that the runtime did not number the event")]
    UnnumberedEvent,
    /// An activity was enqueued for an orchestration.
    #[error("Invalid work item type: ActivityExecute goes to the worker queue")]
    NotAMessage,
    /// A message was enqueued for a worker.
    #[error("Invalid work item type: only ActivityExecute goes to the worker queue")]
    NotAnActivity,
    /// An activity completes with something else than a result or a failure.
    #[error("Invalid work item type: an activity ends in ActivityCompleted or ActivityFailed")]
    NotACompletion,
    /// An instance is started under an id that stores could not index.
    #[error("Instance id size ({0} bytes) exceeds limit ({MAX_ID_BYTES} bytes)")]
    IdTooLong(usize),
    /// A value has no stored form, or a stored text is not the value that its column holds.
    #[error("Serialization error: {0}")]
    Malformed(#[source] Arc<serde_json::Error>),
    /// A stored event cannot be decoded.
    #[error("history deserialization failed: {0}")]
    UndecodableEvent(#[source] Arc<serde_json::Error>),
    /// A page was requested with a cursor that this list never returned.
    #[error("Invalid cursor: `{0}` was not returned by this list")]
    UnknownCursor(ListCursor),
}

impl RowError {
    /// The error of the contract. It is permanent: the same call fails again.
    pub fn during(&self, operation: &str) -> ProviderError {
        let error = ProviderError::permanent(operation, self.to_string()).with_kind(self.kind());
        match self {
            Self::Malformed(source) | Self::UndecodableEvent(source) => {
                let source: Arc<serde_json::Error> = Arc::clone(source);
                error.with_source(source)
            }
            Self::UnnumberedEvent
            | Self::NotAMessage
            | Self::NotAnActivity
            | Self::NotACompletion
            | Self::IdTooLong(_)
            | Self::UnknownCursor(_) => error,
        }
    }

    /// What went wrong, for programs.
    pub fn kind(&self) -> ProviderErrorKind {
        match self {
            Self::Malformed(_) | Self::UndecodableEvent(_) => ProviderErrorKind::Undecodable,
            Self::IdTooLong(_) => ProviderErrorKind::TooLarge,
            Self::UnnumberedEvent
            | Self::NotAMessage
            | Self::NotAnActivity
            | Self::NotACompletion
            | Self::UnknownCursor(_) => ProviderErrorKind::Other,
        }
    }

    pub(super) fn malformed(source: serde_json::Error) -> Self {
        Self::Malformed(Arc::new(source))
    }

    pub(super) fn undecodable_event(source: serde_json::Error) -> Self {
        Self::UndecodableEvent(Arc::new(source))
    }
}
