//! The filter language and the rows that it selects. Pure: no clock, no I/O, no async.
//!
//! `docs/queries.md` has the grammar.

mod display;
mod error;
mod filter;
mod literal;
mod matching;
mod parser;
mod pattern;
mod point;
mod row;
#[cfg(test)]
mod tests;
mod words;

pub use error::FilterError;
pub use filter::{
    AttributeTest, Comparison, Condition, Filter, Term, TextField, TextTest, TextValue, TimeField,
};
pub use literal::AttributeLiteral;
pub use pattern::Pattern;
pub use point::TimePoint;
pub use row::{ErrorCategory, InstanceFailure, InstanceRow, RowStatus};
