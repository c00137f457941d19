//! Activities of a session go to its owner.

mod affinity;
mod leases;
mod list;
mod redelivery;
mod workers;

pub use affinity::*;
pub use leases::*;
pub use redelivery::*;
