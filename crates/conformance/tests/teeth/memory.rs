//! The state that a faulty provider needs for its fault.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use duroxide_core::providers::{HistoryMark, ScheduledActivityIdentifier, WorkItem};
use semver::Version;

/// Facts recorded from the calls.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
pub(crate) struct Noted {
    /// The real token behind the one that every turn gets.
    pub(crate) token: String,
    /// Which instance a token belongs to.
    pub(crate) instances: HashMap<String, String>,
    /// Pins of instances, as committed.
    pub(crate) pins: HashMap<String, Version>,
    /// Values that were committed: by key, and by instance and key.
    pub(crate) shared_values: HashMap<String, String>,
    pub(crate) values: HashMap<(String, String), String>,
    /// Latest incarnation of each instance.
    pub(crate) incarnations: HashMap<String, u64>,
    /// Which activity a token belongs to.
    pub(crate) work: HashMap<String, ScheduledActivityIdentifier>,
    /// Activities that commits have leased.
    pub(crate) leased: Vec<WorkItem>,
    /// Ids of messages that clients sent, with their instances.
    pub(crate) message_ids: Vec<(String, String)>,
    /// Instances that clients started.
    pub(crate) started: Vec<String>,
    /// Starts of children that commits have sent.
    pub(crate) child_starts: Vec<WorkItem>,
    /// Cancellations for unknown instances.
    pub(crate) useless: Vec<WorkItem>,
    /// Instances and marks of direct turns that were committed.
    pub(crate) direct: Vec<(String, HistoryMark)>,
    /// Instances that were deleted.
    pub(crate) deleted: HashSet<String>,
    /// Turns that were marked as running.
    pub(crate) marked: HashSet<String>,
    /// Whether the provider was closed.
    pub(crate) is_closed: bool,
}

impl Memory {
    /// Whether the turn is or was marked as running.
    pub(crate) fn note_mark(&self, token: &str, running: bool) -> bool {
        let marked = &mut self.noted().marked;
        if running {
            marked.insert(token.to_owned());
        }
        marked.contains(token)
    }

    pub(crate) fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
