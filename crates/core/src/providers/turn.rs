//! Turns in batches, without the history that a node already holds.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{
    DeferredHistory, ExecutionMetadata, FetchFilter, OrchestrationItem, ScheduledActivity,
    ScheduledActivityIdentifier,
};
use crate::model::{Event, INITIAL_EXECUTION_ID, WorkItem, routing_key};

/// A point in a stored history that a node has already seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryMark {
    /// Made by the provider when the instance is created, never reused: an instance that was
    /// deleted and created again under the same id is not the one that was seen.
    pub incarnation: u64,
    /// The execution that was seen.
    pub execution_id: u64,
    /// Its last event that was seen.
    pub event_id: u64,
    /// The [commit](TurnCommit::commit_id) that appended that event: a store that was restored from
    /// a backup may hold another event there. `None` compares the numbers alone.
    pub commit_id: Option<u64>,
}

impl HistoryMark {
    /// The point before the first event of the first execution.
    pub const fn new(incarnation: u64) -> Self {
        Self { incarnation, execution_id: INITIAL_EXECUTION_ID, event_id: 0, commit_id: None }
    }

    /// The same point of another incarnation.
    #[must_use]
    pub const fn with_incarnation(mut self, incarnation: u64) -> Self {
        self.incarnation = incarnation;
        self
    }

    /// The execution that was seen.
    #[must_use]
    pub const fn with_execution_id(mut self, execution_id: u64) -> Self {
        self.execution_id = execution_id;
        self
    }

    /// The last event that was seen.
    #[must_use]
    pub const fn with_event_id(mut self, event_id: u64) -> Self {
        self.event_id = event_id;
        self
    }

    /// The commit that appended that event.
    #[must_use]
    pub const fn with_commit_id(mut self, commit_id: Option<u64>) -> Self {
        self.commit_id = commit_id;
        self
    }

    /// Whether this mark names the commit that is stored with the event at the mark.
    pub fn matches_commit(&self, stored: Option<u64>) -> bool {
        self.commit_id.is_none() || self.commit_id == stored
    }
}

/// Says how much of an instance's history the caller holds.
pub trait KnownHistory: Send + Sync {
    /// The mark up to which the caller holds the history of `instance`.
    fn mark(&self, instance: &str) -> Option<HistoryMark>;
}

/// A request for turns.
#[derive(Clone)]
#[non_exhaustive]
pub struct TurnFetch<'a> {
    /// How many turns at the most.
    pub turns_max: usize,
    /// Length of each lease.
    pub lock_timeout: Duration,
    /// How long to wait for the first turn.
    pub poll_timeout: Duration,
    /// What the caller can run.
    pub filter: &'a FetchFilter,
    /// What the caller holds already.
    pub known: Option<Arc<dyn KnownHistory>>,
    /// Whether long histories may be left to the caller, who reads them with
    /// [`read_turn_state`](super::Provider::read_turn_state).
    pub defers_histories: bool,
}

impl<'a> TurnFetch<'a> {
    /// A request that does not wait, with no filter, for whole histories.
    pub fn new(turns_max: usize, lock_timeout: Duration) -> Self {
        Self {
            turns_max,
            lock_timeout,
            poll_timeout: Duration::ZERO,
            filter: FetchFilter::unlimited(),
            known: None,
            defers_histories: false,
        }
    }

    /// Length of each lease.
    #[must_use]
    pub fn with_lock_timeout(mut self, lock_timeout: Duration) -> Self {
        self.lock_timeout = lock_timeout;
        self
    }

    /// How long to wait for the first turn.
    #[must_use]
    pub fn with_poll_timeout(mut self, poll_timeout: Duration) -> Self {
        self.poll_timeout = poll_timeout;
        self
    }

    /// What the caller can run.
    #[must_use]
    pub fn with_filter(mut self, filter: &'a FetchFilter) -> Self {
        self.filter = filter;
        self
    }

    /// What the caller holds already.
    #[must_use]
    pub fn with_known(mut self, known: Arc<dyn KnownHistory>) -> Self {
        self.known = Some(known);
        self
    }

    /// Leaves long histories to the caller: the other turns of the fetch do not wait for them, and
    /// the caller decides how many of them it holds at once.
    #[must_use]
    pub fn with_deferred_histories(mut self) -> Self {
        self.defers_histories = true;
        self
    }
}

