//! The owner of turns: executions that stay in memory, and what a turn commits and reports.
//!
//! It does not know where turns come from. The orchestration dispatcher fetches them from the
//! queue; the fast path takes them from completed activities.

mod blocked_code;
mod commit_ids;
mod history_room;
mod owner;
mod report;
mod test_delay;
mod turn_commit;
mod warm_cache;

pub(crate) use blocked_code::BlockedCode;
pub(crate) use commit_ids::CommitIds;
pub(crate) use history_room::{HistoryRoom, ReservedRoom};
pub(crate) use owner::Turns;
pub(crate) use report::{ReportContext, TurnSummary, report};
pub(crate) use test_delay::delay_for_test;
pub(crate) use turn_commit::{turn_commit, warn_of_ignored_limits};
pub(crate) use warm_cache::{WarmCache, WarmExecution};
