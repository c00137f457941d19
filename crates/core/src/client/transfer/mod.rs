//! Export and import of whole instances.

mod export;
mod family;
mod import;
mod request;

pub use request::{ExportReport, ExportRequest, ExportSelection, ImportReport};
