//! A retention policy.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::archive::RetentionArchive;
use super::rule::RetentionRule;
use crate::limits::RETENTION_INTERVAL_DEFAULT;
use crate::query::{InstanceRow, RowStatus};

/// Rules in their order: for each instance the first one that is about it decides.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
/// use std::time::Duration;
///
/// use duroxide::client::{RetentionPolicy, RetentionRule};
/// use duroxide::runtime::RuntimeOptions;
///
/// let day = Duration::from_secs(24 * 60 * 60);
/// let policy = RetentionPolicy::new([
///     RetentionRule::named("Order*").failed().keep_for(365 * day),
///     RetentionRule::all().keep_for(30 * day).keep_last(10),
/// ]);
/// let options = RuntimeOptions::default().with_retention(policy);
/// ```
#[derive(Clone)]
#[must_use = "a policy does nothing until it is applied"]
pub struct RetentionPolicy {
    rules: Vec<RetentionRule>,
    interval: Duration,
    archive: Option<Arc<dyn RetentionArchive>>,
}

impl RetentionPolicy {
    /// A policy of these rules.
    pub fn new(rules: impl IntoIterator<Item = RetentionRule>) -> Self {
        let rules = rules.into_iter().collect();
        Self { rules, interval: RETENTION_INTERVAL_DEFAULT, archive: None }
    }

    /// How long nodes pause between two searches; ten minutes if it is not set.
    pub fn with_interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Receives everything before it is deleted. What it refuses is kept.
    pub fn with_archive(mut self, archive: impl RetentionArchive + 'static) -> Self {
        self.archive = Some(Arc::new(archive));
        self
    }

    /// The rules.
    pub fn rules(&self) -> &[RetentionRule] {
        &self.rules
    }

    /// The pause between two searches.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    pub(super) fn archive(&self) -> Option<&Arc<dyn RetentionArchive>> {
        self.archive.as_ref()
    }

    /// Whether this rule decides about the end of an instance.
    pub(super) fn deletes(&self, rule: usize, row: &InstanceRow) -> bool {
        self.decides(rule, row, |rule| rule.keep.is_some())
    }

    /// Whether this rule decides about the executions of an instance.
    pub(super) fn prunes(&self, rule: usize, row: &InstanceRow) -> bool {
        self.decides(rule, row, |rule| rule.executions.is_some())
    }

    fn decides(
        &self,
        rule: usize,
        row: &InstanceRow,
        is_about: impl Fn(&RetentionRule) -> bool,
    ) -> bool {
        let status = match row.status {
            status @ (RowStatus::Completed | RowStatus::Failed) => status,
            // Executions of running instances are pruned as if they completed.
            RowStatus::Running | RowStatus::Suspended => RowStatus::Completed,
        };
        let decides =
            |rule: &RetentionRule| is_about(rule) && rule.covers(&row.orchestration_name, status);
        self.rules.iter().position(decides) == Some(rule)
    }
}

impl fmt::Debug for RetentionPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetentionPolicy")
            .field("rules", &self.rules)
            .field("interval", &self.interval)
            .field("archive", &self.archive.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_is_about_an_instance_decides() {
        let day = Duration::from_secs(86_400);
        let policy = RetentionPolicy::new([
            RetentionRule::named("Order*").failed().keep_for(365 * day),
            RetentionRule::named("Order*").keep_last(3),
            RetentionRule::all().keep_for(day),
        ]);
        let row = |name: &str, status| InstanceRow::new("i", name, status);
        let failed = row("OrderItem", RowStatus::Failed);
        let deciding = |row: &InstanceRow| (0..3).find(|rule| policy.deletes(*rule, row));
        assert_eq!(deciding(&failed), Some(0));
        assert_eq!(deciding(&row("OrderItem", RowStatus::Completed)), Some(2));
        assert_eq!(deciding(&row("Else", RowStatus::Failed)), Some(2));
        assert!(policy.prunes(1, &failed) && !policy.prunes(2, &failed));
    }
}
