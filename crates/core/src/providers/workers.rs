//! Which workers there are, and which activities wait for one.

use std::time::Duration;

use super::TagFilter;

/// What a node says of itself while it runs activities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerAnnouncement {
    /// Names the node; a later announcement under the same name replaces this one.
    pub node_id: String,
    /// Activities that the node takes.
    pub tag_filter: TagFilter,
    /// Names that the node has handlers for.
    pub activities: Vec<String>,
    /// The node counts as gone when it has not announced itself again within this time.
    pub expires_in: Duration,
}

/// A node that announced itself and has not expired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveWorker {
    /// Names the node.
    pub node_id: String,
    /// Activities that the node takes.
    pub tag_filter: TagFilter,
    /// Names that the node has handlers for, ascending.
    pub activities: Vec<String>,
    /// When it counts as gone unless it announces itself again, milliseconds since the Unix epoch.
    pub expires_at_ms: u64,
}

/// A request for activities of one tag that nobody has leased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingWorkQuery {
    /// The tag; `None` means activities without one.
    pub tag: Option<String>,
    /// Only activities behind this position, which means something during one look through the
    /// queue only; zero begins with the oldest.
    pub after: u64,
    /// How many at the most.
    pub limit: u32,
}

/// An activity that nobody has leased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingWork {
    /// Place in the queue, for the next [`WaitingWorkQuery`].
    pub position: u64,
    /// Instance that asked.
    pub instance_id: String,
    /// Execution that asked.
    pub execution_id: u64,
    /// Schedule event id.
    pub activity_id: u64,
    /// Registered name.
    pub activity_name: String,
    /// Routing tag.
    pub tag: Option<String>,
    /// Session to run in.
    pub session_id: Option<String>,
    /// When it was scheduled, milliseconds since the Unix epoch.
    pub waiting_since_ms: u64,
}
