//! Committing a turn that was not fetched.
//!
//! The caller ran it on what it holds, without a lease on the instance. It counts only if nothing
//! has happened to the instance meanwhile; otherwise it is as if it had never been tried.

use std::collections::BTreeSet;

use duroxide_core::providers::{CommittedTurn, DirectTurn, HistoryMark};

use super::commit::{self, Encoded};
use super::refusal::Refusal;
use super::store::Store;
use super::{history, orchestrator_queue, turn_lock, worker_queue};

/// Commits a turn, if it follows what is stored; `None` and no change otherwise.
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
        // No message tells of it: the turn itself has heard the result.
        worker_queue::finish(store, now, token, None)?;
    }
    Ok(Some(commit::apply(store, now, &turn.instance, encoded)))
}

/// Whether the history ends at the mark, and nobody and nothing stands before the turn.
///
/// A lease that ran out stands before nobody: whoever held it cannot commit any more. Messages that
/// it has left are visible, and come first.
fn follows(store: &Store, now: u64, instance: &str, mark: HistoryMark) -> bool {
    let Some(stored) = store.instance(instance) else { return false };
    let events = history::stored(store, instance, stored.current_execution);
    let end = HistoryMark::new(stored.incarnation)
        .with_execution_id(stored.current_execution)
        .with_event_id(events.last().map_or(0, |(event_id, _)| *event_id));
    end == mark
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
