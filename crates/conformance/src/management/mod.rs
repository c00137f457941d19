//! What operators see.

mod details;
mod list;
mod listings;
mod stats;
mod totals;

pub use details::*;
pub use listings::*;
pub use stats::*;
pub use totals::*;
