//! What the categories share.

mod direct;
mod instances;
mod items;
mod must;
mod store;
mod story;

pub(crate) use direct::{Waiting, facts, identified};
pub(crate) use instances::{create_instance, create_instance_with_parent};
pub(crate) use items::{
    activity, activity_of, cancellation, child_start_item, commit, completed, continuation, ended,
    event, heard, leasing, named, queued, signal, start_item, started, timer,
};
pub(crate) use must::Must;
pub(crate) use store::{Store, Turn, Work};
pub(crate) use story::{End, next_events, pinned};
