//! Only nodes that can replay a turn can fetch it.

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
