//! Everything that a store has of one instance, to carry it into another store.
//!
//! The fields with a serde name are lines of exported files: see `docs/upgrades.md`. Add, never
//! rename.

use serde::{Deserialize, Serialize};

use super::{RawEvent, Suspension, SuspensionOrigin};

/// Which section of a copy a read returns, and behind which row.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CopySection {
    /// The instance itself.
    Head,
    /// Its executions, ascending.
    Executions {
        /// Only those behind this one.
        after: u64,
    },
    /// The events of one execution, ascending.
    Events {
        /// The execution.
        execution_id: u64,
        /// Only those behind this one.
        after: u64,
    },
    /// All keys of its key-value state: their number is bounded.
    Keys,
    /// The ids of messages that clients sent, ascending.
    MessageIds {
        /// Only those behind this one.
        after: Option<String>,
    },
    /// Its activities in the worker queue, in the order of the queue.
    Activities {
        /// Only those behind this [place](CopiedActivity::place).
        after: u64,
    },
    /// Its messages in the orchestrator queue, in the order of the queue.
    Messages {
        /// Only those behind this [place](CopiedMessage::place).
        after: u64,
    },
}

/// Asks for one section of what a store has of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstanceCopyQuery {
    /// The instance.
    pub instance: String,
    /// What to read.
    pub section: CopySection,
}

impl InstanceCopyQuery {
    /// Asks for a section of an instance.
    pub fn new(instance: impl Into<String>, section: CopySection) -> Self {
        Self { instance: instance.into(), section }
    }
}

/// What a store has of one instance, or one section of it. Leases are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstanceCopy {
    /// The instance.
    pub instance: String,
    /// The instance itself; `None` if it is not stored, and only messages wait for it.
    pub head: Option<InstanceHead>,
    /// Its executions, ascending.
    pub executions: Vec<CopiedExecution>,
    /// Their events, ascending by execution and number.
    pub events: Vec<CopiedEvent>,
    /// Its key-value state, search attributes included.
    pub keys: Vec<CopiedKey>,
    /// The ids of messages that clients sent.
    pub message_ids: Vec<CopiedMessageId>,
    /// Its activities in the worker queue, in order.
    pub activities: Vec<CopiedActivity>,
    /// Its messages in the orchestrator queue, in order.
    pub messages: Vec<CopiedMessage>,
}

impl InstanceCopy {
    /// Nothing of an instance.
    pub fn new(instance: impl Into<String>) -> Self {
        Self { instance: instance.into(), ..Self::default() }
    }

    /// Adds what another read returned.
    pub fn add(&mut self, other: Self) {
        self.head = self.head.take().or(other.head);
        self.executions.extend(other.executions);
        self.events.extend(other.events);
        self.keys.extend(other.keys);
        self.message_ids.extend(other.message_ids);
        self.activities.extend(other.activities);
        self.messages.extend(other.messages);
    }

    /// Whether there is nothing of the instance.
    pub fn is_empty(&self) -> bool {
        let Self { instance: _, head, executions, events, keys, message_ids, .. } = self;
        head.is_none()
            && executions.is_empty()
            && events.is_empty()
            && keys.is_empty()
            && message_ids.is_empty()
            && self.activities.is_empty()
            && self.messages.is_empty()
    }
}

/// An instance itself. Times are milliseconds since the Unix epoch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InstanceHead {
    /// Registered name.
    pub orchestration_name: String,
    /// Handler version.
    pub orchestration_version: String,
    /// The current execution.
    pub current_execution_id: u64,
    /// When it was created.
    pub created_at_ms: u64,
    /// When it last changed.
    pub updated_at_ms: u64,
    /// The parent of a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_instance_id: Option<String>,
    /// The custom status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_status: Option<String>,
    /// How often the custom status was set.
    #[serde(default)]
    pub custom_status_version: u64,
    /// Why it takes no turns, if it is suspended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspension: Option<CopiedSuspension>,
}

/// The suspension of an instance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CopiedSuspension {
    /// The [word](SuspensionOrigin::as_str) for what caused it.
    pub by: String,
    /// Why.
    pub reason: String,
    /// Since when.
    pub since_ms: u64,
}

