//! Histories as JSON lines: exported from a store, read from files.
//!
//! `docs/upgrades.md` documents the format. A file has a first line that names the format, and for
//! each execution a line that describes it, followed by its events in their stored form.

mod export;
mod format;
mod instance_lines;
mod key_search;
mod keys;
mod reader;
mod recorded;
mod undecodable;
mod writer;

pub(crate) use export::{Earlier, executions, read_execution, select};
pub use export::{HistorySelection, export_histories};
pub(crate) use format::{DamagedEvent, ExecutionFacts};
pub use format::{HISTORIES_FORMAT, HistoriesError};
pub(crate) use instance_lines::instance_lines;
pub(crate) use key_search::LastExecution;
pub(crate) use keys::Keys;
pub use reader::{HistoryReader, RawHistory};
pub use recorded::RecordedHistory;
pub(crate) use recorded::apply_changes;
pub use writer::HistoryWriter;
