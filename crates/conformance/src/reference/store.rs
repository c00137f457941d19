//! The stored data. Every other file of this folder contains functions on it.
//!
//! Times are milliseconds since the Unix epoch. Events and messages are stored as JSON text, as in
//! any backend, so that decoding them can fail in the same way.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use duroxide_core::Event;
use duroxide_core::model::{ExecutionStatus, INITIAL_EXECUTION_ID};
use duroxide_core::providers::kit::{RowError, decode_event, message_variant};
use duroxide_core::providers::{LiveWorker, Suspension};
use semver::Version;

use super::kv::Values;

/// The whole store.
#[derive(Debug, Default)]
pub(crate) struct Store {
    /// The data of each instance, by its id.
    pub(crate) records: BTreeMap<String, Record>,
    /// The orchestrator queue, by order of arrival.
    pub(crate) messages: BTreeMap<u64, Message>,
    /// The lease of each leased instance.
    pub(crate) turn_locks: Vec<TurnLock>,
    /// The worker queue, by order of arrival.
    pub(crate) work: BTreeMap<u64, Work>,
    /// Which owner runs the activities of which session.
    pub(crate) sessions: BTreeMap<String, Session>,
    /// Instance and id of each message that was sent with one, and when it is forgotten.
    pub(crate) message_ids: BTreeMap<(String, String), u64>,
    /// Nodes that announced themselves, by their names.
    pub(crate) workers: BTreeMap<String, LiveWorker>,
    /// Turns take all visible messages.
    pub(crate) unbounded_turns: bool,
    numbers_used: u64,
}

/// All data of one instance id except its queue rows and its lease.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// Set by the first commit that names the instance. Before that the instance does not exist,
    /// though it may have been seeded with history.
    pub(crate) instance: Option<Instance>,
    /// Executions that were committed to.
    pub(crate) executions: BTreeMap<u64, Execution>,
    /// Events by execution and event id. An execution without events has no entry.
    pub(crate) history: BTreeMap<u64, BTreeMap<u64, StoredEvent>>,
    /// Key-value state.
    pub(crate) values: Values,
}

/// An instance that exists.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The highest execution that was committed to.
    pub(crate) current_execution: u64,
    /// Never changes after creation.
    pub(crate) parent: Option<String>,
    pub(crate) created_at: u64,
    pub(crate) updated_at: u64,
    pub(crate) custom_status: Option<String>,
    /// Grows by one with each commit that contains a status, and never shrinks.
    pub(crate) custom_status_version: u64,
    /// Never reused, so a recreated instance has another one. It also orders instances that were
    /// created in the same millisecond.
    pub(crate) incarnation: u64,
    /// Why it takes no turns, if it does not.
    pub(crate) suspension: Option<Suspension>,
}

/// One execution of an instance.
#[derive(Debug)]
pub(crate) struct Execution {
    /// The text of the commit, or `Running`.
    pub(crate) status: String,
    pub(crate) output: Option<String>,
    pub(crate) started_at: u64,
    pub(crate) completed_at: Option<u64>,
    /// The engine version that the execution must be replayed with.
    pub(crate) pin: Option<Version>,
}

impl Execution {
    pub(crate) fn is(&self, status: ExecutionStatus) -> bool {
        self.status == status.as_str()
    }
}

/// An event. The type is stored next to the text, so that an outcome is found without decoding.
#[derive(Debug, Clone)]
pub(crate) struct StoredEvent {
    pub(crate) event_type: Cow<'static, str>,
    text: String,
    /// What the text says, once it was read: the test kit replays every turn from its history.
    decoded: OnceLock<Event>,
    /// Of the last event of a commit.
    pub(crate) commit_id: Option<u64>,
}

impl StoredEvent {
    pub(crate) fn new(event_type: Cow<'static, str>, text: String) -> Self {
        Self { event_type, text, decoded: OnceLock::new(), commit_id: None }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Makes the event unreadable.
    pub(crate) fn corrupt(&mut self) {
        *self = Self {
            commit_id: self.commit_id,
            ..Self::new(self.event_type.clone(), "not an event".to_owned())
        };
    }

    pub(crate) fn decode(&self) -> Result<Event, RowError> {
        if let Some(event) = self.decoded.get() {
            return Ok(event.clone());
        }
        let event = decode_event(&self.text)?;
        Ok(self.decoded.get_or_init(|| event).clone())
    }
}

/// A message of the orchestrator queue.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) instance: String,
    pub(crate) text: String,
    /// Hidden before this time.
    pub(crate) visible_at: u64,
    pub(crate) enqueued_at: u64,
    /// How often it was fetched.
    pub(crate) attempt_count: u32,
    /// How many of these attempts do not count towards poison.
    pub(crate) excused: u32,
    /// The turn that it was fetched for. A commit removes exactly the messages of its turn.
    pub(crate) turn: Option<String>,
    /// Parked for an unknown instance; fetches skip it.
    pub(crate) parked: bool,
}

