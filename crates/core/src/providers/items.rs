//! What is fetched and what is committed.

use std::collections::HashMap;

use semver::Version;

use crate::model::{Event, WorkItem};

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
    /// Key-value state that finished executions left behind.
    pub kv_snapshot: HashMap<String, KvEntry>,
}

/// A stored value and when it was set.
#[derive(Debug, Clone, PartialEq)]
pub struct KvEntry {
    /// The value.
    pub value: String,
    /// When it was set, milliseconds since the Unix epoch.
    pub last_updated_at_ms: u64,
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
pub struct InstanceStatus {
    /// How the latest execution stands.
    pub outcome: InstanceOutcome,
    /// The custom status and its version, which is 0 if none was ever set; `None` if it was not
    /// read and has to be asked for.
    pub custom: Option<(Option<String>, u64)>,
}

/// How the latest execution of an instance stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstanceOutcome {
    /// Nothing is recorded.
    NotFound,
    /// Recorded, and neither completed nor failed.
    Running,
    /// Over; the event is its `OrchestrationCompleted` or `OrchestrationFailed`.
    Ended(Box<Event>),
}
