//! Deleting instances with all their data.

mod atomic;
mod leftovers;
mod list;
mod single;
mod trees;

pub use atomic::*;
pub use leftovers::*;
pub use single::*;
pub use trees::*;
