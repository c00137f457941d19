//! A real runtime on the provider: replay repeats every recorded decision.

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
