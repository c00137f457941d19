//! The result of an activity: the message for its orchestration, metrics and logs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tracing::{debug, warn};

use super::leased_activity::{LeasedActivity, Work};
use super::run::Outcome;
use super::{EarlierTry, Ended, FinishedActivity};
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
pub(super) async fn store(
    leased: &LeasedActivity,
    completion: WorkItem,
    earlier: EarlierTry,
) -> Stored {
    let may_be_stored = AtomicBool::new(earlier == EarlierTry::Uncertain);
    let stored = retry_while_leased("ack_work_item", &leased.lease, || async {
        let (provider, token) = (&leased.node().provider, &leased.lock_token);
        let stored = provider.ack_work_item(token, Some(completion.clone())).await;
        if stored.as_ref().is_err_and(ProviderError::is_store_trouble) {
            may_be_stored.store(true, Ordering::Relaxed);
        }
        stored
    })
    .await;
    let Err(error) = stored else { return Stored::Durable };
    match refusal(leased, &error).await {
        // The response to an earlier try was lost, not its effect.
        Refusal::LostLease if may_be_stored.load(Ordering::Relaxed) => Stored::Durable,
        Refusal::LostLease | Refusal::Unwanted => {
            debug!(
                target: "duroxide::runtime", %error,
                "discarded the result of an unwanted activity"
            );
            Stored::Unwanted
        }
        Refusal::Gone => {
            warn!(
                target: "duroxide::runtime",
                worker_id = %leased.worker_id, %error,
                "could not store the result of an activity, and its lease is gone"
            );
            Stored::Failed
        }
        Refusal::Data => {
            warn!(
                target: "duroxide::runtime",
                worker_id = %leased.worker_id, %error,
                "could not store the result of an activity; releasing it"
            );
            leased.release(WORK_RETURN_DELAY, error.is_store_trouble()).await;
            Stored::Failed
        }
    }
}

/// Why a result is not stored.
enum Refusal {
    /// A turn of this node cancelled the activity, or its lease is known to be lost.
    Unwanted,
    /// The store says that this lease is lost. A turn of another node may have cancelled the
    /// activity without a notification to this node.
    LostLease,
    /// The store gave another reason, and holds the lease no more: it may have stored the result.
    Gone,
    /// The store refuses the result itself; the lease is held.
    Data,
}

async fn refusal(leased: &LeasedActivity, error: &ProviderError) -> Refusal {
    if leased.registered.unwanted.is_cancelled() {
        return Refusal::Unwanted;
    }
    if error.kind == ProviderErrorKind::LostLease {
        return Refusal::LostLease;
    }
    let length = leased.node().options.worker_lock_timeout;
    let renewed = leased.node().provider.renew_work_item_lock(&leased.lock_token, length).await;
    match renewed {
        Err(error) if !error.is_store_trouble() => Refusal::Gone,
        Ok(()) | Err(_) => Refusal::Data,
    }
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
