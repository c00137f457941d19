//! Turns that no node may fetch, for the management side.

use duroxide_core::providers::{ListCursor, StrandedTurnQuery, StrandedTurns, WaitingTurn};

use super::store::Store;
use super::{fetch, holding, orchestrator_queue};

/// Turns that no node of the query may fetch, by instance.
pub(crate) fn turns(store: &Store, now: u64, query: &StrandedTurnQuery) -> StrandedTurns {
    list(store, now, query, fetch::candidates(store, now))
}

/// Of those turns, the ones of instances with a waiting cancellation.
pub(crate) fn cancelled(store: &Store, now: u64, query: &StrandedTurnQuery) -> StrandedTurns {
    let since = |instance: &str| {
        let cancellations = holding::cancellations(store, now, instance);
        cancellations.map(|message| message.visible_at).min()
    };
    let mut instances = fetch::candidates(store, now);
    instances.retain(|instance| since(instance).is_some());
    let mut page = list(store, now, query, instances);
    for turn in &mut page.turns {
        turn.waiting_since_ms = since(&turn.instance_id).unwrap_or(now);
    }
    page
}

fn list(
    store: &Store,
    now: u64,
    query: &StrandedTurnQuery,
    mut instances: Vec<String>,
) -> StrandedTurns {
    instances.sort_unstable();
    let behind =
        |it: &String| query.after.as_ref().is_none_or(|after| it.as_str() > after.as_str());
    let mut turns: Vec<WaitingTurn> = instances
        .iter()
        .filter(|instance| behind(instance))
        .map(|instance| waiting(store, now, instance))
        .filter(|turn| query.strands(turn.code.as_ref(), turn.pin.as_ref()))
        .collect();
    let limit = usize::try_from(query.limit).unwrap_or(usize::MAX);
    let is_cut = turns.len() > limit && limit > 0;
    turns.truncate(limit);
    let next = turns.last().filter(|_| is_cut).map(|last| ListCursor::new(&last.instance_id));
    StrandedTurns::new(turns, next)
}

fn waiting(store: &Store, now: u64, instance: &str) -> WaitingTurn {
    let ready = orchestrator_queue::ready(store, instance, now);
    let visible = ready.iter().map(|number| store.messages[number].visible_at).min();
    let expired = store.turn_locks.iter().find(|lock| lock.instance == instance);
    let since = expired.map(|lock| lock.until).or(visible).unwrap_or(now);
    let pin = fetch::needed_pin(store, instance).cloned();
    let execution_id = store.instance(instance).map(|known| known.current_execution);
    WaitingTurn::new(instance, since)
        .with_execution_id(execution_id)
        .with_needs(fetch::needed_code(store, instance), pin)
}
