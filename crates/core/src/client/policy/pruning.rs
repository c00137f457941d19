//! Deletes old executions of instances that stay.

use super::archive::Archived;
use super::report::RulePlan;
use super::rules::RetentionPolicy;
use super::sweep::{Sweep, batches};
use crate::client::{Client, ClientError};
use crate::limits::{RETENTION_BATCH_PAUSE, RETENTION_PLANNED_MAX};
use crate::providers::PruneOptions;

impl Client {
    /// Prunes every instance that a rule decides about.
    pub(super) async fn prune_all(
        &self,
        sweep: &mut Sweep<'_>,
        rule: usize,
        keep_last: u32,
    ) -> Result<(), ClientError> {
        let mut query = batches(sweep.policy.rules()[rule].with_more_executions(keep_last));
        while !sweep.is_over() {
            let page = self.query_instances(query.clone()).await?;
            for row in &page.rows {
                if sweep.policy.prunes(rule, row) && !sweep.is_over() {
                    self.prune_one(sweep, &row.instance_id, keep_last).await?;
                }
            }
            let Some(next) = page.next else { break };
            query = query.with_after(next);
            tokio::time::sleep(RETENTION_BATCH_PAUSE).await;
        }
        Ok(())
    }

    async fn prune_one(
        &self,
        sweep: &mut Sweep<'_>,
        instance: &str,
        keep_last: u32,
    ) -> Result<(), ClientError> {
        // The number of the current execution counts those that were pruned before, too.
        let executions = self.older_executions(instance, keep_last).await?;
        let Some(last) = executions.last().copied() else { return Ok(()) };
        let place = Archived { root: instance, instance, executions };
        let refusal = match self.archive_executions(sweep.policy, place).await {
            Ok(archived) => archived.err(),
            Err(error) if error.is_retryable() => return Err(error),
            Err(error) => Some(error.to_string()),
        };
        if let Some(refusal) = refusal {
            sweep.refuse(refusal);
            return Ok(());
        }
        // It may have gone on: only what was archived is deleted.
        let now = self.list_executions(instance).await?;
        let kept = now.iter().filter(|execution| **execution > last).count();
        let kept = u32::try_from(kept).unwrap_or(u32::MAX).max(keep_last);
        let options = PruneOptions { keep_last: Some(kept), completed_before: None };
        let pruned = self.prune_executions(instance, options).await?;
        sweep.report.executions_deleted += pruned.executions_deleted;
        sweep.left = sweep.left.saturating_sub(1);
        Ok(())
    }

    /// The executions that are stored, apart from the latest.
    async fn older_executions(
        &self,
        instance: &str,
        keep_last: u32,
    ) -> Result<Vec<u64>, ClientError> {
        let mut executions = self.list_executions(instance).await?;
        let keep_last = usize::try_from(keep_last).unwrap_or(usize::MAX);
        executions.truncate(executions.len().saturating_sub(keep_last));
        Ok(executions)
    }

    /// Counts the instances of which a rule would prune executions.
    pub(super) async fn plan_pruning(
        &self,
        policy: &RetentionPolicy,
        (rule, keep_last): (usize, u32),
        found: &mut RulePlan,
    ) -> Result<(), ClientError> {
        let mut query = batches(policy.rules()[rule].with_more_executions(keep_last));
        loop {
            let page = self.query_instances(query.clone()).await?;
            for row in page.rows.iter().filter(|row| policy.prunes(rule, row)) {
                let older = self.older_executions(&row.instance_id, keep_last).await?;
                found.pruned_instances += u64::from(!older.is_empty());
            }
            let Some(next) = page.next else { return Ok(()) };
            if found.pruned_instances >= RETENTION_PLANNED_MAX {
                found.is_exact = false;
                return Ok(());
            }
            query = query.with_after(next);
        }
    }
}
