//! Runs and times each workload.

mod idle;
mod many;
mod messages;
mod restart;
mod run;
mod single;

pub use run::{prepare, run};
