//! Committing a turn that was not fetched.
//!
//! The caller ran the turn on the history it holds, without a lease on the instance. The turn
//! commits only if nothing else happened to the instance; otherwise nothing changes.

use std::collections::BTreeSet;

use duroxide_core::providers::{CommittedTurn, DirectTurn, HistoryMark};

use super::commit::{self, Encoded};
use super::refusal::Refusal;
use super::store::Store;
use super::{history, orchestrator_queue, turn_lock, worker_queue};

/// Commits a turn if it continues the stored history; otherwise returns `None` and changes nothing.
pub(crate) fn commit_direct_turn(
    store: &mut Store,
    now: u64,
    turn: &DirectTurn,
) -> Result<Option<CommittedTurn>, Refusal> {
    let encoded = Encoded::encode(&turn.commit)?;
    if !follows(store, now, &turn.instance, turn.mark) {
        return Ok(None);
    }
    check_leases(store, now, &turn.finished_work)?;
    encoded.check(store, &turn.instance)?;

    for token in &turn.finished_work {
        // No result message is enqueued, because the turn contains the result.
        worker_queue::finish(store, now, token, None)?;
    }
    Ok(Some(commit::apply(store, now, &turn.instance, encoded)))
}

/// Whether the history ends at the mark, and no lease and no visible message has precedence.
///
/// An expired lease has no precedence, because its holder cannot commit any more. The messages of
/// that turn are visible again and have precedence.
fn follows(store: &Store, now: u64, instance: &str, mark: HistoryMark) -> bool {
    let Some(stored) = store.instance(instance) else { return false };
    let events = history::stored(store, instance, stored.current_execution);
    let (event_id, commit_id) =
        events.last().map_or((0, None), |(event_id, event)| (*event_id, event.commit_id));
    let end = HistoryMark::new(stored.incarnation)
        .with_execution_id(stored.current_execution)
        .with_event_id(event_id)
        .with_commit_id(mark.commit_id);
    end == mark
        && mark.matches_commit(commit_id)
        && !turn_lock::is_held(store, instance, now)
        && orchestrator_queue::ready(store, instance, now).is_empty()
}

/// Every activity must be held, and only once, before any is removed.
fn check_leases(store: &Store, now: u64, tokens: &[String]) -> Result<(), Refusal> {
    let mut numbers = BTreeSet::new();
    for token in tokens {
        if !numbers.insert(worker_queue::require_live(store, now, token)?) {
            return Err(worker_queue::lost_lease());
        }
    }
    Ok(())
}
