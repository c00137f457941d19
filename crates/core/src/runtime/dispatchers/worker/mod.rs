//! Runs activities: fetch, run the handler under a lease, report.

mod fetch;
mod finished;
mod guarded;
mod handover;
mod overdue;
mod process;
mod report;
mod run;
mod running;
mod session_count;
mod sessions;
mod stolen;

pub(crate) use fetch::{begin, start};
pub(crate) use finished::{Finished, FinishedWork, Leading};
pub(crate) use handover::{Assignment, Handover, Stint};
pub(crate) use overdue::start as start_sweeping;
pub(crate) use running::RunningActivities;
pub(crate) use session_count::SessionCount;
