//! Histories as JSON lines: exported from a store, read from files.
//!
//! `docs/upgrades.md` documents the format. A file has a first line that names the format, and for
//! each execution a line that describes it, followed by its events in their stored form.

mod export;
mod format;
mod reader;
mod recorded;
mod writer;

pub(crate) use export::{Earlier, executions, read_execution, select};
pub use export::{HistorySelection, export_histories};
pub use format::{HISTORIES_FORMAT, HistoriesError};
pub use reader::{HistoryReader, RawHistory};
pub use recorded::RecordedHistory;
pub use writer::HistoryWriter;
