//! Errors of this crate, and what they mean for the storage contract.

use std::path::PathBuf;
use std::sync::Arc;

use duroxide_core::providers::kit::RowError;
use duroxide_core::providers::{ProviderError, ProviderErrorKind};
use rusqlite::ErrorCode;

/// A database could not be opened, migrated or checkpointed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqliteError {
    /// The URL is invalid.
    #[error("cannot use database url '{url}': {reason}")]
    InvalidUrl {
        /// The URL, without what may be secret.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The file does not exist and may not be created, or its folder is missing.
    #[error("cannot open database '{}': {hint}", path.display())]
    CannotOpen {
        /// The file.
        path: PathBuf,
        /// What the user can do.
        hint: String,
        /// The error of SQLite.
        #[source]
        source: Option<rusqlite::Error>,
    },
    /// The process may not write the file or its folder.
    #[error(
        "database '{}' is read-only: give this process write permission on the file and on its \
         folder (SQLite keeps its log beside the file)",
        path.display()
    )]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// The error of SQLite.
        #[source]
        source: rusqlite::Error,
    },
    /// The file is not a database.
    #[error(
        "'{}' is not a SQLite database: check the path, or move the file away to start a new one",
        path.display()
    )]
    NotADatabase {
        /// The file.
        path: PathBuf,
        /// The error of SQLite.
        #[source]
        source: rusqlite::Error,
    },
    /// The file is damaged.
    #[error(
        "database '{}' is damaged: restore it from a backup, or save what is readable with the \
         sqlite3 command `.recover`",
        path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The error of SQLite.
        #[source]
        source: rusqlite::Error,
    },
    /// The tables are missing or older, and this process must not create them.
    #[error(
        "database '{}' is at schema version {found} of {known}: run `duroxide store migrate`, or \
         open it with migrations",
        path.display()
    )]
    OlderSchema {
        /// The file.
        path: PathBuf,
        /// Its version; zero if there are no tables.
        found: i64,
        /// Our newest version.
        known: i64,
    },
    /// A newer release has migrated the tables.
    #[error(
        "database '{}' has schema version {found}, this build knows versions up to {known}: \
         upgrade this program",
        path.display()
    )]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version that this build knows.
        known: i64,
    },
    /// No known release created these tables.
    #[error("database '{}' has tables that no known release made: {reason}", path.display())]
    UnknownSchema {
        /// The file.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// The disk is full.
    #[error("no space left for database '{}': free space and try again", path.display())]
    DiskFull {
        /// The file.
        path: PathBuf,
        /// The error of SQLite.
        #[source]
        source: rusqlite::Error,
    },
    /// Another process holds the file.
    #[error(
        "database '{}' is locked by another process: let it finish, or raise the busy timeout",
        path.display()
    )]
    Locked {
        /// The file.
        path: PathBuf,
        /// The error of SQLite; `None` if the provider stopped waiting for the lock.
        #[source]
        source: Option<rusqlite::Error>,
    },
    /// A backup could not be written.
    #[error("cannot write backup '{}': {reason}", path.display())]
    Backup {
        /// The file that was to be written.
        path: PathBuf,
        /// What is wrong.
        reason: String,
        /// The error of the file system.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// A thread of the provider could not be started.
    #[error("cannot start a storage thread")]
    Thread(#[source] std::io::Error),
    /// The provider has stopped.
    #[error("the storage thread has stopped")]
    Closed,
    /// Any other error of SQLite.
    #[error("database '{}' failed", path.display())]
    Storage {
        /// The file.
        path: PathBuf,
        /// The error of SQLite.
        #[source]
        source: rusqlite::Error,
    },
}

impl SqliteError {
    /// Classifies an error of SQLite about `path`.
    pub(crate) fn about(path: &std::path::Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                Self::ReadOnly { path, source }
            }
            Some(ErrorCode::NotADatabase) => Self::NotADatabase { path, source },
            Some(ErrorCode::DatabaseCorrupt) => Self::Corrupt { path, source },
            Some(ErrorCode::DiskFull) => Self::DiskFull { path, source },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Locked { path, source: Some(source) }
            }
            Some(ErrorCode::CannotOpen) => {
                let hint = "check that the file exists and that its folder can be read and written";
                Self::CannotOpen { path, hint: hint.to_owned(), source: Some(source) }
            }
            _ => Self::Storage { path, source },
        }
    }
}

impl SqliteError {
    /// The error of the contract for the operation that failed.
    pub(crate) fn during(self, operation: &'static str) -> ProviderError {
        // What was requested can be repeated; nothing was changed.
        let error = if matches!(self, Self::Closed) {
            ProviderError::permanent(operation, self.to_string())
        } else {
            ProviderError::retryable(operation, self.to_string())
        };
        error.with_kind(ProviderErrorKind::Unavailable).with_source(Arc::new(self))
    }
}

/// Why a job on a connection failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JobError {
    /// SQLite failed.
    #[error(transparent)]
    Storage(Arc<rusqlite::Error>),
    /// A value cannot become a row, or a row a value.
    #[error(transparent)]
    Row(#[from] RowError),
    /// A stored row does not contain what this crate wrote; the text names the row.
    #[error("Deserialization error: {0}")]
    Damaged(String),
    /// The request is invalid or its lease is lost; a retry fails too.
    #[error("{1}")]
    Refused(ProviderErrorKind, String),
    /// The storage is not available now; the job changed nothing.
    #[error("{0}")]
    Unavailable(String),
    /// A bug in this crate; the job changed nothing.
    #[error("{0}")]
    Broken(String),
}

