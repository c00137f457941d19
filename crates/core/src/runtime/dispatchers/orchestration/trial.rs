//! Turns that were fetched before run on trial: one at a time, and marked in the store.
//!
//! When a node dies, all turns that it has leased are lost, but at most one of them is the reason.
//! A lost lease therefore counts as an attempt only if the code of the turn was running, as the
//! store knows from the mark. A first fetch writes no mark: almost every turn is fetched once.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;

use tokio::sync::oneshot;
use tracing::debug;

use super::process::LeasedTurn;
use crate::limits::VOUCHED_AFTER;
use crate::providers::{FetchedTurn, ProviderError};
use crate::runtime::lease::Lease;
use crate::runtime::node::Node;
use crate::runtime::storage_retry::{retry_for_lease, retry_while_leased};
use crate::runtime::tasks::AbortOnDrop;

/// Whether a turn runs on trial.
fn is_suspicious(attempt_count: u32) -> bool {
    attempt_count > 1
}

/// Orders fetched turns at random if one of them runs on trial. If nodes are killed again and again
/// soon after their start, it is not always the same turn that runs then.
pub(super) fn shuffle(fetched: &mut [FetchedTurn]) {
    if fetched.iter().any(|turn| is_suspicious(turn.attempt_count)) {
        let random = RandomState::new();
        fetched.sort_by_cached_key(|turn| random.hash_one(&turn.lock_token));
    }
}

/// The attempts of a turn that count towards poison. Asks the store only if all of them would be
/// too many.
pub(super) async fn counted_attempts(
    node: &Node,
    fetched: &FetchedTurn,
    lease: &Lease,
    attempts_max: u32,
) -> Result<u32, ProviderError> {
    if fetched.attempt_count <= attempts_max {
        return Ok(fetched.attempt_count);
    }
    let excused = retry_while_leased("mark_turn_running", lease, || {
        node.provider.mark_turn_running(&fetched.lock_token, false)
    });
    Ok(fetched.attempt_count.saturating_sub(excused.await?))
}

/// A turn whose code runs on trial. Dropping it ends the trial and leaves the mark to the end of
/// the lease.
pub(super) struct Trial {
    code_returned: oneshot::Sender<()>,
    over: oneshot::Receiver<()>,
    _task: AbortOnDrop,
}

/// Begins the trial of a turn, if it needs one: waits until no other turn of this node is on trial,
/// and marks it. The mark is removed when its code has returned, or has run for so long that it
/// hardly ends the node.
pub(super) async fn begin(turn: &LeasedTurn<'_>) -> Result<Option<Trial>, ProviderError> {
    if !is_suspicious(turn.attempt_count) {
        return Ok(None);
    }
    let alone = Arc::clone(&turn.turns.on_trial).lock_owned().await;
    let length = turn.node.options.orchestrator_lock_timeout;
    retry_for_lease("mark_turn_running", &turn.lease, length, || {
        turn.node.provider.mark_turn_running(&turn.lock_token, true)
    })
    .await?;
    let (code_returned, returned) = oneshot::channel::<()>();
    let (done, over) = oneshot::channel();
    let (node, token) = (Arc::clone(turn.node), turn.lock_token.clone());
    // Not on the executor, which the code may block.
    let task = turn.node.background.spawn(async move {
        // An error means that the code returned: the sender is used for nothing else.
        drop(tokio::time::timeout(VOUCHED_AFTER, returned).await);
        let unmarked = node.provider.mark_turn_running(&token, false);
        if let Err(error) = node.background.call(unmarked).await {
            debug!(target: "duroxide::runtime", %error, "could not remove the mark of a turn");
        }
        drop(alone);
        // The turn may have been dropped meanwhile.
        done.send(()).unwrap_or_default();
    });
    Ok(Some(Trial { code_returned, over, _task: task }))
}

/// Ends a trial: the code has returned. Returns when the mark is removed.
pub(super) async fn end(trial: Option<Trial>) {
    let Some(Trial { code_returned, over, _task }) = trial else { return };
    drop(code_returned);
    // An error means that the node is stopping.
    drop(over.await);
}
