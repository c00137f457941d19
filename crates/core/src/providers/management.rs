//! What operators see and ask for.

/// An instance as it is stored.
#[derive(Debug, Clone)]
pub struct InstanceInfo {
    /// Its id.
    pub instance_id: String,
    /// Registered name.
    pub orchestration_name: String,
    /// Handler version.
    pub orchestration_version: String,
    /// Current execution.
    pub current_execution_id: u64,
    /// Status of the current execution.
    pub status: String,
    /// Its result or error text.
    pub output: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub created_at: u64,
    /// Milliseconds since the Unix epoch.
    pub updated_at: u64,
    /// Instance that waits for the result.
    pub parent_instance_id: Option<String>,
}

/// An execution as it is stored.
#[derive(Debug, Clone)]
pub struct ExecutionInfo {
    /// Its number.
    pub execution_id: u64,
    /// Its status.
    pub status: String,
    /// Its result, error text or next input.
    pub output: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub started_at: u64,
    /// Milliseconds since the Unix epoch.
    pub completed_at: Option<u64>,
    /// Number of events.
    pub event_count: usize,
}

/// Totals over the store.
#[derive(Debug, Clone, Default)]
pub struct SystemMetrics {
    /// Instances.
    pub total_instances: u64,
    /// Executions of all instances.
    pub total_executions: u64,
    /// Instances whose current execution runs.
    pub running_instances: u64,
    /// Instances whose current execution completed.
    pub completed_instances: u64,
    /// Instances whose current execution failed.
    pub failed_instances: u64,
    /// Events of all executions.
    pub total_events: u64,
}

/// Messages waiting in the queues.
#[derive(Debug, Clone, Default)]
pub struct QueueDepths {
    /// Messages for orchestrations, timers included.
    pub orchestrator_queue: usize,
    /// Activities.
    pub worker_queue: usize,
    /// Always zero: timers are messages of the orchestrator queue.
    pub timer_queue: usize,
}

/// What the gauges of a node show of its store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreGauges {
    /// Instances whose current execution runs.
    pub running_instances: u64,
    /// Messages for orchestrations that are visible now.
    pub ready_messages: u64,
    /// Messages that become visible later, such as timers.
    pub delayed_messages: u64,
    /// Messages that wait for an instance that does not exist.
    pub parked_messages: u64,
    /// Activities, running or not.
    pub activities: u64,
    /// Instances that take no turns because they are suspended.
    pub suspended_instances: u64,
}

/// Selects instances; all given conditions must hold.
#[derive(Debug, Clone, Default)]
pub struct InstanceFilter {
    /// Only these. An empty list selects nothing.
    pub instance_ids: Option<Vec<String>>,
    /// Only those that ended before this time (milliseconds since the Unix epoch).
    pub completed_before: Option<u64>,
    /// How many at the most; `None` means 1000, not all. Call again until nothing is selected.
    pub limit: Option<u32>,
}

/// Selects old executions; all given conditions must hold. The current one is never selected.
#[derive(Debug, Clone, Default)]
pub struct PruneOptions {
    /// Keep this many of the newest executions.
    pub keep_last: Option<u32>,
    /// Only those that ended before this time (milliseconds since the Unix epoch).
    pub completed_before: Option<u64>,
}

/// What a deletion removed, descendants included.
#[derive(Debug, Clone, Default)]
pub struct DeleteInstanceResult {
    /// Instances.
    pub instances_deleted: u64,
    /// Their executions.
    pub executions_deleted: u64,
    /// Their events.
    pub events_deleted: u64,
    /// Their messages in both queues.
    pub queue_messages_deleted: u64,
}

/// What pruning removed.
#[derive(Debug, Clone, Default)]
pub struct PruneResult {
    /// Instances looked at.
    pub instances_processed: u64,
    /// Executions removed.
    pub executions_deleted: u64,
    /// Their events.
    pub events_deleted: u64,
}

/// An instance and all its descendants.
#[derive(Debug, Clone)]
pub struct InstanceTree {
    /// The instance asked for.
    pub root_id: String,
    /// All ids, the root first.
    pub all_ids: Vec<String>,
}

impl InstanceTree {
    /// Whether there are no descendants.
    pub fn is_root_only(&self) -> bool {
        self.all_ids.len() == 1
    }

    /// Number of instances, the root included.
    pub fn size(&self) -> usize {
        self.all_ids.len()
    }
}

/// A message that waits for an instance that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParkedMessage {
    /// The instance that the message is for.
    pub instance_id: String,
    /// Name of the [`WorkItem`](crate::WorkItem) variant.
    pub kind: String,
    /// When it was sent, milliseconds since the Unix epoch.
    pub enqueued_at: u64,
}

impl ParkedMessage {
    /// A message of this kind for an unknown instance.
    pub fn new(instance_id: impl Into<String>, kind: impl Into<String>, enqueued_at: u64) -> Self {
        Self { instance_id: instance_id.into(), kind: kind.into(), enqueued_at }
    }
}
