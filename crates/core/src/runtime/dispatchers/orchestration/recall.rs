//! The state from which a fetched turn continues: in memory, fetched, or still to be read.

use crate::model::{Event, WorkItem};
use crate::providers::{DeferredHistory, FetchedTurn, ProviderError};
use crate::runtime::storage_retry::retry_for_ever;
use crate::runtime::turns::{ReservedRoom, Turns, WarmExecution};

/// An execution in memory with the events that it has not replayed, or the whole history.
pub(super) struct Recalled {
    pub(super) warm: Option<WarmExecution>,
    pub(super) history: Vec<Event>,
    /// Held for as long as a long history is in memory.
    pub(super) room: Option<ReservedRoom>,
}

impl Recalled {
    fn new(warm: Option<WarmExecution>, history: Vec<Event>) -> Self {
        Self { warm, history, room: None }
    }
}

/// Finds the state of a turn. Reads it if it is neither here nor in memory.
pub(super) async fn recall(
    turns: &Turns,
    fetched: &mut FetchedTurn,
) -> Result<Recalled, ProviderError> {
    let kept = turns.warm.take_settled(&fetched.item.instance).await;
    if let Some(history) = fetched.deferred.take() {
        return read(turns, fetched, history).await;
    }
    if fetched.history_after == 0 {
        // The execution in memory is not the stored one.
        return Ok(Recalled::new(None, std::mem::take(&mut fetched.item.history)));
    }
    let item = &mut fetched.item;
    let fits = kept.filter(|warm| {
        warm.mark.execution_id == item.execution_id && warm.mark.event_id == fetched.history_after
    });
    // The first turn of the next execution starts from the stored key-value state.
    let continues = |message: &WorkItem| matches!(message, WorkItem::ContinueAsNew { .. });
    if fits.is_some() && !item.messages.iter().any(continues) {
        return Ok(Recalled::new(fits, std::mem::take(&mut item.history)));
    }
    // The cache evicted the execution after the fetch had left its history out.
    drop(fits);
    let events = fetched.history_after.saturating_add(fetched.item.history.len() as u64);
    read(turns, fetched, DeferredHistory::new(events, 0)).await
}

async fn read(
    turns: &Turns,
    fetched: &mut FetchedTurn,
    history: DeferredHistory,
) -> Result<Recalled, ProviderError> {
    let item = &mut fetched.item;
    item.history = Vec::new();
    let room = turns.history_room.reserve(history).await;
    let provider = &turns.node.provider;
    let state = retry_for_ever("read_turn_state", || {
        provider.read_turn_state(&item.instance, item.execution_id)
    })
    .await?;
    item.history_error = state.history_error;
    if let Some(kv_snapshot) = state.kv_snapshot {
        item.kv_snapshot = kv_snapshot;
    }
    fetched.history_after = 0;
    Ok(Recalled { warm: None, history: state.history, room: Some(room) })
}
