//! Fetches activities from the worker queue and keeps the node's sessions and leases.

mod fetch;
mod lost_leases;
mod overdue;
mod sessions;

pub(crate) use fetch::start;
pub(crate) use overdue::start as start_sweeping;
