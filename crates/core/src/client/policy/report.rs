//! What a policy would delete, and what a sweep has deleted.

use serde::{Deserialize, Serialize};

/// What one sweep of a policy has done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RetentionReport {
    /// Instances that were deleted, children included.
    pub instances_deleted: u64,
    /// Executions that were deleted of instances that stay.
    pub executions_deleted: u64,
    /// Instances that the archive received.
    pub archived: u64,
    /// Instances that stay because the archive refused them.
    pub refused: u64,
    /// The last such refusal.
    pub error: Option<String>,
    /// Whether everything was examined; else the next sweep goes on.
    pub is_complete: bool,
}

/// What a policy would delete now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RetentionPlan {
    /// By the rules, in their order.
    pub rules: Vec<RulePlan>,
}

/// What one rule would delete now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RulePlan {
    /// The rule as its text.
    pub rule: String,
    /// Root instances that would be deleted with their children. Those with a running child stay.
    pub instances: u64,
    /// Instances of which executions would be deleted.
    pub pruned_instances: u64,
    /// Some of the root instances.
    pub sample: Vec<String>,
    /// Whether the numbers are exact; else there are more.
    pub is_exact: bool,
}
