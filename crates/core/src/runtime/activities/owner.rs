//! What the activities of one node share.

use std::sync::Arc;

use super::running::RunningActivities;
use super::session_count::SessionCount;
use crate::runtime::node::Node;
use crate::runtime::slots::Slots;
use crate::runtime::start_facts::KnownStarts;

/// The owner of activities.
pub(crate) struct Activities {
    pub(crate) node: Arc<Node>,
    /// How the instances that schedule activities were started.
    pub(super) starts: Arc<dyn KnownStarts>,
    /// Where activities run.
    pub(crate) slots: Slots,
    pub(crate) running: RunningActivities,
    pub(crate) sessions: SessionCount,
}

impl Activities {
    pub(crate) fn new(node: Arc<Node>, starts: Arc<dyn KnownStarts>) -> Self {
        let slots = Slots::new(node.options.worker_concurrency);
        let sessions = SessionCount::new(node.options.max_sessions_per_runtime);
        Self { node, starts, slots, running: RunningActivities::default(), sessions }
    }

    /// The name of a slot of the worker dispatcher.
    pub(crate) fn worker_id(&self, slot: usize) -> String {
        format!("work-{slot}-{}", self.node_name())
    }

    /// The name of the task that fails overdue activities.
    pub(crate) fn sweeper_id(&self) -> String {
        format!("sweep-{}", self.node_name())
    }

    fn node_name(&self) -> &str {
        self.node.options.worker_node_id.as_ref().unwrap_or(&self.node.id)
    }

    /// The owner of the sessions that this slot serves.
    pub(crate) fn session_owner(&self, slot: usize) -> String {
        match &self.node.options.worker_node_id {
            Some(owner) => owner.clone(),
            None => format!("work-{slot}-{}", self.node.unique_id),
        }
    }
}
