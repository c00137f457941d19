//! Retention: what is deleted when, and one sweep that deletes it.

mod archive;
mod pruning;
mod report;
mod rule;
mod rules;
mod sweep;

pub use archive::{ArchivedInstance, RetentionArchive};
pub use report::{RetentionPlan, RetentionReport, RulePlan};
pub use rule::RetentionRule;
pub use rules::RetentionPolicy;