impl fmt::Debug for TurnFetch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnFetch")
            .field("turns_max", &self.turns_max)
            .field("lock_timeout", &self.lock_timeout)
            .field("poll_timeout", &self.poll_timeout)
            .field("filter", &self.filter)
            .field("known", &self.known.is_some())
            .field("defers_histories", &self.defers_histories)
            .finish()
    }
}

/// One fetched turn.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FetchedTurn {
    /// The turn. Its history holds only the events after `history_after`.
    pub item: OrchestrationItem,
    /// Proof of the lease.
    pub lock_token: String,
    /// Highest attempt count among the messages.
    pub attempt_count: u32,
    /// The caller holds everything up to this event, and the key-value state; zero when the whole
    /// history is here.
    pub history_after: u64,
    /// The history and the key-value state are not here; the caller reads them with
    /// [`read_turn_state`](super::Provider::read_turn_state). Only if the request
    /// [allows it](TurnFetch::with_deferred_histories).
    pub deferred: Option<DeferredHistory>,
    /// When the lease began, if the provider says so; else it begins when the caller gets the turn.
    pub leased_at: Option<Instant>,
}

impl FetchedTurn {
    /// A turn with its whole history.
    pub fn new(item: OrchestrationItem, lock_token: String, attempt_count: u32) -> Self {
        Self { item, lock_token, attempt_count, history_after: 0, deferred: None, leased_at: None }
    }

    /// When the lease began: at this time or a little later.
    #[must_use]
    pub fn with_leased_at(mut self, leased_at: Instant) -> Self {
        self.leased_at = Some(leased_at);
        self
    }

    /// The event that the history begins after.
    #[must_use]
    pub fn with_history_after(mut self, history_after: u64) -> Self {
        self.history_after = history_after;
        self
    }

    /// The history that the caller reads for itself.
    #[must_use]
    pub fn with_deferred(mut self, deferred: Option<DeferredHistory>) -> Self {
        self.deferred = deferred;
        self
    }
}

/// One turn to be committed.
///
/// [`with_messages`](Self::with_messages) separates messages by their routing key, so that a store
/// spread over several servers commits a turn, with its own messages, on one of them.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct TurnCommit {
    /// Proof of the lease; a [`DirectTurn`] has none.
    pub lock_token: String,
    /// The execution that the turn belongs to.
    pub execution_id: u64,
    /// Events to append.
    pub history_delta: Vec<Event>,
    /// Activities to enqueue, in this order.
    pub activities: Vec<ScheduledActivity>,
    /// Messages to enqueue, in this order, to instances with the routing key of this one.
    pub own_messages: Vec<WorkItem>,
    /// Messages to enqueue after those, in this order, to instances with any routing key.
    pub outgoing_messages: Vec<WorkItem>,
    /// Status and identity of the execution.
    pub metadata: ExecutionMetadata,
    /// Activities to remove from the worker queue.
    pub cancelled_activities: Vec<ScheduledActivityIdentifier>,
    /// A number that no other commit has, stored with the last of the events; a later
    /// [`HistoryMark`] names it.
    pub commit_id: Option<u64>,
}

impl TurnCommit {
    /// A commit that only removes the messages of the turn.
    pub fn new(lock_token: impl Into<String>, execution_id: u64) -> Self {
        Self { lock_token: lock_token.into(), execution_id, ..Self::default() }
    }

    /// All messages that the commit enqueues, in the order of the queue.
    pub fn messages(&self) -> impl Iterator<Item = &WorkItem> {
        self.own_messages.iter().chain(&self.outgoing_messages)
    }

    /// Proof of the lease.
    #[must_use]
    pub fn with_lock_token(mut self, lock_token: impl Into<String>) -> Self {
        self.lock_token = lock_token.into();
        self
    }

    /// The execution that the turn belongs to.
    #[must_use]
    pub fn with_execution_id(mut self, execution_id: u64) -> Self {
        self.execution_id = execution_id;
        self
    }

    /// Events to append.
    #[must_use]
    pub fn with_history_delta(mut self, history_delta: Vec<Event>) -> Self {
        self.history_delta = history_delta;
        self
    }

    /// Activities to enqueue, each a [`ScheduledActivity`] or the plain work item.
    #[must_use]
    pub fn with_activities(
        mut self,
        activities: impl IntoIterator<Item = impl Into<ScheduledActivity>>,
    ) -> Self {
        self.activities = activities.into_iter().map(Into::into).collect();
        self
    }

