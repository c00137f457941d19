//! The orchestrator queue, the worker queue and what belongs to queued activities.

pub(crate) mod calls;
pub(crate) mod cancelled_turns;
pub(crate) mod client_message;
pub(crate) mod due_work;
pub(crate) mod future_times;
pub(crate) mod instance_queues;
pub(crate) mod orchestrator_queue;
pub(crate) mod progress;
pub(crate) mod ready_messages;
pub(crate) mod sessions;
pub(crate) mod start_limits;
pub(crate) mod stranded_turns;
pub(crate) mod waiting_starts;
pub(crate) mod waiting_work;
pub(crate) mod work_choice;
pub(crate) mod work_code;
pub(crate) mod work_lock;
pub(crate) mod worker_queue;
pub(crate) mod workers;
