//! Queries over instances by the indexes of a store.
//!
//! A store says how to find keys and how to read rows ([`InstanceSource`]). The search chooses the
//! smallest set of instances that an index finds, or goes through all of them in their order, and
//! examines a limited number of rows in each call.

mod attribute_ranges;
mod facts;
mod run;
mod source;
#[cfg(test)]
mod tests;

pub use run::{count_by_index, query_by_index};
pub use source::{InstanceSet, InstanceSource, KeyRequest, KeySource, prefix_end};