impl JobError {
    /// A permanent refusal.
    pub(crate) fn refused(kind: ProviderErrorKind, message: impl Into<String>) -> Self {
        Self::Refused(kind, message.into())
    }

    /// The error of the contract for the operation that failed.
    pub(crate) fn during(&self, operation: &'static str) -> ProviderError {
        match self {
            Self::Storage(error) => classify(operation, error).with_source(error.clone()),
            Self::Unavailable(message) => ProviderError::retryable(operation, message)
                .with_kind(ProviderErrorKind::Unavailable),
            Self::Row(error) => error.during(operation),
            Self::Damaged(_) => ProviderError::permanent(operation, self.to_string())
                .with_kind(ProviderErrorKind::Undecodable),
            Self::Refused(kind, message) => {
                ProviderError::permanent(operation, message).with_kind(*kind)
            }
            // A defect of this crate is no reason to fail the work of its callers.
            Self::Broken(message) => ProviderError::retryable(operation, message),
        }
    }

    /// Whether a stored value cannot be decoded, which concerns only its instance. A damaged file
    /// and a failing disk concern all instances and do not count.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            Self::Storage(error) => is_conversion(error),
            Self::Row(_) | Self::Damaged(_) => true,
            Self::Refused(..) | Self::Unavailable(_) | Self::Broken(_) => false,
        }
    }
}

impl From<rusqlite::Error> for JobError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Storage(Arc::new(error))
    }
}

/// Converts the failure of a job into an error of the contract.
pub(crate) trait During<T> {
    /// Names the operation and decides whether a retry may succeed.
    fn during(self, operation: &'static str) -> Result<T, ProviderError>;
}

impl<T, E: Into<JobError>> During<T> for Result<T, E> {
    fn during(self, operation: &'static str) -> Result<T, ProviderError> {
        self.map_err(|error| error.into().during(operation))
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "SQLite has far more errors than those that matter here"
)]
fn classify(operation: &'static str, error: &rusqlite::Error) -> ProviderError {
    use ProviderErrorKind as Kind;
    use rusqlite::Error;
    let retryable = |kind: Kind, what: &str| {
        ProviderError::retryable(operation, format!("{what}: {error}")).with_kind(kind)
    };
    let permanent = |kind: Kind, what: &str| {
        ProviderError::permanent(operation, format!("{what}: {error}")).with_kind(kind)
    };
    // Permanent is only what the values of this very call cause. Everything else passes, if only
    // because an administrator restores the file or makes space: such a call is repeated.
    match error {
        Error::SqliteFailure(failure, _) => match failure.code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
                retryable(Kind::Busy, "Database locked")
            }
            ErrorCode::ConstraintViolation => permanent(Kind::Conflict, "Constraint violation"),
            ErrorCode::DiskFull => retryable(Kind::Unavailable, "Disk full"),
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
                retryable(Kind::Unavailable, "Database damaged, restore it from a backup")
            }
            ErrorCode::ReadOnly => retryable(Kind::Unavailable, "Database is read-only"),
            ErrorCode::TooBig => permanent(Kind::TooLarge, "Value too large"),
            _ => retryable(Kind::Unavailable, "Storage error"),
        },
        // A retry reads the same value.
        _ if is_conversion(error) => permanent(Kind::Undecodable, "Deserialization error"),
        _ => retryable(Kind::Other, "Storage error"),
    }
}

/// Whether a column contains another type than this crate wrote.
fn is_conversion(error: &rusqlite::Error) -> bool {
    use rusqlite::Error;
    matches!(
        error,
        Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(..)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(code: i32) -> JobError {
        rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None).into()
    }

    #[test]
    fn a_locked_database_is_retryable() {
        let error = failure(rusqlite::ffi::SQLITE_BUSY).during("ack");
        assert!(error.is_retryable());
        assert!(error.message.starts_with("Database locked: "), "{error}");
        assert_eq!(error.kind, ProviderErrorKind::Busy);
        assert!(std::error::Error::source(&error).is_some_and(|it| it.is::<rusqlite::Error>()));
    }

    #[test]
    fn a_constraint_violation_is_permanent() {
        let error = failure(rusqlite::ffi::SQLITE_CONSTRAINT).during("ack");
        assert!(!error.is_retryable());
        assert!(error.message.starts_with("Constraint violation: "), "{error}");
    }

    #[test]
    fn only_an_undecodable_value_is_damage() {
        for code in [rusqlite::ffi::SQLITE_BUSY, rusqlite::ffi::SQLITE_CORRUPT] {
            assert!(!failure(code).is_damage());
        }
        let out_of_range = rusqlite::Error::IntegralValueOutOfRange(0, -1);
        assert!(JobError::from(out_of_range).is_damage());
    }

    #[test]
    fn trouble_of_the_file_is_retryable() {
        use rusqlite::ffi;
        for code in [
            ffi::SQLITE_FULL,
            ffi::SQLITE_IOERR,
            ffi::SQLITE_READONLY,
            ffi::SQLITE_CORRUPT,
            ffi::SQLITE_NOTADB,
            ffi::SQLITE_CANTOPEN,
            ffi::SQLITE_NOMEM,
        ] {
            assert!(failure(code).during("ack").is_retryable(), "{code}");
        }
        assert!(!failure(ffi::SQLITE_TOOBIG).during("ack").is_retryable());
    }
}
