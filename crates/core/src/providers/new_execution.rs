//! An execution that an operator's call stores in place of a node.

use std::collections::BTreeMap;

use super::TurnCommit;
use crate::model::KvEntry;

/// What must be true of an instance for an execution to be stored. If it is not, nothing changes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExpectedInstance {
    /// Nothing of this id is stored, and no start of it is queued.
    New,
    /// The current execution is this one, it has ended in any way, and this is its last event.
    Ended {
        /// The execution.
        execution_id: u64,
        /// Its last event.
        last_event_id: u64,
    },
    /// [`hold_instance`](super::ProviderAdmin::hold_instance) holds it under this token.
    Held {
        /// Proof of the hold, which the call ends.
        lock_token: String,
    },
}

/// An execution for [`store_execution`](super::ProviderAdmin::store_execution), with all that
/// belongs to it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NewExecution {
    /// The instance.
    pub instance: String,
    /// What must be true of it.
    pub expected: ExpectedInstance,
    /// Ends the current execution of an instance that is held. Its lock token does not count.
    pub ending: Option<TurnCommit>,
    /// The execution: its events, activities, messages and metadata. Without a status it runs. Its
    /// lock token does not count.
    pub commit: TurnCommit,
    /// The custom status of the instance from now on.
    pub custom_status: Option<String>,
    /// The keys that the execution starts with, in place of all others that finished executions
    /// left; `None` leaves those. The changes that its events record come on top.
    pub kv: Option<BTreeMap<String, KvEntry>>,
}

impl NewExecution {
    /// An execution without a custom status, which starts with the keys that are stored.
    pub fn new(
        instance: impl Into<String>,
        expected: ExpectedInstance,
        commit: TurnCommit,
    ) -> Self {
        let instance = instance.into();
        Self { instance, expected, ending: None, commit, custom_status: None, kv: None }
    }

    /// The commit that ends the current execution.
    #[must_use]
    pub fn with_ending(mut self, ending: Option<TurnCommit>) -> Self {
        self.ending = ending;
        self
    }

    /// The custom status from now on.
    #[must_use]
    pub fn with_custom_status(mut self, custom_status: Option<String>) -> Self {
        self.custom_status = custom_status;
        self
    }

    /// The keys that the execution starts with.
    #[must_use]
    pub fn with_kv(mut self, kv: Option<BTreeMap<String, KvEntry>>) -> Self {
        self.kv = kv;
        self
    }
}
