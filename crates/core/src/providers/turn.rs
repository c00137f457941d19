//! Turns in batches, without the history that a node already holds.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{
    DispatcherCapabilityFilter, ExecutionMetadata, OrchestrationItem, ScheduledActivityIdentifier,
    StartLimit,
};
use crate::model::{Event, WorkItem};

/// A point in a stored history that a node has already seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryMark {
    /// Made by the provider when the instance is created, never reused: an instance that was
    /// deleted and created again under the same id is not the one that was seen.
    pub incarnation: u64,
    /// The execution that was seen.
    pub execution_id: u64,
    /// Its last event that was seen.
    pub event_id: u64,
}

/// Says how much of an instance's history the caller holds.
pub trait KnownHistory: Send + Sync {
    /// The mark up to which the caller holds the history of `instance`.
    fn mark(&self, instance: &str) -> Option<HistoryMark>;
}

/// A request for turns.
#[derive(Clone)]
pub struct TurnFetch<'a> {
    /// How many turns at the most.
    pub turns_max: usize,
    /// Length of each lease.
    pub lock_timeout: Duration,
    /// How long to wait for the first turn.
    pub poll_timeout: Duration,
    /// What the caller can replay; `None` means everything.
    pub filter: Option<&'a DispatcherCapabilityFilter>,
    /// What the caller holds already.
    pub known: Option<Arc<dyn KnownHistory>>,
}

impl fmt::Debug for TurnFetch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnFetch")
            .field("turns_max", &self.turns_max)
            .field("lock_timeout", &self.lock_timeout)
            .field("poll_timeout", &self.poll_timeout)
            .field("filter", &self.filter)
            .field("known", &self.known.is_some())
            .finish()
    }
}

/// One fetched turn.
#[derive(Debug, Clone)]
pub struct FetchedTurn {
    /// The turn. Its history holds only the events after `history_after`.
    pub item: OrchestrationItem,
    /// Proof of the lease.
    pub lock_token: String,
    /// Highest attempt count among the messages.
    pub attempt_count: u32,
    /// The caller holds everything up to this event; zero when the whole history is here.
    pub history_after: u64,
}

/// One turn to be committed.
#[derive(Debug, Clone, Default)]
pub struct TurnCommit {
    /// Proof of the lease; a [`DirectTurn`] has none.
    pub lock_token: String,
    /// The execution that the turn belongs to.
    pub execution_id: u64,
    /// Events to append.
    pub history_delta: Vec<Event>,
    /// Activities to enqueue.
    pub worker_items: Vec<WorkItem>,
    /// Messages to enqueue.
    pub orchestrator_items: Vec<WorkItem>,
    /// Status and identity of the execution.
    pub metadata: ExecutionMetadata,
    /// Activities to remove from the worker queue.
    pub cancelled_activities: Vec<ScheduledActivityIdentifier>,
    /// Which of `worker_items` must be started in time.
    pub start_limits: Vec<StartLimit>,
    /// Activities that the caller starts at once, so that they need no fetch.
    pub lease_work: Option<WorkLease>,
}

/// Asks for activities of a commit to be enqueued under a lease of the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkLease {
    /// Which of the commit's `worker_items`, ascending. None of them belongs to a session.
    pub indexes: Vec<usize>,
    /// Length of each lease.
    pub lock_timeout: Duration,
}

/// A turn that was not fetched: the caller holds the execution, and the completions that move it.
///
/// It goes straight from the end of an activity to the commit, without a message in between.
#[derive(Debug, Clone)]
pub struct DirectTurn {
    /// The instance.
    pub instance: String,
    /// The end of the stored history, as far as the caller knows.
    pub mark: HistoryMark,
    /// Lock tokens of the activities whose completions the turn consumed.
    pub finished_work: Vec<String>,
    /// What the turn changes. Its lock token is empty.
    pub commit: TurnCommit,
}

/// The answer to a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommittedTurn {
    /// Incarnation of the instance for a later [`HistoryMark`]; `None` if the provider has none.
    pub incarnation: Option<u64>,
    /// The activities that are leased to the caller, of those that it asked for.
    pub leased: Vec<LeasedWork>,
    /// Messages of the instance have become visible meanwhile, so that a direct turn would be
    /// refused. A provider that does not know says no.
    pub more_waits: bool,
}

/// An activity that was enqueued under a lease. Its attempt count is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeasedWork {
    /// Index among the commit's `worker_items`.
    pub index: usize,
    /// Proof of the lease.
    pub lock_token: String,
}
