//! The answer, as values.

use serde::Serialize;

use super::{Cause, LimitReached, NextStep};
use crate::client::StrandedReason;
use crate::providers::SuspensionOrigin;

/// Why an instance waits. `Display` shows it as text of at most 100 columns; commands may be
/// longer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Why {
    /// The instance.
    pub instance: String,
    /// The time of the answer, by the clock of the store. `Display` counts times from here.
    pub now_ms: u64,
    /// What keeps the instance from going on: of several causes, that which is easiest to act on.
    pub cause: Cause,
    /// What to try, best first.
    pub next: Vec<NextStep>,
    /// Registered name; `None` if the instance has not started and its start cannot be decoded.
    pub orchestration: Option<String>,
    /// Handler version; `None` while no node has chosen one.
    pub version: Option<String>,
    /// The version of Duroxide that the execution is pinned to.
    pub pin: Option<String>,
    /// Current execution; `None` if the instance has not started.
    pub execution_id: Option<u64>,
    /// Instance that waits for the result.
    pub parent: Option<String>,
    /// When the instance was created.
    pub created_at_ms: Option<u64>,
    /// When it was last changed.
    pub updated_at_ms: Option<u64>,
    /// Events of the current execution.
    pub events: u64,
    /// How it ended, if it has.
    pub ended: Option<Ended>,
    /// Its queued start, if it has not started.
    pub start: Option<QueuedStart>,
    /// The suspension, if it is suspended.
    pub suspended: Option<Suspended>,
    /// The reason of a cancellation that was requested.
    pub cancel_requested: Option<String>,
    /// Events that this build cannot decode, if there are any: then the lists are incomplete.
    pub undecodable: Option<UndecodableEvents>,
    /// The next turn.
    pub turn: TurnFacts,
    /// Activities without a result.
    pub activities: Listed<WaitingActivity>,
    /// Timers that have not fired. One that lost a race is among them until it fires.
    pub timers: Listed<WaitingTimer>,
    /// Events that the code waits for.
    pub waits: Listed<WaitingEvent>,
    /// Queues that the code reads from.
    pub queues: Listed<WaitingEvent>,
    /// Children without a result.
    pub children: Listed<WaitingChild>,
    /// Messages of queues that arrived and that no read has taken.
    pub buffered: Listed<BufferedMessages>,
    /// Events that arrived while no wait of that name was open. They are not delivered later.
    pub missed: Listed<BufferedMessages>,
    /// Limits that the instance has reached.
    pub limits: Vec<LimitReached>,
}

/// The beginning of a list, and how long it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Listed<T> {
    /// How many there are.
    pub total: u64,
    /// The first of them.
    pub items: Vec<T>,
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self { total: 0, items: Vec::new() }
    }
}

/// How an instance ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Ended {
    /// In which way.
    pub outcome: Outcome,
    /// When; `None` if the last event cannot be decoded.
    pub at_ms: Option<u64>,
}

/// The end of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// It returned `Ok`.
    Completed {
        /// Its result.
        output: String,
    },
    /// It failed, was cancelled or was poisoned.
    Failed {
        /// Category of [`ErrorDetails`](crate::model::ErrorDetails); `None` if unknown.
        category: Option<&'static str>,
        /// Why.
        error: String,
    },
}

/// A start that no node has committed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct QueuedStart {
    /// When it was enqueued.
    pub queued_at_ms: u64,
    /// From when on a node may fetch it.
    pub visible_at_ms: u64,
    /// How often nodes have fetched it.
    pub attempts: u32,
}

/// A suspension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Suspended {
    /// What caused it: `replay` or `operator`.
    #[serde(serialize_with = "super::json::origin")]
    pub origin: SuspensionOrigin,
    /// The difference between code and history, or the operator's words.
    pub reason: String,
    /// Since when.
    pub since_ms: u64,
    /// When a node tries the code again; `None` if an operator has to resume the instance, or if
    /// the provider does not report it.
    pub retry_at_ms: Option<u64>,
}

/// Events that this build cannot decode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UndecodableEvents {
    /// How many; at least one if the provider cannot read past the first.
    pub total: u64,
    /// Id of the first; `None` if the provider does not name it.
    pub first_event_id: Option<u64>,
    /// Its kind, if its text says so.
    pub event_kind: Option<String>,
    /// The release that wrote it, if its text says so.
    pub written_by: Option<String>,
    /// Why it cannot be decoded.
    pub error: String,
}

