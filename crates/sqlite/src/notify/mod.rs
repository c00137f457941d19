//! Noticing the changes of other processes, so that waiters here are notified of them too.

pub(crate) mod other_processes;
