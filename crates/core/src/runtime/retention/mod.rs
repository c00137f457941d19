//! Applies a retention policy in the background: a built-in orchestration with one instance for the
//! whole cluster, whose activity deletes a bounded number of instances.
//!
//! Only nodes with a policy register it. The instance, `duroxide.retention`, is there for as long
//! as the store: its custom status is the last report, and an operator can suspend it.

mod code;
mod starting;

pub(crate) use code::registries;
pub(crate) use starting::start;
