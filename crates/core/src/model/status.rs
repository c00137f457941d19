//! The status of an instance and of an execution.

use std::fmt;

use super::ErrorDetails;

/// What a client sees of an instance.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
///
/// use duroxide::model::OrchestrationStatus;
///
/// fn describe(status: &OrchestrationStatus) -> String {
///     match status {
///         OrchestrationStatus::NotFound => "unknown".to_owned(),
///         OrchestrationStatus::Running { .. } => "running".to_owned(),
///         OrchestrationStatus::Completed { output, .. } => output.clone(),
///         OrchestrationStatus::Failed { details, .. } => details.display_message(),
///     }
/// }
///
/// assert_eq!(describe(&OrchestrationStatus::NotFound), "unknown");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrchestrationStatus {
    /// No such instance, or its start was not processed yet.
    NotFound,
    /// Not finished.
    Running {
        /// Text set by the orchestration.
        custom_status: Option<String>,
        /// Grows with every change of the text.
        custom_status_version: u64,
    },
    /// Returned `Ok`.
    Completed {
        /// The result.
        output: String,
        /// Text set by the orchestration.
        custom_status: Option<String>,
        /// Grows with every change of the text.
        custom_status_version: u64,
    },
    /// Failed, cancelled or poisoned.
    Failed {
        /// Why.
        details: ErrorDetails,
        /// Text set by the orchestration.
        custom_status: Option<String>,
        /// Grows with every change of the text.
        custom_status_version: u64,
    },
}

impl OrchestrationStatus {
    /// Whether the instance is finished.
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Completed { .. } | Self::Failed { .. } => true,
            Self::NotFound | Self::Running { .. } => false,
        }
    }
}

/// Status of one execution as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutionStatus {
    /// Not finished.
    Running,
    /// Returned `Ok`.
    Completed,
    /// Failed, cancelled or poisoned.
    Failed,
    /// Ended by starting the next execution.
    ContinuedAsNew,
}

impl ExecutionStatus {
    /// Every status.
    pub const ALL: [Self; 4] = [Self::Running, Self::Completed, Self::Failed, Self::ContinuedAsNew];

    /// The stored text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "Running",
            Self::Completed => "Completed",
            Self::Failed => "Failed",
            Self::ContinuedAsNew => "ContinuedAsNew",
        }
    }

    /// Reads the stored text.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    /// Whether the execution is over.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Running => false,
            Self::Completed | Self::Failed | Self::ContinuedAsNew => true,
        }
    }
}

impl fmt::Display for ExecutionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
