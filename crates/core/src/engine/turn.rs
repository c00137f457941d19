//! The inputs of an execution and the result of a turn.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::inputs::IgnoredInputs;
use crate::context::OrchestrationHandler;
use crate::model::{ErrorDetails, Event, KvEntry, WorkItem};

/// What an execution needs besides its history.
pub struct Setup {
    /// The code.
    pub handler: Arc<dyn OrchestrationHandler>,
    /// Key-value state that finished executions left behind.
    pub kv_snapshot: HashMap<String, KvEntry>,
    /// The parent that waits for the result.
    pub parent: Option<Parent>,
    /// Whose inputs are not compared with history.
    pub ignored_inputs: Arc<IgnoredInputs>,
    /// Called when something outside the engine wakes the code; may be called more than once.
    pub on_foreign_wake: Option<Arc<dyn Fn() + Send + Sync>>,
}

/// The call of a parent that waits for an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    /// The waiting instance.
    pub instance: String,
    /// The waiting execution.
    pub execution_id: u64,
    /// Its schedule event.
    pub id: u64,
}

/// Everything that one turn changes; committed together or not at all.
#[derive(Debug)]
pub struct Turn {
    /// Events to append.
    pub events: Vec<Event>,
    /// Activities to enqueue.
    pub worker_items: Vec<WorkItem>,
    /// Messages to enqueue.
    pub orchestrator_items: Vec<WorkItem>,
    /// Schedule ids of activities to remove from the worker queue.
    pub cancelled_activities: Vec<u64>,
    /// Schedule ids of new activities that must be started in time, and how long they may wait.
    pub start_limits: Vec<(u64, Duration)>,
    /// Calls of children that this turn records an answer to.
    pub answered_calls: Vec<AnsweredCall>,
    /// The state of the execution after the turn.
    pub result: TurnResult,
}

impl Turn {
    /// A turn that changes nothing.
    pub(super) fn unchanged() -> Self {
        Self {
            events: Vec::new(),
            worker_items: Vec::new(),
            orchestrator_items: Vec::new(),
            cancelled_activities: Vec::new(),
            start_limits: Vec::new(),
            answered_calls: Vec::new(),
            result: TurnResult::Continue,
        }
    }
}

/// A call of a child that has its answer; for metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnsweredCall {
    /// Registered name of the child.
    pub child: String,
    /// From the schedule to the answer.
    pub duration: Duration,
    /// Whether the child returned `Ok`.
    pub is_success: bool,
}

/// The state of an execution after a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnResult {
    /// It waits.
    Continue,
    /// It returned `Ok`.
    Completed(String),
    /// It failed.
    Failed(ErrorDetails),
    /// It ended and the next execution follows.
    ContinueAsNew {
        /// Input of the next execution.
        input: String,
    },
    /// It was cancelled.
    Cancelled {
        /// Why.
        reason: String,
    },
}

impl TurnResult {
    /// Whether the execution is over.
    pub fn is_terminal(&self) -> bool {
        !matches!(self, Self::Continue)
    }
}
