//! What is fetched and what is committed.

use std::collections::HashMap;

use semver::Version;

use crate::model::{Event, KvEntry, WorkItem};
use crate::providers::ProviderError;

/// A turn to be processed: one locked instance with its messages.
#[derive(Debug, Clone)]
pub struct OrchestrationItem {
    /// The instance.
    pub instance: String,
    /// Registered name.
    pub orchestration_name: String,
    /// Current execution.
    pub execution_id: u64,
    /// Handler version, or "unknown".
    pub version: String,
    /// History of the current execution, ordered by event id.
    pub history: Vec<Event>,
    /// Messages in arrival order.
    pub messages: Vec<WorkItem>,
    /// Why the history cannot be read; `history` is then empty.
    pub history_error: Option<String>,
    /// Key-value state that finished executions left behind. Empty if the fetch leaves out history:
    /// the caller has both, or reads both.
    pub kv_snapshot: HashMap<String, KvEntry>,
}

/// What a commit says about the execution besides its events.
#[derive(Debug, Clone, Default)]
pub struct ExecutionMetadata {
    /// `Completed`, `Failed`, `ContinuedAsNew`, or `None` while it runs.
    pub status: Option<String>,
    /// Result, error text, or input of the next execution.
    pub output: Option<String>,
    /// Registered name.
    pub orchestration_name: Option<String>,
    /// Resolved handler version.
    pub orchestration_version: Option<String>,
    /// Instance that waits for the result.
    pub parent_instance_id: Option<String>,
    /// Version that the execution is pinned to; sent with its start event only.
    pub pinned_duroxide_version: Option<Version>,
}

/// Names one scheduled activity.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ScheduledActivityIdentifier {
    /// Instance that asked.
    pub instance: String,
    /// Execution that asked.
    pub execution_id: u64,
    /// Schedule event id.
    pub activity_id: u64,
}

/// How the latest execution of an instance stands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstanceOutcome {
    /// Nothing is recorded.
    NotFound,
    /// Recorded, and neither completed nor failed.
    Running,
    /// Over; the event is its `OrchestrationCompleted` or `OrchestrationFailed`.
    Ended(Box<Event>),
}

/// What a client reads of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstanceStatus {
    /// How its latest execution stands.
    pub outcome: InstanceOutcome,
    /// The last custom status that the orchestration set.
    pub custom_status: Option<String>,
    /// How often it was set; zero for an instance that is not found.
    pub custom_status_version: u64,
}

impl InstanceStatus {
    /// An outcome and the result of
    /// [`get_custom_status`](crate::providers::Provider::get_custom_status). The custom status is
    /// an extra: when it cannot be read, the outcome is still worth having.
    pub fn new(
        outcome: InstanceOutcome,
        custom_status: Result<Option<(Option<String>, u64)>, ProviderError>,
    ) -> Self {
        let (custom_status, custom_status_version) = match custom_status {
            Ok(found) => found.unwrap_or((None, 0)),
            Err(error) => {
                tracing::debug!(
                    target: "duroxide::client",
                    %error,
                    "custom status could not be read; reporting the outcome without it"
                );
                (None, 0)
            }
        };
        Self { outcome, custom_status, custom_status_version }
    }
}
