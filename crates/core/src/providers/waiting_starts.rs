//! Starts whose instance does not exist yet.

use super::ListCursor;

/// A request for queued starts whose instance does not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitingStartQuery {
    /// Only the start of this instance.
    pub instance: Option<String>,
    /// Only starts behind this cursor; `None` begins with the first.
    pub after: Option<ListCursor>,
    /// How many at the most.
    pub limit: u32,
}

impl WaitingStartQuery {
    /// The first starts.
    pub fn new(limit: u32) -> Self {
        Self { instance: None, after: None, limit }
    }

    /// The start of one instance.
    pub fn of(instance: impl Into<String>) -> Self {
        Self { instance: Some(instance.into()), after: None, limit: 1 }
    }

    /// Only starts behind this cursor.
    #[must_use]
    pub fn with_after(mut self, after: ListCursor) -> Self {
        self.after = Some(after);
        self
    }
}

/// A queued start whose instance does not exist yet. Of several for one instance, the oldest.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitingStart {
    /// Place in the list, for the next [`WaitingStartQuery`].
    pub cursor: ListCursor,
    /// The instance to be started.
    pub instance_id: String,
    /// Orchestration that it names.
    pub orchestration_name: String,
    /// Version that it fixes.
    pub orchestration_version: Option<String>,
    /// The instance that waits for the result.
    pub parent_instance_id: Option<String>,
    /// When it was enqueued, milliseconds since the Unix epoch.
    pub waiting_since_ms: u64,
    /// From when on a node may fetch it, milliseconds since the Unix epoch.
    pub visible_at_ms: u64,
    /// How often nodes have fetched it.
    pub attempt_count: u32,
}

impl WaitingStart {
    /// A start that no node has fetched.
    pub fn new(instance_id: impl Into<String>, orchestration_name: impl Into<String>) -> Self {
        let instance_id = instance_id.into();
        Self {
            cursor: ListCursor::new(&instance_id),
            instance_id,
            orchestration_name: orchestration_name.into(),
            orchestration_version: None,
            parent_instance_id: None,
            waiting_since_ms: 0,
            visible_at_ms: 0,
            attempt_count: 0,
        }
    }

    /// Version that it fixes.
    #[must_use]
    pub fn with_version(mut self, version: Option<String>) -> Self {
        self.orchestration_version = version;
        self
    }

    /// The instance that waits for the result.
    #[must_use]
    pub fn with_parent(mut self, parent: Option<String>) -> Self {
        self.parent_instance_id = parent;
        self
    }

    /// When it was enqueued, and from when on a node may fetch it, milliseconds since the Unix
    /// epoch.
    #[must_use]
    pub fn with_times(mut self, waiting_since_ms: u64, visible_at_ms: u64) -> Self {
        (self.waiting_since_ms, self.visible_at_ms) = (waiting_since_ms, visible_at_ms);
        self
    }

    /// How often nodes have fetched it.
    #[must_use]
    pub fn with_attempts(mut self, attempt_count: u32) -> Self {
        self.attempt_count = attempt_count;
        self
    }
}
