//! Queries over instances: the reads that a search consists of.

mod keys;
mod rows;
mod sets;
mod source;

pub(crate) use source::QuerySource;
