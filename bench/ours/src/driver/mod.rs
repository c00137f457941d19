//! Runs all engines in turn, several times, and compares them.

mod arguments;
mod budget;
mod figures;
mod growth;
mod json;
mod plan;
mod programs;
mod report;
mod rounds;
mod seeded;
mod stores;
mod table;
mod targets;

pub(crate) use arguments::HELP;
pub(crate) use programs::target_folder;
pub(crate) use report::main;
