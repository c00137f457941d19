//! Errors of this crate, and what they mean for the storage contract.

use std::sync::Arc;
use std::time::Duration;

use deadpool::managed::{PoolError, TimeoutType};
use duroxide_core::providers::kit::RowError;
use duroxide_core::providers::{ProviderError, ProviderErrorKind};
use tokio_postgres::error::SqlState;

use crate::connect::dial::ConnectError;

/// A database could not be reached, migrated or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresError {
    /// The URL cannot be parsed.
    #[error("cannot use database url: {reason}")]
    InvalidUrl {
        /// What is wrong with it. The URL itself may hold a password and is left out.
        reason: String,
    },
    /// The name of the schema cannot be used.
    #[error("cannot use schema name '{name}': {reason}")]
    InvalidSchema {
        /// What was given.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Certificates or keys cannot be used.
    #[error("cannot set up TLS: {reason}")]
    Tls {
        /// What is wrong.
        reason: String,
    },
    /// The server cannot be reached or refuses the connection.
    #[error("cannot connect to the database: {reason}")]
    CannotConnect {
        /// What the server or the network reported.
        reason: String,
        /// The error behind it.
        source: Option<Source>,
    },
    /// The server or the database does not fit.
    #[error("cannot use this database: {reason}")]
    Unsuitable {
        /// What does not fit, and what to do.
        reason: String,
    },
    /// The tables are missing or older, and this node must not create them.
    #[error(
        "schema '{schema}' is at version {found} of {known}: run `duroxide-pg migrate` as a role \
         with the privileges (`duroxide-pg schema` prints the SQL of a new one), or open it with \
         migrations"
    )]
    OlderSchema {
        /// The schema.
        schema: String,
        /// Its version; zero if there are no tables.
        found: i64,
        /// Our newest version.
        known: i64,
    },
    /// The functions of this build are missing, and this node must not install them.
    #[error(
        "schema '{schema}' lacks version {version} of the functions: run `duroxide-pg functions` \
         as a role with the privileges, or open it with migrations"
    )]
    MissingFunctions {
        /// The schema.
        schema: String,
        /// The version that this build calls.
        version: String,
    },
    /// A newer release has changed the tables.
    #[error(
        "schema '{schema}' has version {found}, this build knows versions up to {known}: upgrade \
         this program"
    )]
    NewerSchema {
        /// The schema.
        schema: String,
        /// Its version.
        found: i64,
        /// Our newest version.
        known: i64,
    },
    /// The schema holds a store of duroxide-pg 0.1 that this build cannot migrate.
    #[error(
        "schema '{schema}' holds a store of duroxide-pg 0.1 at its migration {found}, and this \
         build migrates those of 0.1.27 to 0.1.38: open it once with duroxide-pg 0.1.38 first"
    )]
    Predecessor {
        /// The schema.
        schema: String,
        /// The number of its last migration.
        found: i64,
    },
    /// Any other error of the database.
    #[error("the database failed: {reason}")]
    Storage {
        /// What it reported.
        reason: String,
        /// The error behind it.
        source: Option<Source>,
    },
}

/// The cause of an error.
pub(crate) type Source = Box<dyn std::error::Error + Send + Sync>;

impl PostgresError {
    /// A connection failed without an error of the driver.
    pub(crate) fn cannot_connect(reason: impl Into<String>) -> Self {
        Self::CannotConnect { reason: reason.into(), source: None }
    }

    /// Another transaction waited for this one, and this one for it; nothing was changed.
    pub(crate) fn is_deadlock(&self) -> bool {
        let Self::Storage { source: Some(source), .. } = self else { return false };
        let error = source.downcast_ref::<tokio_postgres::Error>();
        error.and_then(tokio_postgres::Error::code) == Some(&SqlState::T_R_DEADLOCK_DETECTED)
    }
}

impl From<tokio_postgres::Error> for PostgresError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Storage { reason: describe(&error), source: Some(error.into()) }
    }
}

impl From<PoolError<ConnectError>> for PostgresError {
    fn from(error: PoolError<ConnectError>) -> Self {
        let reason = if let PoolError::Backend(error) = &error {
            error.to_string()
        } else {
            error.to_string()
        };
        Self::CannotConnect { reason, source: Some(error.into()) }
    }
}

impl From<ConnectError> for PostgresError {
    fn from(error: ConnectError) -> Self {
        Self::CannotConnect { reason: error.to_string(), source: Some(error.into()) }
    }
}

impl From<JobError> for PostgresError {
    fn from(error: JobError) -> Self {
        Self::Storage { reason: error.to_string(), source: Some(error.into()) }
    }
}

