//! Hot paths as small programs. Each prepares the same state for every count and then repeats its
//! operation `count` times: the difference between two counts is the cost of the operations.

pub mod command;
mod programs;

pub use programs::{PROGRAMS, Program};
