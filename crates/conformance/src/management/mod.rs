//! The management side of a provider.

mod details;
mod list;
mod listings;
mod stats;
mod totals;

pub use details::*;
pub use listings::*;
pub use stats::*;
pub use totals::*;
