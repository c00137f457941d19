//! Makes a turn durable.

use std::sync::Arc;

use tracing::{error, warn};

use super::failing::{Failing, failing_turn, parent_of_facts};
use super::process::InHand;
use super::report::{Summary, report};
use crate::engine::{Turn, TurnResult};
use crate::model::{ErrorDetails, Event, ExecutionStatus, WorkItem};
use crate::providers::{
    CommittedTurn, ExecutionMetadata, ProviderError, ScheduledActivityIdentifier, StartLimit,
    TurnCommit,
};
use crate::runtime::dispatchers::returning::{log_unreturned, persist};
use crate::runtime::dispatchers::worker::{Begins, Handover, cancel};
use crate::runtime::node::Node;
use crate::runtime::start_facts::StartFacts;

/// Removes the messages and does nothing else, but for `notices`.
pub(super) async fn drain(turn: InHand<'_>, notices: Vec<WorkItem>) {
    let commit = TurnCommit {
        lock_token: turn.lock_token.clone(),
        execution_id: turn.item.execution_id,
        orchestrator_items: notices,
        ..TurnCommit::default()
    };
    if let Err(error) = submit(&turn, Arc::new(commit)).await {
        give_up(&turn, &error).await;
    }
}

/// A stored turn.
pub(super) struct Committed {
    /// Incarnation of the instance, if the store has one.
    pub(super) incarnation: Option<u64>,
    /// Messages wait that the turn has not seen.
    pub(super) more_waits: bool,
    /// Activities that begin here at once.
    pub(super) begins: Begins,
}

/// Commits what the engine decided. `None` means that it is not known to be stored; the error is
/// dealt with.
pub(super) async fn commit(
    turn: &InHand<'_>,
    facts: &StartFacts,
    execution_id: u64,
    decided: Turn,
) -> Option<Committed> {
    let mut commit = assemble(turn, facts, execution_id, decided);
    warn_of_unkept_limits(turn.node, &turn.item.instance, &commit);
    let handover = Handover::plan(turn.node, &mut commit, None);
    let commit = Arc::new(commit);
    match submit(turn, Arc::clone(&commit)).await {
        Ok(committed) => {
            cancel(turn.node, &commit.cancelled_activities);
            let begins = handover.assign(turn.node, &commit, &committed.leased);
            Some(Committed {
                incarnation: committed.incarnation,
                more_waits: committed.more_waits,
                begins,
            })
        }
        Err(error) if error.is_retryable() || lease_is_lost(turn).await => {
            give_up(turn, &error).await;
            None
        }
        Err(error) => {
            let start = commit.history_delta.first().filter(|event| event.is_start()).cloned();
            fail_instead(turn, facts, execution_id, start, &error).await;
            None
        }
    }
}

/// What is sent to the store for a turn.
pub(super) fn assemble(
    turn: &InHand<'_>,
    facts: &StartFacts,
    execution_id: u64,
    decided: Turn,
) -> TurnCommit {
    let changes = changes(&turn.item.instance, facts, execution_id, decided);
    TurnCommit { lock_token: turn.lock_token.clone(), ..changes }
}

/// What a turn changes, whatever proves that it may.
pub(super) fn changes(
    instance: &str,
    facts: &StartFacts,
    execution_id: u64,
    decided: Turn,
) -> TurnCommit {
    TurnCommit {
        lock_token: String::new(),
        execution_id,
        metadata: metadata(facts, &decided),
        cancelled_activities: identify(instance, execution_id, &decided),
        start_limits: start_limits(&decided),
        history_delta: decided.events,
        worker_items: decided.worker_items,
        orchestrator_items: decided.orchestrator_items,
        lease_work: None,
    }
}

/// Stores a commit, repeating it while the lease lasts.
pub(super) async fn submit(
    turn: &InHand<'_>,
    commit: Arc<TurnCommit>,
) -> Result<CommittedTurn, ProviderError> {
    let length = turn.node.options.orchestrator_lock_timeout;
    persist("ack_orchestration_item", &turn.lease, length, || {
        turn.node.provider.commit_turn(Arc::clone(&commit))
    })
    .await
}

