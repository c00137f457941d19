//! Histories of a store.

use std::collections::BTreeMap;
use std::io::Write;

use super::format::HistoriesError;
use super::keys::Keys;
use super::recorded::RecordedHistory;
use super::undecodable::UndecodableHistory;
use super::writer::HistoryWriter;
use crate::model::{Event, ExecutionStatus, INITIAL_EXECUTION_ID, KvEntry};
use crate::providers::{Provider, ProviderAdmin, ProviderErrorKind, TurnState};

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
/// reads only, and the store may be in use. An event that this build cannot decode is written as it
/// is stored.
///
/// # Errors
/// When the store cannot be read, or has an event that cannot be decoded and does not return such
/// events, or the output fails.
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
                Err(history) if history.events.is_empty() => return Err(history.into_error()),
                Err(history) => writer.write_undecodable(&history)?,
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

/// The keys of the executions read so far.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    keys: Keys,
    last: Option<u64>,
}

impl Earlier {
    /// Notes an execution that started with these keys.
    fn note<'a>(
        &mut self,
        execution_id: u64,
        kv: &BTreeMap<String, KvEntry>,
        events: impl IntoIterator<Item = &'a Event>,
    ) {
        self.keys.note(kv.clone(), events);
        self.last = Some(execution_id);
    }

    /// The keys that an execution with these events started with.
    async fn keys<'a>(
        &self,
        store: &dyn Provider,
        (instance, execution_id): (&str, u64),
        events: impl DoubleEndedIterator<Item = &'a Event>,
    ) -> Result<BTreeMap<String, KvEntry>, HistoriesError> {
        match self.last.map_or(INITIAL_EXECUTION_ID, |last| last + 1) == execution_id {
            true => Ok(self.keys.next(events)),
            false => Ok(fold_earlier(store, instance, execution_id).await?.next(events)),
        }
    }
}

/// Reads one execution; the inner error is a history that cannot be decoded.
pub(crate) async fn read_execution(
    store: &dyn Provider,
    instance: &str,
    execution_id: u64,
    earlier: &mut Earlier,
) -> Result<Result<RecordedHistory, UndecodableHistory>, HistoriesError> {
    let state: TurnState = store.read_turn_state(instance, execution_id).await?;
    if let Some(error) = state.history_error {
        let admin = management(store)?;
        let mut history = UndecodableHistory::read(admin, (instance, execution_id), error).await?;
        history.kv = earlier.keys(store, (instance, execution_id), history.decoded()).await?;
        earlier.note(execution_id, &history.kv, history.decoded());
        return Ok(Err(history));
    }
    let mut history = RecordedHistory::new(instance, execution_id, state.history);
    history.kv = match state.kv_snapshot {
        // The keys of a running execution are apart from those that it started with.
        Some(snapshot) if !history.is_finished() => snapshot.into_iter().collect(),
        Some(_) | None => {
            earlier.keys(store, (instance, execution_id), history.events.iter()).await?
        }
    };
    earlier.note(execution_id, &history.kv, &history.events);
    Ok(Ok(history))
}

/// Computes the keys from the earlier executions that the store still has. What an event changed
/// that cannot be decoded is unknown.
async fn fold_earlier(
    store: &dyn Provider,
    instance: &str,
    execution_id: u64,
) -> Result<Keys, HistoriesError> {
    let mut keys = Keys::default();
    if execution_id == INITIAL_EXECUTION_ID {
        return Ok(keys);
    }
    let admin = management(store)?;
    for earlier in admin.list_executions(instance).await? {
        if earlier >= execution_id {
            continue;
        }
        match store.read_with_execution(instance, earlier).await {
            Ok(events) => keys.note(keys.next(events.iter()), &events),
            Err(error) if error.kind == ProviderErrorKind::Undecodable => {
                let history = UndecodableHistory::read(admin, (instance, earlier), error.message);
                let history = history.await?;
                keys.note(keys.next(history.decoded()), history.decoded());
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(keys)
}
