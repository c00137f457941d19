//! Every bound of the system, with its reason.

mod general;
mod query;

pub use general::*;
pub use query::*;