/// Why a job on a connection failed.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum JobError {
    /// A value cannot become a row, or a row a value.
    #[error(transparent)]
    Row(#[from] RowError),
    /// The request is invalid or comes too late; a retry does not help.
    #[error("{1}")]
    Refused(ProviderErrorKind, String),
    /// The database failed permanently.
    #[error("{0}")]
    Failed(Failure),
    /// The database undid the call or never started it; the call may be repeated.
    #[error("{0}")]
    Unavailable(Failure),
    /// The connection broke before the response: the call may have run or not.
    #[error("{0}")]
    Uncertain(Failure),
    /// A bug in this crate.
    #[error("{0}")]
    Broken(String),
}

/// What a failed call reports.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failure {
    kind: ProviderErrorKind,
    message: String,
    source: Option<Arc<tokio_postgres::Error>>,
}

impl Failure {
    /// A failure that the database did not report itself.
    fn new(kind: ProviderErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    fn during(&self, error: ProviderError) -> ProviderError {
        let error = error.with_kind(self.kind);
        match &self.source {
            Some(source) => error.with_source(source.clone()),
            None => error,
        }
    }
}

impl JobError {
    /// A permanent refusal.
    pub(crate) fn refused(kind: ProviderErrorKind, message: impl Into<String>) -> Self {
        Self::Refused(kind, message.into())
    }

    /// The part of this provider that does the work has stopped.
    pub(crate) fn stopped(message: impl Into<String>) -> Self {
        Self::Failed(Failure::new(ProviderErrorKind::Unavailable, message))
    }

    /// A bug in a task of this crate.
    pub(crate) fn panicked() -> Self {
        Self::Broken("a storage task panicked".to_owned())
    }

    /// The server sent nothing for this long: the call may have run or not.
    pub(crate) fn no_response(within: Duration) -> Self {
        let message = format!("No response within {within:?}; the connection was given up");
        Self::Uncertain(Failure::new(ProviderErrorKind::Unavailable, message))
    }

    /// Adds which server it was.
    pub(crate) fn at(self, server: &str) -> Self {
        let add = |failure: Failure| Failure {
            message: format!("{} (server {server})", failure.message),
            ..failure
        };
        match self {
            Self::Failed(failure) => Self::Failed(add(failure)),
            Self::Unavailable(failure) => Self::Unavailable(add(failure)),
            Self::Uncertain(failure) => Self::Uncertain(add(failure)),
            other @ (Self::Row(_) | Self::Refused(..) | Self::Broken(_)) => other,
        }
    }

    /// The call changes nothing even if it ran, so that it may be repeated.
    pub(crate) fn without_effect(self) -> Self {
        if let Self::Uncertain(failure) = self { Self::Unavailable(failure) } else { self }
    }

    /// The error of the contract, for the operation that failed.
    pub(crate) fn during(&self, operation: &'static str) -> ProviderError {
        match self {
            Self::Unavailable(failure) | Self::Uncertain(failure) => {
                failure.during(ProviderError::retryable(operation, &failure.message))
            }
            Self::Failed(failure) => {
                failure.during(ProviderError::permanent(operation, &failure.message))
            }
            Self::Row(error) => error.during(operation),
            Self::Refused(kind, message) => {
                ProviderError::permanent(operation, message).with_kind(*kind)
            }
            // A defect of this crate is no reason to fail the work of its callers.
            Self::Broken(message) => ProviderError::retryable(operation, message),
        }
    }

    /// Whether the call certainly had no effect and may succeed next time.
    pub(crate) fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }

    /// Whether the data of one instance caused it: other instances can go on.
    pub(crate) fn concerns_data(&self) -> bool {
        let (Self::Failed(failure) | Self::Unavailable(failure)) = self else {
            return matches!(self, Self::Row(_));
        };
        let state = failure.source.as_ref().and_then(|source| source.code());
        state.is_some_and(|state| {
            *state == SqlState::DATA_CORRUPTED || matches!(state.code().get(..2), Some("22" | "54"))
        })
    }

    /// Whether a single row may have caused it: the server read, computed or stored something that
    /// it could not. Missing resources, rights, locks and connections concern all.
    pub(crate) fn may_concern_one_row(&self) -> bool {
        let (Self::Failed(failure) | Self::Unavailable(failure)) = self else { return false };
        let state = failure.source.as_ref().and_then(|source| source.code());
        let class = state.and_then(|state| state.code().get(..2));
        matches!(class, Some("21" | "22" | "23" | "2F" | "38" | "39" | "54" | "P0" | "XX"))
    }

    /// Whether another transaction holds a lock that the call needs.
    pub(crate) fn is_locked(&self) -> bool {
        let Self::Unavailable(failure) = self else { return false };
        let state = failure.source.as_ref().and_then(|source| source.code());
        state == Some(&SqlState::LOCK_NOT_AVAILABLE)
    }

    /// Whether it is unknown if the call ran.
    pub(crate) fn is_uncertain(&self) -> bool {
        matches!(self, Self::Uncertain(_))
    }
}

