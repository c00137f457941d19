//! The result of an activity: the message for its orchestration, metrics and logs.

use std::time::Duration;

use tracing::{debug, warn};

use super::leased_activity::{LeasedActivity, Work};
use super::run::Outcome;
use super::{Ended, FinishedActivity};
use crate::limits::WORK_RETURN_DELAY;
use crate::model::{AppErrorKind, ErrorDetails, WorkItem};
use crate::providers::{ProviderError, ProviderErrorKind};
use crate::runtime::storage_retry::retry_while_leased;

/// Turns the outcome of a handler into the message for its orchestration.
pub(super) fn conclude(
    leased: LeasedActivity,
    work: Work,
    outcome: Outcome,
    took: Duration,
) -> Ended {
    let (completion, outcome) = match outcome {
        Outcome::Returned(Ok(result)) => (completed(&work, result), "success"),
        Outcome::Returned(Err(message)) => (app_error(&work, message), "app_error"),
        Outcome::Panicked(message) => (app_error(&work, message), "app_error"),
        // The row is gone or belongs to another worker: there is nothing to acknowledge.
        Outcome::Cancelled => {
            record(&leased, &work, "cancelled", took);
            return Ended::Unwanted { name: work.name, took };
        }
    };
    log_outcome(&leased, &work, &completion, took);
    Ended::Finished(FinishedActivity { leased, work, completion, outcome, took: Some(took) })
}

/// What became of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stored {
    Durable,
    /// A turn cancelled the activity, or another worker leased it.
    Unwanted,
    /// It could not be stored; the activity will run again.
    Failed,
}

/// Removes the activity and enqueues its completion.
pub(super) async fn store(leased: &LeasedActivity, completion: WorkItem) -> Stored {
    let length = leased.node().options.worker_lock_timeout;
    let stored = retry_while_leased("ack_work_item", &leased.lease, length, || {
        leased.node().provider.ack_work_item(&leased.lock_token, Some(completion.clone()))
    })
    .await;
    let Err(error) = stored else { return Stored::Durable };
    if is_unwanted(leased, &error).await {
        debug!(target: "duroxide::runtime", %error, "discarded the result of an unwanted activity");
        return Stored::Unwanted;
    }
    warn!(
        target: "duroxide::runtime",
        worker_id = %leased.worker_id, %error,
        "could not store the result of an activity; releasing it"
    );
    leased.release(WORK_RETURN_DELAY, false).await;
    Stored::Failed
}

/// Whether a refusal means that the lease is lost. A turn of another node may have cancelled the
/// activity without a notification to this node.
async fn is_unwanted(leased: &LeasedActivity, refusal: &ProviderError) -> bool {
    if refusal.kind == ProviderErrorKind::LostLease || leased.registered.unwanted.is_cancelled() {
        return true;
    }
    let length = leased.node().options.worker_lock_timeout;
    let provider = &leased.node().provider;
    !refusal.is_retryable()
        && provider
            .renew_work_item_lock(&leased.lock_token, length)
            .await
            .is_err_and(|error| !error.is_retryable())
}

fn completed(work: &Work, result: String) -> WorkItem {
    WorkItem::ActivityCompleted {
        instance: work.id.instance.clone(),
        execution_id: work.id.execution_id,
        id: work.id.activity_id,
        result,
    }
}

/// The message that reports a failed activity.
pub(super) fn failed(work: &Work, details: ErrorDetails) -> WorkItem {
    WorkItem::ActivityFailed {
        instance: work.id.instance.clone(),
        execution_id: work.id.execution_id,
        id: work.id.activity_id,
        details,
    }
}

/// The message that reports a failure of the handler.
pub(super) fn app_error(work: &Work, message: String) -> WorkItem {
    let kind = AppErrorKind::ActivityFailed;
    failed(work, ErrorDetails::Application { kind, message, retryable: false })
}

/// Counts a finished activity.
pub(super) fn record(leased: &LeasedActivity, work: &Work, outcome: &str, took: Duration) {
    leased.node().metrics().record_activity_execution(
        &work.name,
        outcome,
        took.as_secs_f64(),
        leased.attempt_count.saturating_sub(1),
        work.tag.as_deref(),
    );
}

fn log_outcome(leased: &LeasedActivity, work: &Work, completion: &WorkItem, took: Duration) {
    let tag = work.tag.as_deref().unwrap_or("default");
    if let WorkItem::ActivityFailed { details, .. } = completion {
        warn!(
            target: "duroxide::runtime",
            instance_id = %work.id.instance,
            execution_id = work.id.execution_id,
            activity_name = %work.name,
            activity_id = work.id.activity_id,
            activity_tag = tag,
            worker_id = %leased.worker_id,
            outcome = "app_error",
            duration_ms = crate::clock::millis(took),
            error = details.display_message(),
            "activity failed"
        );
    } else if let WorkItem::ActivityCompleted { result, .. } = completion {
        debug!(
            target: "duroxide::runtime",
            instance_id = %work.id.instance,
            execution_id = work.id.execution_id,
            activity_name = %work.name,
            activity_id = work.id.activity_id,
            activity_tag = tag,
            worker_id = %leased.worker_id,
            outcome = "success",
            duration_ms = crate::clock::millis(took),
            result_size = result.len(),
            "activity completed"
        );
    }
}