impl Message {
    /// Whether a fetch at `now` may return it.
    pub(crate) fn is_ready(&self, now: u64) -> bool {
        !self.parked && self.visible_at <= now
    }
}

/// The lease of a turn.
#[derive(Debug)]
pub(crate) struct TurnLock {
    pub(crate) instance: String,
    pub(crate) token: String,
    pub(crate) until: u64,
    /// The code of the turn runs.
    pub(crate) running: bool,
    /// No caller holds it: the instance is suspended.
    pub(crate) suspends: bool,
}

/// An activity of the worker queue.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) instance: String,
    pub(crate) execution_id: u64,
    pub(crate) activity_id: u64,
    pub(crate) session: Option<String>,
    pub(crate) tag: Option<String>,
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) visible_at: u64,
    pub(crate) attempt_count: u32,
    /// Leases whose holder vouched for it.
    pub(crate) vouched: u32,
    pub(crate) lock: Option<WorkLock>,
    pub(crate) enqueued_at: u64,
    /// By when it must be started; `None` once it has been.
    pub(crate) start_by: Option<u64>,
    /// The lease that counts as its start is still live.
    pub(crate) starting: bool,
    pub(crate) progress: Option<Progress>,
}

/// The last progress report of an activity.
#[derive(Debug)]
pub(crate) struct Progress {
    pub(crate) text: String,
    /// The attempt that reported.
    pub(crate) attempt: u32,
    pub(crate) updated_at: u64,
}

/// The lease of an activity.
#[derive(Debug)]
pub(crate) struct WorkLock {
    pub(crate) token: String,
    pub(crate) until: u64,
}

/// The lease of a session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) owner: String,
    pub(crate) until: u64,
    pub(crate) last_used: u64,
}

impl Store {
    /// A number that is larger than all before and never reused.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.numbers_used += 1;
        self.numbers_used
    }

    /// The token of a lease. Every token is unique, also for the same message.
    pub(crate) fn new_token(&mut self) -> String {
        format!("lock_{}", self.next_number())
    }

    /// An instance that exists.
    pub(crate) fn instance(&self, id: &str) -> Option<&Instance> {
        self.records.get(id)?.instance.as_ref()
    }

    /// The current execution of an instance.
    pub(crate) fn execution(&self, id: &str) -> Option<&Execution> {
        let record = self.records.get(id)?;
        record.executions.get(&record.instance.as_ref()?.current_execution)
    }

    /// The status of an instance. One that continued as new runs while the start of its next
    /// execution is queued.
    pub(crate) fn status(&self, id: &str) -> Option<&str> {
        let execution = self.execution(id)?;
        let is_queued = || {
            let mut messages = self.messages.values().filter(|message| message.instance == id);
            messages.any(|message| message_variant(&message.text) == "ContinueAsNew")
        };
        let runs = execution.is(ExecutionStatus::ContinuedAsNew) && is_queued();
        Some(if runs { ExecutionStatus::Running.as_str() } else { &execution.status })
    }

    /// Whether an instance has this status.
    pub(crate) fn is(&self, id: &str, status: ExecutionStatus) -> bool {
        self.status(id) == Some(status.as_str())
    }

    /// Instances that exist, in order of creation.
    pub(crate) fn instances(&self) -> Vec<(&str, &Instance)> {
        let existing = self.records.iter();
        let mut existing: Vec<_> = existing
            .filter_map(|(id, record)| Some((id.as_str(), record.instance.as_ref()?)))
            .collect();
        existing.sort_by_key(|(_, instance)| (instance.created_at, instance.incarnation));
        existing
    }

    /// The number of the execution that reads show: the current one, else the last that was
    /// seeded, else the first.
    pub(crate) fn latest_execution(&self, id: &str) -> u64 {
        let Some(record) = self.records.get(id) else { return INITIAL_EXECUTION_ID };
        match &record.instance {
            Some(instance) => instance.current_execution,
            None => record.last_seeded_execution().unwrap_or(INITIAL_EXECUTION_ID),
        }
    }
}

impl Record {
    /// The highest execution that has events.
    pub(crate) fn last_seeded_execution(&self) -> Option<u64> {
        self.history.keys().next_back().copied()
    }
}
