//! Runs activities: fetch, run the handler under a lease, report.

mod ahead;
mod fetch;
mod finished;
mod guarded;
mod handover;
mod overdue;
mod pace;
mod process;
mod report;
mod run;
mod running;
mod session_count;
mod sessions;
mod stolen;

pub(crate) use ahead::{Ahead, cancel};
pub(crate) use fetch::{begin, start};
pub(crate) use finished::{Finished, FinishedWork, Leading};
pub(crate) use handover::{Assignment, Begins, Handover, Stint};
pub(crate) use overdue::start as start_sweeping;
pub(crate) use pace::Pace;
pub(crate) use running::RunningActivities;
pub(crate) use session_count::SessionCount;
