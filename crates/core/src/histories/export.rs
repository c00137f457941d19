//! Histories of a store.

use std::collections::BTreeMap;
use std::io::Write;

use super::format::HistoriesError;
use super::recorded::{RecordedHistory, apply_changes};
use super::writer::HistoryWriter;
use crate::model::{ExecutionStatus, INITIAL_EXECUTION_ID, KvEntry};
use crate::providers::{Provider, ProviderAdmin, ProviderError, TurnState};

/// Which executions of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistorySelection {
    /// The current executions of running instances.
    Running,
    /// All executions that the store still has.
    All,
}

/// Writes the histories of a store, one execution after the other, and returns their number. It
/// reads only, and the store may be in use.
///
/// # Errors
/// When the store cannot be read or has a history that cannot be decoded, or the output fails.
pub async fn export_histories<W: Write>(
    store: &dyn Provider,
    selection: HistorySelection,
    writer: &mut HistoryWriter<W>,
) -> Result<u64, HistoriesError> {
    let mut written = 0;
    for instance in select(store, selection).await? {
        let mut earlier = Earlier::default();
        for execution_id in executions(store, &instance, selection).await? {
            match read_execution(store, &instance, execution_id, &mut earlier).await? {
                Ok(history) => writer.write(&history)?,
                Err(message) => {
                    return Err(HistoriesError::Undecodable { instance, execution_id, message });
                }
            }
            written += 1;
        }
    }
    Ok(written)
}

/// The instances that a selection is about.
pub(crate) async fn select(
    store: &dyn Provider,
    selection: HistorySelection,
) -> Result<Vec<String>, HistoriesError> {
    let admin = management(store)?;
    Ok(match selection {
        HistorySelection::Running => {
            admin.list_instances_by_status(ExecutionStatus::Running.as_str()).await?
        }
        HistorySelection::All => admin.list_instances().await?,
    })
}

/// The executions of an instance that a selection is about, ascending.
pub(crate) async fn executions(
    store: &dyn Provider,
    instance: &str,
    selection: HistorySelection,
) -> Result<Vec<u64>, HistoriesError> {
    let admin = management(store)?;
    Ok(match selection {
        HistorySelection::Running => vec![admin.latest_execution_id(instance).await?],
        HistorySelection::All => admin.list_executions(instance).await?,
    })
}

fn management(store: &dyn Provider) -> Result<&dyn ProviderAdmin, HistoriesError> {
    store.as_management_capability().ok_or(HistoriesError::NoManagement)
}

/// The keys that the executions read so far left behind.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    kv: BTreeMap<String, KvEntry>,
    last: Option<u64>,
}

/// Reads one execution; an inner error says why its history cannot be decoded.
pub(crate) async fn read_execution(
    store: &dyn Provider,
    instance: &str,
    execution_id: u64,
    earlier: &mut Earlier,
) -> Result<Result<RecordedHistory, String>, HistoriesError> {
    let state: TurnState = store.read_turn_state(instance, execution_id).await?;
    if let Some(error) = state.history_error {
        return Ok(Err(error));
    }
    let mut history = RecordedHistory::new(instance, execution_id, state.history);
    let follows = earlier.last.map_or(INITIAL_EXECUTION_ID, |last| last + 1) == execution_id;
    history.kv = match state.kv_snapshot {
        // The keys of a running execution are apart from those that it started with.
        Some(snapshot) if !history.is_finished() => snapshot.into_iter().collect(),
        Some(_) | None if follows => earlier.kv.clone(),
        Some(_) | None => fold_earlier(store, instance, execution_id).await?,
    };
    earlier.kv.clone_from(&history.kv);
    apply_changes(&mut earlier.kv, &history.events);
    earlier.last = Some(execution_id);
    Ok(Ok(history))
}

/// Computes the keys from the earlier executions that the store still has.
async fn fold_earlier(
    store: &dyn Provider,
    instance: &str,
    execution_id: u64,
) -> Result<BTreeMap<String, KvEntry>, HistoriesError> {
    let mut kv = BTreeMap::new();
    if execution_id == INITIAL_EXECUTION_ID {
        return Ok(kv);
    }
    for earlier in management(store)?.list_executions(instance).await? {
        if earlier < execution_id {
            let events: Result<_, ProviderError> =
                store.read_with_execution(instance, earlier).await;
            apply_changes(&mut kv, &events?);
        }
    }
    Ok(kv)
}
