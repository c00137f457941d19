//! Which workers run, and which activities wait for one.

use std::time::Duration;

use super::{AnnouncedTurns, ListCursor, ScheduledActivityIdentifier, TagFilter};

/// What a node reports of itself while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerAnnouncement {
    /// Names the node; a later announcement under the same name replaces this one.
    pub node_id: String,
    /// Activities that the node accepts.
    pub tag_filter: TagFilter,
    /// Names that the node has handlers for.
    pub activities: Vec<String>,
    /// Turns that the node runs; `None` if it does not report them.
    pub turns: Option<AnnouncedTurns>,
    /// The node counts as gone when it has not announced itself again within this time.
    pub expires_in: Duration,
}

impl WorkerAnnouncement {
    /// A node without handlers that accepts activities without a tag.
    pub fn new(node_id: impl Into<String>, expires_in: Duration) -> Self {
        Self {
            node_id: node_id.into(),
            tag_filter: TagFilter::default(),
            activities: Vec::new(),
            turns: None,
            expires_in,
        }
    }

    /// Turns that the node runs.
    #[must_use]
    pub fn with_turns(mut self, turns: AnnouncedTurns) -> Self {
        self.turns = Some(turns);
        self
    }

    /// Activities that the node accepts.
    #[must_use]
    pub fn with_tag_filter(mut self, tag_filter: TagFilter) -> Self {
        self.tag_filter = tag_filter;
        self
    }

    /// Names that the node has handlers for.
    #[must_use]
    pub fn with_activities(mut self, activities: Vec<String>) -> Self {
        self.activities = activities;
        self
    }
}

/// A node that announced itself and has not expired.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveWorker {
    /// Names the node.
    pub node_id: String,
    /// Activities that the node accepts.
    pub tag_filter: TagFilter,
    /// Names that the node has handlers for, ascending.
    pub activities: Vec<String>,
    /// Turns that the node runs; `None` if it does not report them.
    pub turns: Option<AnnouncedTurns>,
    /// When it counts as gone unless it announces itself again, milliseconds since the Unix epoch.
    pub expires_at_ms: u64,
}

impl LiveWorker {
    /// A node without handlers that accepts activities without a tag.
    pub fn new(node_id: impl Into<String>, expires_at_ms: u64) -> Self {
        Self {
            node_id: node_id.into(),
            tag_filter: TagFilter::default(),
            activities: Vec::new(),
            turns: None,
            expires_at_ms,
        }
    }

    /// Turns that the node runs; `None` if it does not report them.
    #[must_use]
    pub fn with_turns(mut self, turns: Option<AnnouncedTurns>) -> Self {
        self.turns = turns;
        self
    }

    /// Activities that the node accepts.
    #[must_use]
    pub fn with_tag_filter(mut self, tag_filter: TagFilter) -> Self {
        self.tag_filter = tag_filter;
        self
    }

    /// Names that the node has handlers for, ascending.
    #[must_use]
    pub fn with_activities(mut self, activities: Vec<String>) -> Self {
        self.activities = activities;
        self
    }
}

/// A request for activities of one tag that no worker has leased.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitingWorkQuery {
    /// The tag; `None` means activities without one.
    pub tag: Option<String>,
    /// Only activities behind this cursor, which is valid during one pass through the queue; `None`
    /// starts with the oldest.
    pub after: Option<ListCursor>,
    /// How many at the most.
    pub limit: u32,
}

impl WaitingWorkQuery {
    /// The oldest activities of a tag.
    pub fn new(tag: Option<String>, limit: u32) -> Self {
        Self { tag, after: None, limit }
    }

    /// Only activities behind this cursor.
    #[must_use]
    pub fn with_after(mut self, after: ListCursor) -> Self {
        self.after = Some(after);
        self
    }
}

/// An activity that no worker has leased.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitingWork {
    /// Place in the queue, for the next [`WaitingWorkQuery`].
    pub cursor: ListCursor,
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

impl WaitingWork {
    /// An activity without tag and session.
    pub fn new(
        cursor: ListCursor,
        activity: ScheduledActivityIdentifier,
        activity_name: impl Into<String>,
    ) -> Self {
        Self {
            cursor,
            instance_id: activity.instance,
            execution_id: activity.execution_id,
            activity_id: activity.activity_id,
            activity_name: activity_name.into(),
            tag: None,
            session_id: None,
            waiting_since_ms: 0,
        }
    }

    /// Routing tag.
    #[must_use]
    pub fn with_tag(mut self, tag: Option<String>) -> Self {
        self.tag = tag;
        self
    }

    /// Session to run in.
    #[must_use]
    pub fn with_session_id(mut self, session_id: Option<String>) -> Self {
        self.session_id = session_id;
        self
    }

    /// When it was scheduled, milliseconds since the Unix epoch.
    #[must_use]
    pub fn with_waiting_since_ms(mut self, waiting_since_ms: u64) -> Self {
        self.waiting_since_ms = waiting_since_ms;
        self
    }
}
