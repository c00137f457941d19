//! Whole instances as JSON lines: exported from a store, imported into another one of any kind.
//!
//! The format is that of [exported histories](crate::histories) with further lines, so that such a
//! file is a file of histories, too; `docs/upgrades.md` documents it. One instance is read, written
//! and stored at a time.

mod compare;
mod error;
mod export;
mod hold;
mod import;
mod keys_before;
mod lines;
mod options;
mod reader;
mod section;
mod writer;

pub use compare::{InstanceDifference, compare_instances};
pub use error::TransferError;
pub use export::{ExportedInstance, export_instance};
pub use import::{ImportedInstance, import_instance};
pub use options::{ImportOptions, RunningInstances};
pub use reader::{InstanceReader, ReadInstance};
pub use writer::InstanceWriter;