    /// Messages to enqueue, separated by whether they stay with the tree of `instance`, which the
    /// turn belongs to.
    #[must_use]
    pub fn with_messages(mut self, instance: &str, messages: Vec<WorkItem>) -> Self {
        let key = routing_key(instance);
        let is_own = |item: &WorkItem| routing_key(item.target_instance()) == key;
        // Most turns send to their own tree only; then the list is kept as it is.
        (self.own_messages, self.outgoing_messages) = match messages.iter().all(is_own) {
            true => (messages, Vec::new()),
            false => messages.into_iter().partition(is_own),
        };
        self
    }

    /// Messages to enqueue to instances with the routing key of this one.
    #[must_use]
    pub fn with_own_messages(mut self, own_messages: Vec<WorkItem>) -> Self {
        self.own_messages = own_messages;
        self
    }

    /// Messages to enqueue to instances with any routing key.
    #[must_use]
    pub fn with_outgoing_messages(mut self, outgoing_messages: Vec<WorkItem>) -> Self {
        self.outgoing_messages = outgoing_messages;
        self
    }

    /// Status and identity of the execution.
    #[must_use]
    pub fn with_metadata(mut self, metadata: ExecutionMetadata) -> Self {
        self.metadata = metadata;
        self
    }

    /// Activities to remove from the worker queue.
    #[must_use]
    pub fn with_cancelled_activities(
        mut self,
        cancelled_activities: Vec<ScheduledActivityIdentifier>,
    ) -> Self {
        self.cancelled_activities = cancelled_activities;
        self
    }

    /// A number that no other commit has.
    #[must_use]
    pub fn with_commit_id(mut self, commit_id: Option<u64>) -> Self {
        self.commit_id = commit_id;
        self
    }
}

/// A turn that was not fetched: the caller holds the execution, and the completions that move it.
///
/// It goes straight from the completion of an activity to the commit, without a message in between.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DirectTurn {
    /// The instance.
    pub instance: String,
    /// Where the stored history ends, as far as the caller knows.
    pub mark: HistoryMark,
    /// Lock tokens of the activities whose completions the turn consumed.
    pub finished_work: Vec<String>,
    /// What the turn changes. Its lock token is empty.
    pub commit: TurnCommit,
}

impl DirectTurn {
    /// A turn that follows `mark` and consumes no completion.
    pub fn new(instance: impl Into<String>, mark: HistoryMark, commit: TurnCommit) -> Self {
        Self { instance: instance.into(), mark, finished_work: Vec::new(), commit }
    }

    /// Where the stored history ends, as far as the caller knows.
    #[must_use]
    pub fn with_mark(mut self, mark: HistoryMark) -> Self {
        self.mark = mark;
        self
    }

    /// Lock tokens of the activities whose completions the turn consumed.
    #[must_use]
    pub fn with_finished_work(mut self, finished_work: Vec<String>) -> Self {
        self.finished_work = finished_work;
        self
    }

    /// What the turn changes.
    #[must_use]
    pub fn with_commit(mut self, commit: TurnCommit) -> Self {
        self.commit = commit;
        self
    }
}

/// What a commit returns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommittedTurn {
    /// Incarnation of the instance for a later [`HistoryMark`]; `None` if the provider has none.
    pub incarnation: Option<u64>,
    /// The activities that are leased to the caller, of those that it asked for.
    pub leased: Vec<LeasedWork>,
    /// Messages of the instance have become visible meanwhile, so that a direct turn would be
    /// refused. A provider that does not know says no.
    pub more_waits: bool,
}

impl CommittedTurn {
    /// Incarnation of the instance.
    #[must_use]
    pub fn with_incarnation(mut self, incarnation: Option<u64>) -> Self {
        self.incarnation = incarnation;
        self
    }

    /// The activities that are leased to the caller.
    #[must_use]
    pub fn with_leased(mut self, leased: Vec<LeasedWork>) -> Self {
        self.leased = leased;
        self
    }

    /// Whether messages of the instance have become visible meanwhile.
    #[must_use]
    pub fn with_more_waits(mut self, more_waits: bool) -> Self {
        self.more_waits = more_waits;
        self
    }
}

/// An activity that was enqueued under a lease. Its attempt count is one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeasedWork {
    /// Index among the commit's `activities`.
    pub index: usize,
    /// Proof of the lease.
    pub lock_token: String,
}

impl LeasedWork {
    /// The activity with this index among the commit's `activities`.
    pub fn new(index: usize, lock_token: String) -> Self {
        Self { index, lock_token }
    }
}
