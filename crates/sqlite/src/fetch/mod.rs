//! Fetching turns: choosing instances, leasing them and waiting for the first.

pub(crate) mod attempts;
pub(crate) mod calls;
pub(crate) mod candidates;
pub(crate) mod held;
pub(crate) mod messages;
pub(crate) mod turn_lock;
pub(crate) mod turns;
pub(crate) mod waiting;
