//! How each workload is run and timed.

mod crowd;
mod idle;
mod messages;
mod restart;
mod run;
mod single;

pub use run::{prepare, run};
