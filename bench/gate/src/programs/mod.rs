//! The programs.

mod engine;
mod list;
mod model;
mod sqlite;

pub use list::{PROGRAMS, Program};
