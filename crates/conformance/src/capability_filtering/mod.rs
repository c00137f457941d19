//! Turns are handed only to nodes that can replay them.

mod fetching;
mod list;
mod nodes;
mod pins;
mod unreadable;
mod versions;

pub use fetching::*;
pub use pins::*;
pub use unreadable::*;
pub use versions::*;
