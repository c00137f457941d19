//! An instance that an operator's call holds in place of the nodes.

use super::ScheduledActivityIdentifier;
use crate::model::{ExecutionStatus, WorkItem};

/// An instance that [`hold_instance`](super::ProviderAdmin::hold_instance) holds.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldInstance {
    /// Proof of the lease, for the commit of a turn or its release.
    pub lock_token: String,
    /// The current execution; the first if none has started.
    pub execution_id: u64,
    /// Its status; `None` if no turn of it was committed.
    pub status: Option<ExecutionStatus>,
    /// Its last event; zero if there is none.
    pub last_event_id: u64,
    /// The first queued message that starts an execution: a continuation if the instance continued
    /// as new, a start if it is not stored.
    pub start: Option<WorkItem>,
    /// Its activities in the worker queue, of all executions.
    pub activities: Vec<ScheduledActivityIdentifier>,
    /// The reasons of visible cancellations that wait for it, oldest first, as
    /// [`WorkItem::CancelInstance`] has them. Of an instance that is not stored, those behind its
    /// start: earlier ones were meant for another. A provider may leave out all but the first
    /// [`HELD_CANCELLATIONS_MAX`](super::HELD_CANCELLATIONS_MAX).
    pub cancellations: Vec<String>,
}

impl HeldInstance {
    /// An instance without events, messages and activities.
    pub fn new(lock_token: String, execution_id: u64) -> Self {
        Self {
            lock_token,
            execution_id,
            status: None,
            last_event_id: 0,
            start: None,
            activities: Vec::new(),
            cancellations: Vec::new(),
        }
    }

    /// The status of the current execution.
    #[must_use]
    pub fn with_status(mut self, status: Option<ExecutionStatus>) -> Self {
        self.status = status;
        self
    }

    /// The last event of the current execution.
    #[must_use]
    pub fn with_last_event_id(mut self, last_event_id: u64) -> Self {
        self.last_event_id = last_event_id;
        self
    }

    /// The queued message that starts an execution.
    #[must_use]
    pub fn with_start(mut self, start: Option<WorkItem>) -> Self {
        self.start = start;
        self
    }

    /// The activities in the worker queue.
    #[must_use]
    pub fn with_activities(mut self, activities: Vec<ScheduledActivityIdentifier>) -> Self {
        self.activities = activities;
        self
    }

    /// The reasons of the cancellations that wait.
    #[must_use]
    pub fn with_cancellations(mut self, cancellations: Vec<String>) -> Self {
        self.cancellations = cancellations;
        self
    }
}
