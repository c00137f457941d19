//! Hot paths as small programs. Each does its preparation, whatever the count, and then its
//! operation as often as it is told: the difference between two counts is what operations cost.

pub mod command;
mod programs;

pub use programs::{PROGRAMS, Program};
