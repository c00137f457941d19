//! Few, very large workflows: how long they take, how much memory their node needs at most, and how
//! long an unrelated workflow waits meanwhile.

mod beside;
mod cases;
mod command;
mod store;
mod workflows;

pub(crate) use command::{main, server_for};
pub(crate) use store::{Store, text};
