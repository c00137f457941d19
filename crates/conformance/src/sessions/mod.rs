//! The owner of a session gets its activities.

mod affinity;
mod leases;
mod list;
mod redelivery;
mod workers;

pub use affinity::*;
pub use leases::*;
pub use redelivery::*;
