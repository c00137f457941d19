//! Hot paths as small programs. Each does its preparation, whatever the count, and then its
//! operation as often as requested: the difference between two counts is the cost of operations.

pub mod command;
mod programs;

pub use programs::{PROGRAMS, Program};
