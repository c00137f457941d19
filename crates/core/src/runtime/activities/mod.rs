//! The owner of activities: slots, running handlers, sessions, and one activity from its lease to
//! its result.
//!
//! It does not know where activities come from or where their results go. The worker dispatcher
//! fetches activities from the queue, the fast path leases them by the commit that schedules them,
//! and the fast path delivers the results.

mod finished;
mod guarded;
mod leased_activity;
mod overdue;
mod owner;
mod process;
mod report;
mod run;
mod running;
mod session_count;
mod spans;

pub(crate) use finished::{EarlierTry, FinishedActivity};
pub(crate) use leased_activity::claim;
pub(crate) use overdue::overdue_failure;
pub(crate) use owner::Activities;
pub(crate) use process::{Claimed, Ended, Processed, claim_for_slot, process};
pub(crate) use session_count::Admission;
