//! Why something failed, in a form that is stored and compared.

use serde::{Deserialize, Serialize};

/// A failure, classified by who has to act on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ErrorDetails {
    /// Storage or engine trouble.
    Infrastructure {
        /// What was being done.
        operation: String,
        /// What went wrong.
        message: String,
        /// Whether trying again may help.
        retryable: bool,
    },
    /// The deployment does not fit the recorded history.
    Configuration {
        /// In which way.
        kind: ConfigErrorKind,
        /// What it is about.
        resource: String,
        /// Explanation.
        message: Option<String>,
    },
    /// The user's code failed. The only kind that orchestration code sees as `Err`.
    Application {
        /// In which way.
        kind: AppErrorKind,
        /// The user's text.
        message: String,
        /// Whether trying again may help.
        retryable: bool,
    },
    /// A message was fetched too often without being finished.
    Poison {
        /// How often it was fetched.
        attempt_count: u32,
        /// How often it may be fetched.
        max_attempts: u32,
        /// What it was.
        message_type: PoisonMessageType,
        /// The message itself, as JSON. If no handler was found for it, that reason comes first.
        message: String,
    },
}

/// What a poisoned message was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PoisonMessageType {
    /// A turn of an instance.
    Orchestration {
        /// The instance.
        instance: String,
        /// Its execution.
        execution_id: u64,
    },
    /// An activity.
    Activity {
        /// Instance that asked.
        instance: String,
        /// Execution that asked.
        execution_id: u64,
        /// Registered name.
        activity_name: String,
        /// Schedule event id.
        activity_id: u64,
    },
    /// A turn whose history cannot be read.
    FailedDeserialization {
        /// The instance.
        instance: String,
        /// Its execution.
        execution_id: u64,
        /// Decode error.
        error: String,
    },
}

/// Kinds of [`ErrorDetails::Configuration`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConfigErrorKind {
    /// The code does not repeat what history says it did.
    Nondeterminism,
}

/// Kinds of [`ErrorDetails::Application`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AppErrorKind {
    /// An activity returned `Err` or panicked.
    ActivityFailed,
    /// An orchestration returned `Err`.
    OrchestrationFailed,
    /// An orchestration panicked.
    Panicked,
    /// An orchestration was cancelled.
    Cancelled {
        /// Why.
        reason: String,
    },
}

impl ErrorDetails {
    /// Short name of the category, for metrics.
    pub fn category(&self) -> &'static str {
        match self {
            Self::Infrastructure { .. } => "infrastructure",
            Self::Configuration { .. } => "configuration",
            Self::Application { .. } => "application",
            Self::Poison { .. } => "poison",
        }
    }

    /// Whether trying again may help.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Infrastructure { retryable, .. } | Self::Application { retryable, .. } => {
                *retryable
            }
            Self::Configuration { .. } | Self::Poison { .. } => false,
        }
    }

    /// The text that people and awaiting code see.
    pub fn display_message(&self) -> String {
        match self {
            Self::Infrastructure { operation, message, .. } => {
                format!("infrastructure:{operation}: {message}")
            }
            Self::Configuration { kind: ConfigErrorKind::Nondeterminism, resource, message } => {
                match message {
                    Some(message) if self.is_stranded() => format!("{resource}: {message}"),
                    Some(message) => format!("nondeterministic: {message}"),
                    None => format!("nondeterministic in {resource}"),
                }
            }
            Self::Application { kind, message, .. } => match kind {
                AppErrorKind::Cancelled { reason } => format!("canceled: {reason}"),
                AppErrorKind::Panicked => format!("orchestration panicked: {message}"),
                AppErrorKind::ActivityFailed | AppErrorKind::OrchestrationFailed => message.clone(),
            },
            Self::Poison { attempt_count, max_attempts, message_type, message } => {
                let text = message_type.display(*attempt_count, *max_attempts);
                match message.split_once(POISON_REASON_END) {
                    Some((reason, _message)) => format!("{text}: {reason}"),
                    None => text,
                }
            }
        }
    }

    /// A failure of user code in an orchestration.
    pub(crate) fn orchestration_failed(message: impl Into<String>) -> Self {
        Self::Application {
            kind: AppErrorKind::OrchestrationFailed,
            message: message.into(),
            retryable: false,
        }
    }

    /// A cancelled orchestration.
    pub(crate) fn cancelled(reason: impl Into<String>) -> Self {
        Self::Application {
            kind: AppErrorKind::Cancelled { reason: reason.into() },
            message: String::new(),
            retryable: false,
        }
    }

    /// Whether it failed because no live node could run it for too long.
    pub fn is_stranded(&self) -> bool {
        match self {
            Self::Configuration { resource, .. } => resource.starts_with(STRANDED),
            Self::Infrastructure { .. } | Self::Application { .. } | Self::Poison { .. } => false,
        }
    }

    /// Work that no live node could run. It has no kind of its own, because programs and stored
    /// data know only one.
    pub(crate) fn stranded(what: &str, reason: String) -> Self {
        Self::Configuration {
            kind: ConfigErrorKind::Nondeterminism,
            resource: format!("{STRANDED}{what}"),
            message: Some(reason),
        }
    }

    /// A disagreement between code and history.
    pub(crate) fn nondeterminism(message: impl Into<String>) -> Self {
        Self::Configuration {
            kind: ConfigErrorKind::Nondeterminism,
            resource: String::new(),
            message: Some(message.into()),
        }
    }
}

/// Begins the resource of work that no live node could run; other failures name none.
pub(crate) const STRANDED: &str = "no live node can run ";

/// Ends the reason in front of a poisoned message, if one is known. JSON contains no line breaks.
const POISON_REASON_END: &str = "\nmessage: ";

/// A poisoned message with the reason why no node could process it.
pub(crate) fn poison_with_reason(reason: Option<String>, message: String) -> String {
    match reason {
        Some(reason) => format!("{reason}{POISON_REASON_END}{message}"),
        None => message,
    }
}

impl PoisonMessageType {
    fn display(&self, attempts: u32, attempts_max: u32) -> String {
        match self {
            Self::Orchestration { instance, .. } => format!(
                "poison: orchestration {instance} exceeded {attempts} attempts (max {attempts_max})"
            ),
            Self::Activity { activity_name, activity_id, .. } => format!(
                "poison: activity {activity_name}#{activity_id} exceeded {attempts} attempts \
                 (max {attempts_max})"
            ),
            Self::FailedDeserialization { instance, error, .. } => format!(
                "poison: orchestration {instance} history deserialization failed after \
                 {attempts} attempts (max {attempts_max}): {error}"
            ),
        }
    }
}
