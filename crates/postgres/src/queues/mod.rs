//! The two queues, and sessions, progress and workers beside them.

pub(crate) mod calls;
pub(crate) mod cancelled_turns;
pub(crate) mod client_message;
pub(crate) mod instance_queues;
pub(crate) mod orchestrator_queue;
pub(crate) mod progress;
pub(crate) mod sessions;
pub(crate) mod set_back;
pub(crate) mod stranded_turns;
pub(crate) mod waiting_starts;
pub(crate) mod waiting_work;
pub(crate) mod work_route;
pub(crate) mod worker_queue;
pub(crate) mod workers;
