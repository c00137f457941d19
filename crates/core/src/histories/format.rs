//! The lines of the format, and what can be wrong with them.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};

use crate::model::KvEntry;
use crate::providers::ProviderError;

/// The newest version of the format, which files of whole instances have. This build reads all
/// versions up to this one.
pub const HISTORIES_FORMAT: u32 = 2;

/// The version of files that have histories alone.
pub(super) const HISTORIES_ALONE: u32 = 1;

/// The first line of a file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileLine {
    pub(super) duroxide_histories: u32,
    pub(super) written_by: String,
}

/// The line in front of the events of an execution.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ExecutionLine {
    pub(super) execution: ExecutionFacts,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ExecutionFacts {
    pub(crate) instance: String,
    pub(crate) execution_id: u64,
    /// The keys that earlier executions left behind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) kv: BTreeMap<String, KvEntry>,
    /// How many lines of events follow, so that a truncated file is noticed.
    pub(crate) events: usize,
}

/// The line of an event whose stored text is damaged: any other event is its own line.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DamagedLine {
    pub(super) damaged_event: DamagedEvent,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct DamagedEvent {
    pub(crate) event_id: u64,
    /// What the store has in place of JSON.
    pub(crate) text: String,
    pub(crate) error: String,
}

/// Why histories could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoriesError {
    /// A file cannot be read or written.
    #[error("{place}: {source}")]
    Io {
        /// The file or folder.
        place: String,
        /// Why.
        source: io::Error,
    },
    /// A line is not what the format has at its place.
    #[error("{place}, line {line}: {message}")]
    Line {
        /// The file.
        place: String,
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// The file was written by a newer release.
    #[error(
        "{place} has format {found}, this build reads formats up to {HISTORIES_FORMAT}: \
         read it with a newer release"
    )]
    NewerFormat {
        /// The file.
        place: String,
        /// Its format.
        found: u32,
    },
    /// A history of a store has an event that this build does not know, or that is damaged, and
    /// the store does not return such events.
    #[error("execution {execution_id} of '{instance}' cannot be decoded: {message}")]
    Undecodable {
        /// The instance.
        instance: String,
        /// The execution.
        execution_id: u64,
        /// Why.
        message: String,
    },
    /// The store does not list its instances.
    #[error("the store cannot list its instances: its provider has no management side")]
    NoManagement,
    /// The store could not be read.
    #[error("the store could not be read: {0}")]
    Store(#[from] ProviderError),
}

impl HistoriesError {
    pub(crate) fn io(place: &str, source: io::Error) -> Self {
        Self::Io { place: place.to_owned(), source }
    }
}
