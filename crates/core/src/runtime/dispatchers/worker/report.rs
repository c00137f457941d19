//! Tells the orchestration what an activity came to.

use std::time::Duration;

use tracing::{debug, warn};

use super::finished::Finished;
use super::process::{InHand, Work};
use super::run::Outcome;
use crate::limits::WORK_RETURN_DELAY;
use crate::model::{AppErrorKind, ErrorDetails, WorkItem};
use crate::providers::ProviderError;
use crate::runtime::dispatchers::returning::persist;

/// What the orchestration is to be told; `None` if nobody wants to know.
pub(super) fn judge(
    in_hand: InHand,
    work: Work,
    outcome: Outcome,
    took: Duration,
) -> Option<Finished> {
    let (completion, outcome) = match outcome {
        Outcome::Returned(Ok(result)) => (completed(&work, result), "success"),
        Outcome::Returned(Err(message)) => (app_error(&work, message), "app_error"),
        Outcome::Panicked(message) => (app_error(&work, message), "app_error"),
        // The row is gone or someone else's: there is nothing to acknowledge.
        Outcome::Cancelled => {
            record(&in_hand, &work, "cancelled", took);
            return None;
        }
    };
    log_outcome(&in_hand, &work, &completion, took);
    Some(Finished { in_hand, work, completion, outcome, took })
}

/// What became of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stored {
    Durable,
    /// The activity was cancelled, or is someone else's by now.
    Unwanted,
    /// It could not be stored; the activity runs again.
    Failed,
}

/// Removes the activity and enqueues its completion.
pub(super) async fn store(in_hand: &InHand, completion: WorkItem) -> Stored {
    let length = in_hand.node.options.worker_lock_timeout;
    let stored = persist("ack_work_item", &in_hand.lease, length, || {
        in_hand.node.provider.ack_work_item(&in_hand.lock_token, Some(completion.clone()))
    })
    .await;
    let Err(error) = stored else { return Stored::Durable };
    if is_unwanted(in_hand, &error).await {
        debug!(target: "duroxide::runtime", %error, "result of an unwanted activity discarded");
        return Stored::Unwanted;
    }
    warn!(
        target: "duroxide::runtime",
        worker_id = %in_hand.worker_id, %error,
        "the result of an activity could not be stored; it is given back"
    );
    in_hand.give_back(WORK_RETURN_DELAY, false).await;
    Stored::Failed
}

/// Whether a refusal means that the lease is gone. Another node's turn may have cancelled the
/// activity without our having heard of it.
async fn is_unwanted(in_hand: &InHand, refusal: &ProviderError) -> bool {
    if in_hand.registered.unwanted.is_cancelled() {
        return true;
    }
    let length = in_hand.node.options.worker_lock_timeout;
    let provider = &in_hand.node.provider;
    !refusal.is_retryable()
        && provider
            .renew_work_item_lock(&in_hand.lock_token, length)
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

/// The message that says why an activity failed.
pub(super) fn failed(work: &Work, details: ErrorDetails) -> WorkItem {
    WorkItem::ActivityFailed {
        instance: work.id.instance.clone(),
        execution_id: work.id.execution_id,
        id: work.id.activity_id,
        details,
    }
}

/// The message that says why the code of an activity failed.
pub(super) fn app_error(work: &Work, message: String) -> WorkItem {
    let kind = AppErrorKind::ActivityFailed;
    failed(work, ErrorDetails::Application { kind, message, retryable: false })
}

/// Counts an ended activity.
pub(super) fn record(in_hand: &InHand, work: &Work, outcome: &str, took: Duration) {
    in_hand.node.metrics().record_activity_execution(
        &work.name,
        outcome,
        took.as_secs_f64(),
        in_hand.attempt_count.saturating_sub(1),
        work.tag.as_deref(),
    );
}

fn log_outcome(in_hand: &InHand, work: &Work, completion: &WorkItem, took: Duration) {
    let tag = work.tag.as_deref().unwrap_or("default");
    if let WorkItem::ActivityFailed { details, .. } = completion {
        warn!(
            target: "duroxide::runtime",
            instance_id = %work.id.instance,
            execution_id = work.id.execution_id,
            activity_name = %work.name,
            activity_id = work.id.activity_id,
            activity_tag = tag,
            worker_id = %in_hand.worker_id,
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
            worker_id = %in_hand.worker_id,
            outcome = "success",
            duration_ms = crate::clock::millis(took),
            result_size = result.len(),
            "activity completed"
        );
    }
}
