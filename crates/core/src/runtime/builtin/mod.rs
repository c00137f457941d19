//! Activities and orchestrations that every node runs without registration.

mod activities;
mod orchestrations;

pub(crate) use activities::builtin_activity as activity;
pub(crate) use orchestrations::builtin_orchestrations as orchestrations;
