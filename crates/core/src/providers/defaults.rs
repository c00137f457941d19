//! What a provider does that implements only the methods of 0.1.x.

use super::{
    ClientMessage, CommittedTurn, Delivery, FetchedTurn, FetchedWork, InstanceOutcome, Provider,
    ProviderError, TurnCommit, TurnFetch, WorkFetch,
};
use crate::model::{Event, EventKind, WorkItem};

/// One turn at a time, with its whole history.
pub(super) async fn fetch_turn<P: Provider + ?Sized>(
    provider: &P,
    request: TurnFetch<'_>,
) -> Result<Vec<FetchedTurn>, ProviderError> {
    let fetched = provider
        .fetch_orchestration_item(
            request.lock_timeout,
            request.poll_timeout,
            request.filter.replays.as_ref(),
        )
        .await?;
    Ok(fetched
        .map(|(item, lock_token, attempt_count)| FetchedTurn::new(item, lock_token, attempt_count))
        .into_iter()
        .collect())
}

/// A commit without a mark and without leases.
pub(super) async fn commit_turn<P: Provider + ?Sized>(
    provider: &P,
    commit: &TurnCommit,
) -> Result<CommittedTurn, ProviderError> {
    provider
        .ack_orchestration_item(
            &commit.lock_token,
            commit.execution_id,
            commit.history_delta.clone(),
            commit.activities.iter().map(|activity| activity.item.clone()).collect(),
            commit.messages().cloned().collect(),
            commit.metadata.clone(),
            commit.cancelled_activities.clone(),
        )
        .await?;
    Ok(CommittedTurn::default())
}

/// One activity, for the first slot.
pub(super) async fn fetch_work<P: Provider + ?Sized>(
    provider: &P,
    request: WorkFetch<'_>,
) -> Result<Vec<FetchedWork>, ProviderError> {
    let Some(first) = request.slots.first() else { return Ok(Vec::new()) };
    let fetched = provider
        .fetch_work_item(
            request.lock_timeout,
            request.poll_timeout,
            first.session.as_ref(),
            &request.filter.tags,
        )
        .await?;
    Ok(fetched
        .map(|(item, lock_token, attempt_count)| FetchedWork::new(item, lock_token, attempt_count))
        .into_iter()
        .collect())
}

/// The outcome as the whole history shows it.
pub(super) async fn read_outcome<P: Provider + ?Sized>(
    provider: &P,
    instance: &str,
) -> Result<InstanceOutcome, ProviderError> {
    let history = provider.read(instance).await?;
    let started = history.iter().any(Event::is_start);
    let ended = history.into_iter().rev().find(|event| {
        matches!(
            event.kind,
            EventKind::OrchestrationCompleted { .. } | EventKind::OrchestrationFailed { .. }
        )
    });
    Ok(match ended {
        Some(event) => InstanceOutcome::Ended(Box::new(event)),
        None if started => InstanceOutcome::Running,
        None => InstanceOutcome::NotFound,
    })
}

/// Nothing is kept.
pub(super) fn refuse_progress(_token: &str, _progress: &str) -> Result<(), ProviderError> {
    Err(ProviderError::permanent(
        "record_activity_progress",
        "this provider does not keep the progress of activities",
    ))
}

/// A message without an id. An instance exists once it has a history: a start that is queued, and
/// another one that is sent at the same time, are not seen.
pub(super) async fn send_message<P: Provider + ?Sized>(
    provider: &P,
    message: ClientMessage,
) -> Result<Delivery, ProviderError> {
    let starts = matches!(message.item, WorkItem::StartOrchestration { .. });
    if message.existing_only || starts {
        let outcome = provider.read_outcome(message.item.target_instance()).await?;
        match outcome {
            InstanceOutcome::NotFound if message.existing_only => return Ok(Delivery::NotFound),
            InstanceOutcome::Running | InstanceOutcome::Ended(_) if starts => {
                return Ok(Delivery::Existing);
            }
            InstanceOutcome::NotFound | InstanceOutcome::Running | InstanceOutcome::Ended(_) => {}
        }
    }
    provider.enqueue_for_orchestrator(message.item, None).await?;
    Ok(Delivery::Enqueued)
}

/// Nothing is suspended.
pub(super) fn refuse_suspension() -> Result<(), ProviderError> {
    Err(ProviderError::permanent("suspend_turn", "this provider cannot suspend instances"))
}
