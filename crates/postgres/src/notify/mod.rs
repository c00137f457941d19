//! Which changes wake which waiters, on this node and on others.

pub(crate) mod change;
pub(crate) mod channel;
