//! The readers under test.

mod attributes;
mod cursors;
mod edits;
mod events;
mod filters;
mod histories;
mod instances;
mod list;
mod messages;
mod replay;
mod retention;
mod support;
mod urls;

pub use list::TARGETS;
