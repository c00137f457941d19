//! One instance as a query returns it.

use std::fmt;

use serde::Serialize;

use crate::model::{AppErrorKind, Attributes, ErrorDetails, ExecutionStatus};

/// The status of an instance in a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RowStatus {
    /// Not finished. So is an instance that continued as new, until its next execution starts.
    Running,
    /// Not finished, and takes no turns until it is resumed or its code agrees with its history.
    Suspended,
    /// Returned `Ok`.
    Completed,
    /// Failed, cancelled or poisoned.
    Failed,
}

impl RowStatus {
    /// Every status.
    pub const ALL: [Self; 4] = [Self::Running, Self::Suspended, Self::Completed, Self::Failed];

    /// The word for it in filters and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Suspended => "suspended",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// The status of an instance that the management side lists under the stored one. An instance
    /// that continued as new and whose next execution will not start has ended. A text that this
    /// version does not know is of one that has not.
    pub fn of_stored(status: &str, is_suspended: bool) -> Self {
        match ExecutionStatus::parse(status) {
            Some(ExecutionStatus::Completed | ExecutionStatus::ContinuedAsNew) => Self::Completed,
            Some(ExecutionStatus::Failed) => Self::Failed,
            Some(ExecutionStatus::Running) | None => {
                if is_suspended {
                    Self::Suspended
                } else {
                    Self::Running
                }
            }
        }
    }

    /// Whether the instance is finished.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Failed => true,
            Self::Running | Self::Suspended => false,
        }
    }
}

impl fmt::Display for RowStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What kind of failure ended an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ErrorCategory {
    /// The code of the orchestration or of an activity failed.
    Application,
    /// It was cancelled or terminated.
    Cancelled,
    /// The deployment does not fit the recorded history, or no node could run it.
    Configuration,
    /// Storage or engine trouble.
    Infrastructure,
    /// A message was fetched too often without being finished.
    Poison,
}

impl ErrorCategory {
    /// Every category.
    pub const ALL: [Self; 5] = [
        Self::Application,
        Self::Cancelled,
        Self::Configuration,
        Self::Infrastructure,
        Self::Poison,
    ];

    /// The word for it in filters and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::Cancelled => "cancelled",
            Self::Configuration => "configuration",
            Self::Infrastructure => "infrastructure",
            Self::Poison => "poison",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|category| category.as_str() == word)
    }

    /// The category of a failure.
    pub fn of(details: &ErrorDetails) -> Self {
        match details {
            ErrorDetails::Application { kind: AppErrorKind::Cancelled { .. }, .. } => {
                Self::Cancelled
            }
            ErrorDetails::Application { .. } => Self::Application,
            ErrorDetails::Configuration { .. } => Self::Configuration,
            ErrorDetails::Infrastructure { .. } => Self::Infrastructure,
            ErrorDetails::Poison { .. } => Self::Poison,
        }
    }
}

impl fmt::Display for ErrorCategory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why an instance failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct InstanceFailure {
    /// The kind of failure; `None` if the event that ended the instance cannot be read.
    pub category: Option<ErrorCategory>,
    /// What people see.
    pub message: String,
}

impl InstanceFailure {
    /// A failure with this text.
    pub fn new(category: Option<ErrorCategory>, message: impl Into<String>) -> Self {
        Self { category, message: message.into() }
    }
}

/// An instance, as a query returns it. The names of the fields are those of its JSON, which is
/// stable: fields may be added. Times are milliseconds since the Unix epoch.
///
/// ```
/// # use duroxide_core as duroxide;
/// use duroxide::query::{InstanceRow, RowStatus};
///
/// let mut row = InstanceRow::new("order-7", "PlaceOrder", RowStatus::Running);
/// row.created_at_ms = 1000;
/// let json = serde_json::to_string(&row).unwrap();
/// assert!(json.starts_with(r#"{"instance_id":"order-7","orchestration_name":"PlaceOrder""#));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct InstanceRow {
    /// Its id.
    pub instance_id: String,
    /// Registered name.
    pub orchestration_name: String,
    /// Handler version.
    pub orchestration_version: String,
    /// Its status.
    pub status: RowStatus,
    /// The instance that waits for its result.
    pub parent_instance_id: Option<String>,
    /// The number of its current execution: how many have started.
    pub executions: u64,
    /// When its first turn was committed.
    pub created_at_ms: u64,
    /// When its last turn was committed.
    pub updated_at_ms: u64,
    /// When it completed or failed.
    pub ended_at_ms: Option<u64>,
    /// From its creation until its end, or until the query.
    pub duration_ms: u64,
    /// Text set by the orchestration; its first 4096 characters.
    pub custom_status: Option<String>,
    /// Why it failed; the first 4096 characters of the text.
    pub error: Option<InstanceFailure>,
    /// Why it is suspended.
    pub suspended_reason: Option<String>,
    /// The version of Duroxide that its current execution is pinned to.
    pub pin: Option<String>,
    /// Its search attributes.
    pub attributes: Attributes,
    /// What it waits for, if the query asked for it and its history is not too long.
    pub waiting_for: Option<Vec<String>>,
}

impl InstanceRow {
    /// A row without the facts that are optional.
    pub fn new(
        instance_id: impl Into<String>,
        orchestration_name: impl Into<String>,
        status: RowStatus,
    ) -> Self {
        Self {
            instance_id: instance_id.into(),
            orchestration_name: orchestration_name.into(),
            orchestration_version: String::new(),
            status,
            parent_instance_id: None,
            executions: 1,
            created_at_ms: 0,
            updated_at_ms: 0,
            ended_at_ms: None,
            duration_ms: 0,
            custom_status: None,
            error: None,
            suspended_reason: None,
            pin: None,
            attributes: Attributes::new(),
            waiting_for: None,
        }
    }

    /// Sets the end, if it has ended, and the time that it took or has taken until now.
    #[must_use]
    pub fn with_times(mut self, created: u64, updated: u64, ended: Option<u64>, now: u64) -> Self {
        self.created_at_ms = created;
        self.updated_at_ms = updated;
        self.ended_at_ms = ended.filter(|_| self.status.is_terminal());
        self.duration_ms = self.ended_at_ms.unwrap_or(now).saturating_sub(created);
        self
    }
}