/// The next turn of an instance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TurnFacts {
    /// Whether the provider reports what the queues hold. If not, the rest is unknown.
    pub is_known: bool,
    /// A node runs a turn under a lease that expires then.
    pub leased_until_ms: Option<u64>,
    /// Since when messages are ready for a turn, if any are.
    pub ready_since_ms: Option<u64>,
    /// How often nodes have fetched the messages, with the present lease.
    pub attempts: u32,
    /// Messages that no turn has taken, by kind.
    pub unread: Vec<UnreadMessages>,
    /// There are more messages than were counted.
    pub has_more_unread: bool,
    /// Why no live node can run it, if none can.
    pub stranded: Option<StrandedReason>,
}

/// Messages of one kind in the queue of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UnreadMessages {
    /// Name of the [`WorkItem`](crate::model::WorkItem) variant.
    #[serde(rename = "message")]
    pub kind: String,
    /// Those that a turn may take, or has taken and not committed.
    pub ready: u32,
    /// Those that become visible later, such as timers.
    pub delayed: u32,
    /// Those that wait for an instance that does not exist.
    pub parked: u32,
    /// When the first of the delayed ones becomes visible.
    pub next_visible_ms: Option<u64>,
}

/// An activity without a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct WaitingActivity {
    /// Schedule event id.
    pub activity_id: u64,
    /// Registered name.
    pub name: String,
    /// Routing tag.
    pub tag: Option<String>,
    /// Session to run in.
    pub session_id: Option<String>,
    /// When it was scheduled.
    pub scheduled_at_ms: u64,
    /// Where it is.
    pub state: ActivityState,
    /// How often workers have fetched this activity.
    pub fetches: u32,
    /// Calls of the same name and input that failed before, as a retry policy makes them.
    pub failures: Option<EarlierFailures>,
    /// It fails unless a worker starts it before this time.
    pub start_by_ms: Option<u64>,
    /// What it last reported.
    pub progress: Option<Progress>,
    /// Why no live node can run it, if none can.
    pub stranded: Option<StrandedReason>,
}

/// Where an activity is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ActivityState {
    /// A worker may claim it.
    Queued {
        /// Since when.
        since_ms: u64,
    },
    /// A worker released it; others may claim it later.
    Delayed {
        /// From when on.
        until_ms: u64,
    },
    /// Only the owner of its session may claim it.
    InSession {
        /// The owner.
        owner: String,
        /// Until when it owns the session.
        until_ms: u64,
    },
    /// A worker runs it, under a lease.
    Leased {
        /// When the lease expires.
        until_ms: u64,
        /// The worker; `None` if the store does not know it: it knows the owners of sessions.
        node: Option<String>,
    },
    /// It is not in the queue: its result waits for a turn, or it was removed.
    NotQueued,
    /// The provider does not report it.
    Unknown,
}

/// Calls of an activity that failed before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EarlierFailures {
    /// How many in a row.
    pub count: u32,
    /// Schedule event id of the last.
    pub last_activity_id: u64,
    /// Registered name.
    pub name: String,
    /// Its error.
    pub last_error: String,
    /// When it failed.
    pub at_ms: u64,
}

/// What an activity reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Progress {
    /// The report.
    pub text: String,
    /// When it was stored.
    pub at_ms: Option<u64>,
}

/// A timer that has not fired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct WaitingTimer {
    /// Schedule event id.
    pub timer_id: u64,
    /// When it was created.
    pub created_at_ms: u64,
    /// When it is due.
    pub fire_at_ms: u64,
    /// It is due.
    pub is_overdue: bool,
    /// It is due and not in the queue, so that it never fires.
    pub is_lost: bool,
    /// The code created it right after this failure: a retry policy waits so before the next call.
    pub retries: Option<EarlierFailures>,
}

/// An event or a queue that the code waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct WaitingEvent {
    /// Its name.
    pub name: String,
    /// How many waits of this name are open.
    pub count: u64,
    /// Since when the first is.
    pub since_ms: u64,
}

/// Messages of one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BufferedMessages {
    /// Their name.
    pub name: String,
    /// How many.
    pub count: u64,
}

/// A child without a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct WaitingChild {
    /// Its instance id.
    pub instance: String,
    /// Registered name.
    pub name: String,
    /// When it was requested.
    pub requested_at_ms: u64,
    /// How it stands.
    pub state: ChildState,
}

/// How a child stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChildState {
    /// Its start is queued.
    NotStarted,
    /// It runs.
    Running,
    /// It completed; the result waits for a turn.
    Completed,
    /// It failed; the failure waits for a turn.
    Failed,
    /// The store knows neither the child nor its start.
    Missing,
}
