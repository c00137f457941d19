//! Fetches turns from the orchestrator queue: decide, run the engine, commit.

mod batch;
mod cold_replay;
mod commit;
mod decide;
mod failing;
mod fetch;
mod instance_state;
mod parent;
mod poison;
mod process;
mod recall;
mod run;
mod starting;
mod stranded;
mod suspend;
mod trial;

pub(crate) use fetch::start;
pub(crate) use stranded::{DueTurns, fail_stranded};
