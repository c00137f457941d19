//! The orchestration and its activity.

use std::sync::Arc;
use std::time::Duration;

use metrics::counter;
use serde::{Deserialize, Serialize};
use tracing::{debug, info, warn};

use crate::client::{ClientError, RetentionPolicy, RetentionReport};
use crate::context::OrchestrationContext;
use crate::limits::{
    RETENTION_EXECUTIONS_KEPT, RETENTION_RETRY_MAX, RETENTION_RETRY_MIN, RETENTION_SWEEP_MAX,
};
use crate::providers::PruneOptions;
use crate::runtime::{ActivityContext, ActivityRegistry, OrchestrationRegistry};

/// Name of the orchestration, and id of its only instance.
pub(super) const RETENTION: &str = "duroxide.retention";

/// Name of the activity.
const SWEEP: &str = "duroxide.retention.sweep";

/// What an activity returns. A stored format.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Swept {
    report: RetentionReport,
    /// How long to pause, by the policy of the node that swept.
    pause_ms: u64,
}

/// The code of a node with this policy.
pub(crate) fn registries(policy: &RetentionPolicy) -> (ActivityRegistry, OrchestrationRegistry) {
    let policy = Arc::new(policy.clone());
    let activities = ActivityRegistry::builder()
        .register(SWEEP, move |ctx: ActivityContext, failures: String| {
            let policy = Arc::clone(&policy);
            async move { sweep(&ctx, &policy, failures.parse().unwrap_or(0)).await }
        })
        .build();
    let orchestrations = OrchestrationRegistry::builder().register(RETENTION, retain).build();
    (activities, orchestrations)
}

/// Sweeps, pauses, and begins again. The input is the number of failures in a row.
async fn retain(ctx: OrchestrationContext, failures: String) -> Result<String, String> {
    let swept = ctx.schedule_activity(SWEEP, failures.as_str()).await;
    let swept = swept
        .and_then(|text| serde_json::from_str::<Swept>(&text).map_err(|error| error.to_string()));
    let (report, pause) = match swept {
        Ok(Swept { report, pause_ms }) => (report, Duration::from_millis(pause_ms)),
        // The activity itself reports failures: this is a panic, or a lost worker.
        Err(error) => (failed(error), RETENTION_RETRY_MAX),
    };
    let failures: u32 = failures.parse().unwrap_or(0);
    let failures = if report.error.is_some() { failures.saturating_add(1) } else { 0 };
    ctx.set_custom_status(serde_json::to_string(&report).unwrap_or_default());
    if !pause.is_zero() {
        ctx.schedule_timer(pause).await;
    }
    ctx.continue_as_new(failures.to_string()).await
}

async fn sweep(
    ctx: &ActivityContext,
    policy: &RetentionPolicy,
    failures: u32,
) -> Result<String, String> {
    let client = ctx.get_client();
    let applied = client.apply_retention(policy, RETENTION_SWEEP_MAX).await;
    let report = applied.unwrap_or_else(|error| failed(error.to_string()));
    // Its own executions.
    let own = PruneOptions { keep_last: Some(RETENTION_EXECUTIONS_KEPT), completed_before: None };
    let pruned: Result<_, ClientError> = client.prune_executions(ctx.instance_id(), own).await;
    if let Err(error) = pruned {
        debug!(
            target: "duroxide::runtime", %error,
            "could not remove earlier executions of the retention; trying again later"
        );
    }
    note(&report);
    let pause = match (&report.error, report.is_complete) {
        (Some(_), _) => backoff(failures),
        (None, true) => policy.interval(),
        (None, false) => Duration::ZERO,
    };
    let pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
    serde_json::to_string(&Swept { report, pause_ms }).map_err(|error| error.to_string())
}

fn note(report: &RetentionReport) {
    let RetentionReport { instances_deleted, executions_deleted, archived, refused, .. } = report;
    counter!("duroxide_retention_deleted_total", "kind" => "instance")
        .increment(*instances_deleted);
    counter!("duroxide_retention_deleted_total", "kind" => "execution")
        .increment(*executions_deleted);
    if let Some(error) = &report.error {
        counter!("duroxide_retention_failures_total").increment((*refused).max(1));
        warn!(
            target: "duroxide::runtime",
            refused, instances_deleted, %error,
            "retention kept instances that it could not archive or delete; trying again later"
        );
    } else if instances_deleted + executions_deleted > 0 {
        info!(
            target: "duroxide::runtime",
            instances_deleted, executions_deleted, archived,
            "retention deleted what the policy no longer keeps"
        );
    }
}

fn failed(error: String) -> RetentionReport {
    RetentionReport { error: Some(error), ..RetentionReport::default() }
}

/// Longer after each failure in a row.
fn backoff(failures: u32) -> Duration {
    RETENTION_RETRY_MIN.saturating_mul(1 << failures.min(16)).min(RETENTION_RETRY_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_in_a_row_pause_longer() {
        assert_eq!(backoff(0), RETENTION_RETRY_MIN);
        assert_eq!(backoff(1), RETENTION_RETRY_MIN * 2);
        assert_eq!(backoff(u32::MAX), RETENTION_RETRY_MAX);
    }
}
