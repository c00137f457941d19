//! Fetches activities from the worker queue and keeps the node's sessions and leases.

mod fetch;
mod lost_leases;
mod overdue;
mod sessions;
mod stranded;

pub(crate) use fetch::start;
pub(crate) use overdue::start as start_sweeping;
pub(crate) use stranded::{DueActivities, fail_stranded};
