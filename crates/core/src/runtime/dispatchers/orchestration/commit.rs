//! Commits a fetched turn.

use std::sync::Arc;

use tracing::{error, warn};

use super::failing::{Failing, failing_turn, parent_of_facts};
use super::process::LeasedTurn;
use crate::engine::Turn;
use crate::limits::UNCOMMITTED_TURN_DELAY;
use crate::model::{Event, WorkItem};
use crate::providers::{CommittedTurn, ProviderError, ProviderErrorKind, TurnCommit};
use crate::runtime::fast_path::{LeasePlan, LeasedActivities};
use crate::runtime::start_facts::StartFacts;
use crate::runtime::storage_retry::{log_unreleased, retry_for_lease, retry_while_leased};
use crate::runtime::turns::{TurnSummary, report, turn_commit, warn_of_ignored_limits};

/// Removes the messages and sends `notices`.
pub(super) async fn drain(turn: LeasedTurn<'_>, notices: Vec<WorkItem>) {
    let commit = TurnCommit::new(turn.lock_token.clone(), turn.item.execution_id)
        .with_messages(&turn.item.instance, notices);
    if let Err(error) = submit(&turn, Arc::new(commit)).await {
        release_uncommitted(&turn, &error).await;
    }
}

/// A stored turn.
pub(super) struct Committed {
    /// The incarnation of the instance, if the store has one.
    pub(super) incarnation: Option<u64>,
    /// Messages wait that are not part of this turn.
    pub(super) more_waits: bool,
    /// Activities that this node starts at once.
    pub(super) leased: LeasedActivities,
}

/// Commits what the engine decided. Handles all errors; `None` means that the turn is not known to
/// be stored.
pub(super) async fn commit(
    turn: &LeasedTurn<'_>,
    facts: &StartFacts,
    execution_id: u64,
    decided: Turn,
) -> Option<Committed> {
    let mut commit = assemble(turn, facts, execution_id, decided);
    warn_of_ignored_limits(turn.node, &turn.item.instance, &commit);
    let plan = LeasePlan::plan(turn.fast_path, &mut commit, None);
    let commit = Arc::new(commit);
    match submit(turn, Arc::clone(&commit)).await {
        Ok(committed) => {
            turn.fast_path.cancel(&commit.cancelled_activities);
            let leased = plan.assign(turn.fast_path, &commit, &committed.leased);
            Some(Committed {
                incarnation: committed.incarnation,
                more_waits: committed.more_waits,
                leased,
            })
        }
        Err(error) if error.is_store_trouble() || lease_is_lost(turn, &error).await => {
            release_uncommitted(turn, &error).await;
            None
        }
        Err(error) => {
            let start = commit.history_delta.first().filter(|event| event.is_start()).cloned();
            fail_instead(turn, facts, execution_id, start, &error).await;
            None
        }
    }
}

/// The commit of a fetched turn.
pub(super) fn assemble(
    turn: &LeasedTurn<'_>,
    facts: &StartFacts,
    execution_id: u64,
    decided: Turn,
) -> TurnCommit {
    let commit = turn_commit(&turn.item.instance, facts, execution_id, decided);
    commit.with_lock_token(turn.lock_token.clone()).with_commit_id(Some(turn.commit_id))
}

/// Stores a commit, with retries for the length of the lease.
pub(super) async fn submit(
    turn: &LeasedTurn<'_>,
    commit: Arc<TurnCommit>,
) -> Result<CommittedTurn, ProviderError> {
    let length = turn.node.options.orchestrator_lock_timeout;
    retry_for_lease("ack_orchestration_item", &turn.lease, length, || {
        turn.node.provider.commit_turn(Arc::clone(&commit))
    })
    .await
}

/// The store refused the turn permanently: fails the instance with the reason.
async fn fail_instead(
    turn: &LeasedTurn<'_>,
    facts: &StartFacts,
    execution_id: u64,
    start: Option<Event>,
    refusal: &ProviderError,
) {
    error!(
        target: "duroxide::runtime",
        instance_id = %turn.item.instance, execution_id, error = %refusal,
        "the store refused a turn permanently; failing the instance"
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
    let summary = TurnSummary::without_code(execution_id, facts, &decided, turn.now_ms)
        .started_by(turn.batch.start.as_ref());
    let commit = Arc::new(assemble(turn, facts, execution_id, decided));
    match submit(turn, commit).await {
        Ok(_committed) => report(&turn.report_context(), &summary),
        Err(error) => release_uncommitted(turn, &error).await,
    }
}

/// Whether another node may hold the turn by now. A refusal for that reason is no failure of the
/// instance.
async fn lease_is_lost(turn: &LeasedTurn<'_>, refusal: &ProviderError) -> bool {
    if refusal.kind == ProviderErrorKind::LostLease || turn.lease.lost().is_cancelled() {
        return true;
    }
    let length = turn.node.options.orchestrator_lock_timeout;
    turn.node.provider.renew_orchestration_item_lock(&turn.lock_token, length).await.is_err()
}

/// Releases a turn that could not be committed, so that it is redelivered. The attempt counts only
/// if the store works and refuses what the turn contains.
pub(super) async fn release_uncommitted(turn: &LeasedTurn<'_>, error: &ProviderError) {
    warn!(
        target: "duroxide::runtime",
        instance_id = %turn.item.instance, %error,
        "could not commit a turn; releasing it for redelivery"
    );
    let is_trouble = error.is_store_trouble();
    let delay = is_trouble.then_some(UNCOMMITTED_TURN_DELAY);
    // A lease that expired says nothing about the turn.
    let ignore_attempt = is_trouble || error.kind == ProviderErrorKind::LostLease;
    let result = retry_while_leased("abandon_orchestration_item", &turn.lease, || {
        turn.node.provider.abandon_orchestration_item(&turn.lock_token, delay, ignore_attempt)
    })
    .await;
    log_unreleased("turn", result);
}
