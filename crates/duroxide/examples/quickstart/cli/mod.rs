//! The quickstart: arguments, the order workflow, its activities and what is shown of it.

mod args;
mod main;
mod orders;
mod show;
mod workflow;
mod world;

pub(crate) use main::main;
