//! Why an export or an import failed.

use crate::histories::HistoriesError;
use crate::providers::ProviderError;

/// An export or an import failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    /// The file cannot be read or written, or a line of it is wrong.
    #[error(transparent)]
    File(#[from] HistoriesError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] ProviderError),
    /// The store has no management side.
    #[error("the store cannot export or import: its provider has no management side")]
    NoManagement,
    /// The filter is wrong, or another part of the request.
    #[error("{message}")]
    Request {
        /// What is wrong.
        message: String,
    },
    /// No such instance.
    #[error("instance '{instance}' does not exist")]
    NotFound {
        /// The id asked for.
        instance: String,
    },
    /// It has not ended, and no operator has suspended it.
    #[error(
        "instance '{instance}' runs: suspend it first, or choose whether running instances are \
         held for the export or read as a snapshot"
    )]
    Running {
        /// The instance.
        instance: String,
    },
    /// It changed while it was read.
    #[error("instance '{instance}' changed while it was exported: export it again")]
    Changed {
        /// The instance.
        instance: String,
    },
    /// The store has an instance of that id.
    #[error("{place}, line {line}: instance '{instance}' exists in the store already")]
    Exists {
        /// The instance.
        instance: String,
        /// The file.
        place: String,
        /// The line at which the instance begins.
        line: usize,
    },
    /// The store could not keep an instance of the file. Nothing of it is stored.
    #[error("{place}, line {line}: instance '{instance}' could not be stored: {source}")]
    NotStored {
        /// The instance.
        instance: String,
        /// The file.
        place: String,
        /// The line at which the instance begins.
        line: usize,
        /// Why.
        source: Box<ProviderError>,
    },
    /// It was read while it ran.
    #[error(
        "{place}, line {line}: instance '{instance}' ran when this snapshot of it was exported, so \
         that it may lack messages: suspend or hold it for an export that can be imported"
    )]
    Snapshot {
        /// The instance.
        instance: String,
        /// The file.
        place: String,
        /// The line at which the instance begins.
        line: usize,
    },
}
