//! Poll the queues: one dispatcher for turns, one for activities. Neither knows the other.

pub(crate) mod orchestration;
mod pacing;
pub(crate) mod worker;