impl CopiedSuspension {
    /// What caused it.
    pub fn origin(&self) -> SuspensionOrigin {
        SuspensionOrigin::from_stored(&self.by)
    }
}

impl From<Suspension> for CopiedSuspension {
    fn from(suspension: Suspension) -> Self {
        let Suspension { origin, reason, since_ms } = suspension;
        Self { by: origin.as_str().to_owned(), reason, since_ms }
    }
}

impl From<CopiedSuspension> for Suspension {
    fn from(copied: CopiedSuspension) -> Self {
        Self::new(copied.origin(), copied.reason, copied.since_ms)
    }
}

/// One execution.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CopiedExecution {
    /// Its number: in a file it is beside this, not within.
    #[serde(skip)]
    pub execution_id: u64,
    /// How many events it has: in a file the same.
    #[serde(skip)]
    pub events: u64,
    /// Its status, as it is stored.
    pub status: String,
    /// The result or the error of one that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// When it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at_ms: Option<u64>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at_ms: Option<u64>,
    /// The version of Duroxide that it is pinned to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
}

/// One event in its stored form, whether this build can decode it or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CopiedEvent {
    /// Its execution.
    pub execution_id: u64,
    /// Its place in the history.
    pub event_id: u64,
    /// The stored text.
    pub text: String,
}

impl CopiedEvent {
    /// An event.
    pub fn new(execution_id: u64, event_id: u64, text: String) -> Self {
        Self { execution_id, event_id, text }
    }

    /// The name of its kind; empty if the text does not say it.
    pub fn kind(&self) -> String {
        RawEvent::new(self.event_id, self.text.clone(), String::new()).kind.unwrap_or_default()
    }
}

/// One key of the key-value state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CopiedKey {
    /// The key.
    pub key: String,
    /// Its value; `None` if the current execution has removed what earlier ones left.
    pub value: Option<String>,
    /// When it was set.
    #[serde(rename = "last_updated_at_ms")]
    pub updated_at_ms: u64,
    /// The current execution has written it; otherwise finished ones have left it.
    #[serde(default)]
    pub is_current: bool,
}

/// The id of a message that a client sent: a message that repeats it has no second effect.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CopiedMessageId {
    /// The id.
    pub id: String,
    /// Until when the store remembers it.
    pub expires_at_ms: u64,
}

/// A message of the orchestrator queue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CopiedMessage {
    /// Its place in the queue of the store that it was read from; an import does not read it.
    #[serde(skip)]
    pub place: u64,
    /// The stored text of the [`WorkItem`](super::WorkItem).
    pub item: String,
    /// From when on a turn may take it.
    pub visible_at_ms: u64,
    /// When it was added.
    pub queued_at_ms: u64,
    /// How often nodes have fetched it.
    #[serde(default)]
    pub attempts: u32,
    /// How many of these attempts do not count towards poison.
    #[serde(default)]
    pub excused: u32,
    /// It waits for an instance that does not exist.
    #[serde(default)]
    pub is_parked: bool,
}

/// An activity of the worker queue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CopiedActivity {
    /// Its place in the queue of the store that it was read from; an import does not read it.
    #[serde(skip)]
    pub place: u64,
    /// The stored text of the [`WorkItem`](super::WorkItem).
    pub item: String,
    /// The execution that scheduled it.
    pub execution_id: u64,
    /// The event that scheduled it.
    pub activity_id: u64,
    /// When it was scheduled.
    pub queued_at_ms: u64,
    /// Before this time no worker may claim it; zero if any may.
    #[serde(default)]
    pub visible_at_ms: u64,
    /// How often workers have fetched it.
    #[serde(default)]
    pub attempts: u32,
    /// How many of these attempts do not count towards poison.
    #[serde(default)]
    pub vouched: u32,
    /// The session that it must run in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The tag that decides which workers may run it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// It fails unless a worker starts it before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_by_ms: Option<u64>,
    /// What it last reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<CopiedProgress>,
}

/// The last progress report of an activity.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CopiedProgress {
    /// What it reported.
    pub text: String,
    /// When it did.
    pub at_ms: u64,
    /// The attempt that reported it.
    pub attempt: u32,
}
