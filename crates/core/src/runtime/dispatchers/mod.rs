//! Move work: from the queues to the engine and the activities, and back.

pub(crate) mod orchestration;
mod pacing;
mod returning;
pub(crate) mod worker;
