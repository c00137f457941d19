//! Errors of storage operations.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::model::ErrorDetails;

/// A storage operation failed.
///
/// Made by [`retryable`](Self::retryable) or [`permanent`](Self::permanent), which say whether the
/// same call may succeed later; [`with_kind`](Self::with_kind) and
/// [`with_source`](Self::with_source) add what else is known. Two errors are equal if all their
/// public fields are; the source does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderError {
    /// The operation that failed.
    pub operation: String,
    /// What went wrong.
    pub message: String,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    /// What went wrong, for programs.
    pub kind: ProviderErrorKind,
    source: Source,
}

/// What went wrong in a storage operation. Programs match on this and never on the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ProviderErrorKind {
    /// The lease that the call needs has expired, was released, or never existed.
    LostLease,
    /// The instance or execution does not exist.
    NotFound,
    /// The store holds something that contradicts the call, such as an event with the same id.
    Conflict,
    /// The call needs a finished instance, and this one or one of its descendants still runs.
    StillRunning,
    /// The call needs a root instance, and this one has a parent.
    NotRoot,
    /// A value is larger than the store can keep.
    TooLarge,
    /// A given or stored value cannot be encoded or decoded.
    Undecodable,
    /// The store works, but another transaction is in the way or took too long.
    Busy,
    /// The store cannot be reached or cannot write now.
    Unavailable,
    /// The tables do not fit this build.
    Schema,
    /// None of the above, or the provider does not say.
    #[default]
    Other,
}

impl ProviderErrorKind {
    /// The name of the kind in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LostLease => "lost_lease",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::StillRunning => "still_running",
            Self::NotRoot => "not_root",
            Self::TooLarge => "too_large",
            Self::Undecodable => "undecodable",
            Self::Busy => "busy",
            Self::Unavailable => "unavailable",
            Self::Schema => "schema",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for ProviderErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl ProviderError {
    /// An error that may pass: the same call may succeed later.
    pub fn retryable(operation: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(operation.into(), message.into(), true)
    }

    /// An error that stays: the same call fails again.
    pub fn permanent(operation: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(operation.into(), message.into(), false)
    }

    fn new(operation: String, message: String, retryable: bool) -> Self {
        let kind = ProviderErrorKind::Other;
        Self { operation, message, retryable, kind, source: Source(None) }
    }

    /// Says what kind of error it is.
    #[must_use]
    pub fn with_kind(mut self, kind: ProviderErrorKind) -> Self {
        self.kind = kind;
        self
    }

    /// Keeps the error that caused this one, for [`std::error::Error::source`].
    #[must_use]
    pub fn with_source(mut self, source: Arc<dyn Error + Send + Sync>) -> Self {
        self.source = Source(Some(source));
        self
    }

    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        self.retryable
    }

    /// Whether the store is in trouble, and not the data of the call at fault. Such a call is
    /// repeated for as long as it takes; work never fails because of it.
    pub fn is_store_trouble(&self) -> bool {
        use ProviderErrorKind as Kind;
        match self.kind {
            Kind::Busy | Kind::Unavailable | Kind::Schema => true,
            Kind::LostLease
            | Kind::NotFound
            | Kind::Conflict
            | Kind::StillRunning
            | Kind::NotRoot
            | Kind::TooLarge
            | Kind::Undecodable
            | Kind::Other => self.retryable,
        }
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

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.operation, self.message)
    }
}

impl Error for ProviderError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.0.as_deref().map(|source| source as &(dyn Error + 'static))
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

/// The cause of an error. All causes count as equal, so that errors can be compared.
#[derive(Debug, Clone)]
struct Source(Option<Arc<dyn Error + Send + Sync>>);

impl PartialEq for Source {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Source {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_is_kept_and_does_not_count_in_comparisons() {
        let cause = Arc::new(std::io::Error::other("disk on fire"));
        let plain = ProviderError::retryable("read", "the disk failed");
        let caused = plain.clone().with_source(cause);
        assert_eq!(caused, plain);
        assert_eq!(caused.source().unwrap().to_string(), "disk on fire");
        assert_eq!(caused.clone().source().unwrap().to_string(), "disk on fire");
        assert!(plain.source().is_none());
    }

    #[test]
    fn only_the_data_of_the_call_is_no_trouble_of_the_store() {
        let permanent = |kind| ProviderError::permanent("ack", "no").with_kind(kind);
        assert!(permanent(ProviderErrorKind::Schema).is_store_trouble());
        assert!(permanent(ProviderErrorKind::Unavailable).is_store_trouble());
        assert!(!permanent(ProviderErrorKind::Other).is_store_trouble());
        assert!(!permanent(ProviderErrorKind::TooLarge).is_store_trouble());
        assert!(ProviderError::retryable("ack", "later").is_store_trouble());
    }

    #[test]
    fn the_kind_counts_in_comparisons_and_is_not_part_of_the_text() {
        let plain = ProviderError::permanent("ack", "Invalid lock token");
        let lost = plain.clone().with_kind(ProviderErrorKind::LostLease);
        assert_eq!(plain.kind, ProviderErrorKind::Other);
        assert_ne!(plain, lost);
        assert_eq!(lost.to_string(), "ack: Invalid lock token");
        assert_eq!(lost.kind.to_string(), "lost_lease");
    }
}
