//! Takes turns: fetch, decide, run the engine, commit.

mod batch;
mod commit;
mod decide;
mod direct;
mod failing;
mod fetch;
mod parent;
mod poison;
mod process;
mod report;
mod run;
mod standing;
mod starting;

pub(crate) use direct::take_direct_turns;
pub(crate) use fetch::start;
