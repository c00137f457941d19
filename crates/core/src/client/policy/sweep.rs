//! Deletes what a policy no longer keeps, a batch at a time.

use std::time::Duration;

use super::report::{RetentionPlan, RetentionReport, RulePlan};
use super::rules::RetentionPolicy;
use crate::client::{Client, ClientError};
use crate::limits::{
    BULK_SAMPLE, RETENTION_BATCH, RETENTION_BATCH_PAUSE, RETENTION_PLANNED_MAX,
    RETENTION_REFUSALS_MAX,
};
use crate::providers::{InstanceFilter, InstanceQuery};
use crate::query::{Filter, InstanceRow};

/// One sweep.
pub(super) struct Sweep<'a> {
    pub(super) policy: &'a RetentionPolicy,
    /// Instances that may still be changed.
    pub(super) left: u64,
    pub(super) report: RetentionReport,
}

impl Sweep<'_> {
    /// Whether it has done enough.
    pub(super) fn is_over(&self) -> bool {
        self.left == 0 || self.report.refused >= RETENTION_REFUSALS_MAX
    }

    pub(super) fn refuse(&mut self, refusal: String) {
        self.report.refused += 1;
        self.report.error = Some(refusal);
    }
}

impl Client {
    /// Deletes what a policy no longer keeps: at most about `limit` instances, in small batches.
    /// Call it again until the report is complete. Nodes do this by themselves with
    /// `RuntimeOptions::with_retention`.
    ///
    /// - Running and suspended instances are never deleted, and neither is the tree of a root in
    ///   which an instance runs, nor an instance of a built-in orchestration.
    /// - With an archive, an instance is deleted only after the archive has received it and all its
    ///   children.
    ///
    /// # Errors
    /// Of the store. What was deleted before stays deleted.
    pub async fn apply_retention(
        &self,
        policy: &RetentionPolicy,
        limit: u64,
    ) -> Result<RetentionReport, ClientError> {
        let mut sweep = Sweep { policy, left: limit, report: RetentionReport::default() };
        for (index, rule) in policy.rules().iter().enumerate() {
            if let Some(keep) = rule.keep {
                self.delete_expired(&mut sweep, index, keep).await?;
            }
            if let Some(keep_last) = rule.executions {
                self.prune_all(&mut sweep, index, keep_last).await?;
            }
        }
        sweep.report.is_complete = !sweep.is_over();
        Ok(sweep.report)
    }

    async fn delete_expired(
        &self,
        sweep: &mut Sweep<'_>,
        rule: usize,
        keep: Duration,
    ) -> Result<(), ClientError> {
        let before = self.before(keep);
        let mut query = batches(sweep.policy.rules()[rule].expired(before));
        while !sweep.is_over() {
            let page = self.query_instances(query.clone()).await?;
            let decided = |row: &&InstanceRow| sweep.policy.deletes(rule, row);
            let rows: Vec<InstanceRow> = page.rows.iter().filter(decided).cloned().collect();
            self.delete_batch(sweep, before, rows).await?;
            let Some(next) = page.next else { break };
            query = query.with_after(next);
            tokio::time::sleep(RETENTION_BATCH_PAUSE).await;
        }
        Ok(())
    }

    async fn delete_batch(
        &self,
        sweep: &mut Sweep<'_>,
        before: u64,
        rows: Vec<InstanceRow>,
    ) -> Result<(), ClientError> {
        let mut ids = Vec::new();
        for row in rows {
            if sweep.is_over() {
                break;
            }
            match self.archive_tree(sweep.policy, &row.instance_id).await {
                Ok(Ok(archived)) => {
                    sweep.report.archived += archived;
                    sweep.left = sweep.left.saturating_sub(1);
                    ids.push(row.instance_id);
                }
                Ok(Err(refusal)) => sweep.refuse(refusal),
                // Deleted meanwhile.
                Err(ClientError::InstanceNotFound { .. }) => {}
                Err(error) if error.is_retryable() => return Err(error),
                Err(error) => sweep.refuse(error.to_string()),
            }
        }
        if ids.is_empty() {
            return Ok(());
        }
        // The store leaves out what runs again, or has ended again meanwhile.
        let filter = InstanceFilter {
            instance_ids: Some(ids),
            completed_before: Some(before),
            limit: Some(RETENTION_BATCH),
        };
        let deleted = self.delete_instance_bulk(filter).await?;
        sweep.report.instances_deleted += deleted.instances_deleted;
        Ok(())
    }

    /// What a policy would delete now. It changes nothing, and does not call the archive.
    ///
    /// # Errors
    /// Of the store.
    pub async fn plan_retention(
        &self,
        policy: &RetentionPolicy,
    ) -> Result<RetentionPlan, ClientError> {
        let mut plan = RetentionPlan::default();
        for (index, rule) in policy.rules().iter().enumerate() {
            let mut found = RulePlan { rule: rule.to_string(), ..RulePlan::default() };
            found.is_exact = true;
            if let Some(keep) = rule.keep {
                let mut query = batches(rule.expired(self.before(keep)));
                while found.is_exact {
                    let page = self.query_instances(query.clone()).await?;
                    let rows = page.rows.iter().filter(|row| policy.deletes(index, row));
                    for row in rows {
                        found.instances += 1;
                        if found.sample.len() < BULK_SAMPLE as usize {
                            found.sample.push(row.instance_id.clone());
                        }
                    }
                    let Some(next) = page.next else { break };
                    found.is_exact = found.instances < RETENTION_PLANNED_MAX;
                    query = query.with_after(next);
                }
            }
            if let Some(keep_last) = rule.executions {
                self.plan_pruning(policy, (index, keep_last), &mut found).await?;
            }
            plan.rules.push(found);
        }
        Ok(plan)
    }

    fn before(&self, keep: Duration) -> u64 {
        let keep = u64::try_from(keep.as_millis()).unwrap_or(u64::MAX);
        self.provider().clock().now_ms().saturating_sub(keep)
    }
}

/// Batches of what a filter finds, oldest first.
pub(super) fn batches(filter: Filter) -> InstanceQuery {
    InstanceQuery::new(filter).ascending().with_limit(RETENTION_BATCH)
}
