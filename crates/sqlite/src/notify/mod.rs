//! Notifying waiters of changes, made by this process or another.

pub(crate) mod change;
pub(crate) mod other_processes;
