//! Turns that wait although they could be fetched, because no node may fetch them.

use semver::Version;

use super::{FetchFilter, ListCursor, NeededCode};

/// A request for turns that none of some nodes may fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StrandedTurnQuery {
    /// What the nodes can run. A turn that one of them may fetch is left out.
    pub nodes: Vec<FetchFilter>,
    /// Only turns behind this cursor, which is valid during one pass; `None` begins with the first.
    pub after: Option<ListCursor>,
    /// How many at the most.
    pub limit: u32,
}

impl StrandedTurnQuery {
    /// The first turns that none of these nodes may fetch.
    pub fn new(nodes: Vec<FetchFilter>, limit: u32) -> Self {
        Self { nodes, after: None, limit }
    }

    /// Only turns behind this cursor.
    #[must_use]
    pub fn with_after(mut self, after: ListCursor) -> Self {
        self.after = Some(after);
        self
    }

    /// Whether none of the nodes may fetch a turn that needs this code and has this pin.
    pub fn strands(&self, code: Option<&NeededCode>, pin: Option<&Version>) -> bool {
        !self.nodes.iter().any(|node| node.allows_turn(code, pin))
    }
}

/// A part of the list of stranded turns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StrandedTurns {
    /// The turns; a page may be short, or empty, and not the last.
    pub turns: Vec<WaitingTurn>,
    /// Where the list goes on; `None` at its end.
    pub next: Option<ListCursor>,
}

impl StrandedTurns {
    /// A part of the list.
    pub fn new(turns: Vec<WaitingTurn>, next: Option<ListCursor>) -> Self {
        Self { turns, next }
    }
}

/// An instance with a visible message and without a live lease.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitingTurn {
    /// The instance.
    pub instance_id: String,
    /// Its current execution; `None` if only its start is in the queue.
    pub execution_id: Option<u64>,
    /// The code that the turn needs; `None` if its messages are only removed.
    pub code: Option<NeededCode>,
    /// The version that the execution is pinned to.
    pub pin: Option<Version>,
    /// Since when a node may fetch the turn, milliseconds since the Unix epoch.
    pub waiting_since_ms: u64,
}

impl WaitingTurn {
    /// The first turn of an instance, which needs no code.
    pub fn new(instance_id: impl Into<String>, waiting_since_ms: u64) -> Self {
        Self {
            instance_id: instance_id.into(),
            execution_id: None,
            code: None,
            pin: None,
            waiting_since_ms,
        }
    }

    /// Its current execution.
    #[must_use]
    pub fn with_execution_id(mut self, execution_id: Option<u64>) -> Self {
        self.execution_id = execution_id;
        self
    }

    /// What the turn needs.
    #[must_use]
    pub fn with_needs(mut self, code: Option<NeededCode>, pin: Option<Version>) -> Self {
        (self.code, self.pin) = (code, pin);
        self
    }
}