impl From<PoolError<ConnectError>> for JobError {
    fn from(error: PoolError<ConnectError>) -> Self {
        use ProviderErrorKind as Kind;
        match error {
            PoolError::Backend(error) => Self::Unavailable(Failure {
                kind: Kind::Unavailable,
                message: format!("Database unreachable: {error}"),
                source: error.last,
            }),
            PoolError::Timeout(TimeoutType::Wait) => Self::Unavailable(Failure::new(
                Kind::Busy,
                "Connection pool exhausted: every connection is in use; raise `with_connections` \
                 or lower the load",
            )),
            PoolError::Timeout(_) => Self::Unavailable(Failure::new(
                Kind::Unavailable,
                "Database unreachable: connecting takes too long",
            )),
            PoolError::Closed => Self::stopped("the provider has been closed"),
            PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_) => Self::Unavailable(
                Failure::new(Kind::Unavailable, format!("Database unreachable: {error}")),
            ),
        }
    }
}

impl From<tokio_postgres::Error> for JobError {
    fn from(error: tokio_postgres::Error) -> Self {
        classify(error)
    }
}

fn classify(error: tokio_postgres::Error) -> JobError {
    use ProviderErrorKind as Kind;
    let text = describe(&error);
    let state = error.code().cloned();
    let is_history = error.as_db_error().and_then(|it| it.constraint()) == Some("history_pkey");
    let source = Some(Arc::new(error));
    let failure = |kind: Kind, what: &str| Failure {
        kind,
        message: format!("{what}: {text}"),
        source: source.clone(),
    };
    let Some(state) = state else {
        return match is_of_values(&text) {
            true => JobError::Failed(failure(Kind::Other, "Storage error")),
            // No response from the server, or none that makes sense: the outcome is unknown.
            false => JobError::Uncertain(failure(Kind::Unavailable, "Connection lost")),
        };
    };
    // Permanent is only what the values of this very call cause. An administrator, a full disk or
    // a defect of the server may cause everything else, and it passes: such a call is repeated.
    match state.code().get(..2) {
        _ if state == SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN => {
            JobError::Uncertain(failure(Kind::Unavailable, "Outcome unknown"))
        }
        _ if state == SqlState::LOCK_NOT_AVAILABLE => {
            JobError::Unavailable(failure(Kind::Busy, "Database locked"))
        }
        Some("40") => JobError::Unavailable(failure(Kind::Busy, "Database locked")),
        _ if state == SqlState::QUERY_CANCELED => {
            JobError::Unavailable(failure(Kind::Busy, "Statement timeout"))
        }
        // An administrator ended the session, at an unknown moment.
        Some("57" | "08") => JobError::Uncertain(failure(Kind::Unavailable, "Connection lost")),
        Some("53") => {
            JobError::Unavailable(failure(Kind::Unavailable, "Database out of resources"))
        }
        Some("55") => JobError::Unavailable(failure(Kind::Busy, "Storage error")),
        Some(OURS) => JobError::refused(Kind::LostLease, format!("Invalid lock token: {text}")),
        Some("23") if is_history => JobError::refused(
            Kind::Conflict,
            format!("Failed to append history: already stored ({text})"),
        ),
        Some("23") => JobError::Failed(failure(Kind::Conflict, "Constraint violation")),
        Some("22") => JobError::Failed(failure(Kind::Other, "Storage error")),
        Some("54") => JobError::Failed(failure(Kind::TooLarge, "Storage error")),
        Some("XX") if text.contains(TOO_LARGE_TEXT) => {
            JobError::Failed(failure(Kind::TooLarge, "Storage error"))
        }
        Some("42" | "3F") => JobError::Unavailable(Failure {
            message: format!(
                "Database does not fit, are all migrations applied and rights granted? {text}"
            ),
            ..failure(Kind::Schema, "")
        }),
        _ => JobError::Unavailable(failure(Kind::Unavailable, "Storage error")),
    }
}

/// How the server refuses to build a value above its limit of a gigabyte. It reports an internal
/// error, and never translates this text.
const TOO_LARGE_TEXT: &str = "invalid memory alloc request size";

/// Whether the driver could not convert the values of a call or of its response. It has no other
/// way to say so than its text.
fn is_of_values(text: &str) -> bool {
    let starts = [
        "error serializing parameter",
        "error deserializing column",
        "error encoding message",
        "invalid column",
    ];
    starts.iter().any(|start| text.starts_with(start))
}

/// Class of the errors that the functions of this crate raise.
const OURS: &str = "DX";

/// The error with its causes: by itself it displays only "db error".
pub(crate) fn describe(error: &tokio_postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        let detail = said.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
        return format!("{}{detail} [{}]", said.message(), said.code().code());
    }
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        let cause = inner.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
        source = inner.source();
    }
    text
}

/// Turns a job's failure into an error of the contract.
pub(crate) trait During<T> {
    /// Adds the operation and whether a retry may help.
    fn during(self, operation: &'static str) -> Result<T, ProviderError>;
}

impl<T, E: Into<JobError>> During<T> for Result<T, E> {
    fn during(self, operation: &'static str) -> Result<T, ProviderError> {
        self.map_err(|error| error.into().during(operation))
    }
}
