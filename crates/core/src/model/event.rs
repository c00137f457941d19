//! One entry of an append-only history.

use serde::{Deserialize, Serialize};

use super::EventKind;

/// The version that this build writes into every event and pins executions to.
pub const BUILD_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The version that this process writes: that of the build, unless a test lets it act as another.
pub(crate) fn build_version() -> &'static str {
    #[cfg(feature = "replay-version-test")]
    if let Some(version) = super::acting_version::acting_as() {
        return version;
    }
    BUILD_VERSION
}

/// One recorded fact of an execution. Its JSON form is part of the stored format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Position in the execution, from 1. Zero means "not numbered yet".
    pub event_id: u64,
    /// The schedule event that this one completes or cancels.
    pub source_event_id: Option<u64>,
    /// The instance that the event belongs to.
    pub instance_id: String,
    /// The execution that the event belongs to.
    pub execution_id: u64,
    /// Wall clock of the runtime that made the event, in milliseconds since the Unix epoch.
    pub timestamp_ms: u64,
    /// Version of the runtime that made the event.
    pub duroxide_version: String,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

impl Event {
    /// Position in the execution.
    pub fn event_id(&self) -> u64 {
        self.event_id
    }

    /// The schedule event that this one completes or cancels, if any.
    pub fn source_event_id(&self) -> Option<u64> {
        self.source_event_id
    }

    /// Whether the event is the first of its execution.
    pub fn is_start(&self) -> bool {
        matches!(self.kind, EventKind::OrchestrationStarted { .. })
    }

    /// Whether the event is the last of its execution.
    pub fn is_terminal(&self) -> bool {
        self.kind.final_status().is_some()
    }
}
