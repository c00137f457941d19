//! Leasing turns and activities, waiting for them, and releasing leases.

pub(crate) mod calls;
pub(crate) mod empty_poll;
pub(crate) mod held;
pub(crate) mod isolation;
pub(crate) mod lease_token;
pub(crate) mod turn_lock;
pub(crate) mod turns;
pub(crate) mod undo;
pub(crate) mod waiting;