/// The store refuses the turn for good: the instance fails with the reason, if it can.
async fn fail_instead(
    turn: &InHand<'_>,
    facts: &StartFacts,
    execution_id: u64,
    start: Option<Event>,
    refusal: &ProviderError,
) {
    error!(
        target: "duroxide::runtime",
        instance_id = %turn.item.instance, execution_id, error = %refusal,
        "the store refuses this turn; the instance fails"
    );
    let stored = start.as_ref().map_or(turn.last_event_id, |event| event.event_id);
    let failing = Failing {
        execution_id,
        start,
        event_id: stored + 1,
        details: refusal.to_infrastructure_error(),
        parent: parent_of_facts(turn, facts).await,
    };
    let decided = failing_turn(turn, failing).await;
    let summary = Summary::without_code(execution_id, facts, &decided, turn.now_ms);
    let commit = Arc::new(assemble(turn, facts, execution_id, decided));
    match submit(turn, commit).await {
        Ok(_committed) => report(&turn.taken(), &summary),
        Err(error) => give_up(turn, &error).await,
    }
}

/// Whether someone else may have the turn by now. A refusal for that reason is no failure of the
/// instance.
async fn lease_is_lost(turn: &InHand<'_>) -> bool {
    if turn.lease.lost().is_cancelled() {
        return true;
    }
    let length = turn.node.options.orchestrator_lock_timeout;
    turn.node.provider.renew_orchestration_item_lock(&turn.lock_token, length).await.is_err()
}

/// Leaves the turn to be redelivered.
pub(super) async fn give_up(turn: &InHand<'_>, error: &ProviderError) {
    warn!(
        target: "duroxide::runtime",
        instance_id = %turn.item.instance, %error,
        "a turn could not be committed and will be taken again"
    );
    if turn.lease.lost().is_cancelled() {
        return;
    }
    let length = turn.node.options.orchestrator_lock_timeout;
    let result = persist("abandon_orchestration_item", &turn.lease, length, || {
        turn.node.provider.abandon_orchestration_item(&turn.lock_token, None, false)
    })
    .await;
    log_unreturned("turn", result);
}

fn identify(instance: &str, execution_id: u64, decided: &Turn) -> Vec<ScheduledActivityIdentifier> {
    decided
        .cancelled_activities
        .iter()
        .map(|id| ScheduledActivityIdentifier {
            instance: instance.to_owned(),
            execution_id,
            activity_id: *id,
        })
        .collect()
}

fn start_limits(decided: &Turn) -> Vec<StartLimit> {
    let limits = decided.start_limits.iter();
    limits.map(|&(activity_id, limit)| StartLimit { activity_id, limit }).collect()
}

/// Says that limits are ignored, if the store does not keep them.
pub(super) fn warn_of_unkept_limits(node: &Node, instance: &str, commit: &TurnCommit) {
    if !commit.start_limits.is_empty() && !node.provider.keeps_start_limits() {
        warn!(
            target: "duroxide::runtime",
            instance_id = instance,
            "the store keeps no schedule-to-start limits: activities wait without one"
        );
    }
}

fn metadata(facts: &StartFacts, decided: &Turn) -> ExecutionMetadata {
    let (status, output) = match &decided.result {
        TurnResult::Continue => (None, None),
        TurnResult::Completed(output) => (Some(ExecutionStatus::Completed), Some(output.clone())),
        TurnResult::Failed(details) => {
            (Some(ExecutionStatus::Failed), Some(details.display_message()))
        }
        TurnResult::Cancelled { reason } => {
            (Some(ExecutionStatus::Failed), Some(ErrorDetails::cancelled(reason).display_message()))
        }
        TurnResult::ContinueAsNew { input } => {
            (Some(ExecutionStatus::ContinuedAsNew), Some(input.clone()))
        }
    };
    // The pin is told once, with the start event, and belongs to this execution alone.
    let pinned = decided
        .events
        .iter()
        .find(|event| event.is_start())
        .and_then(|start| semver::Version::parse(&start.duroxide_version).ok());
    ExecutionMetadata {
        status: status.map(|status| status.as_str().to_owned()),
        output,
        orchestration_name: Some(facts.name.clone()),
        orchestration_version: Some(facts.version.clone()),
        parent_instance_id: facts.parent.as_ref().map(|parent| parent.instance.clone()),
        pinned_duroxide_version: pinned,
    }
}
