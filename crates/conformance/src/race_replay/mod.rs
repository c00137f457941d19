//! A real runtime on the provider: what was decided once is decided again.

mod handover;
mod list;
mod nodes;
mod races;
mod stamps;
mod starts;

pub use handover::*;
pub use races::*;
pub use stamps::*;
pub use starts::*;
