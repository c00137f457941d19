//! Reading and appending events.

use duroxide_core::Event;
use duroxide_core::model::INITIAL_EXECUTION_ID;
use duroxide_core::providers::kit::{
    EncodedEvent, decode_event, decode_start_event, decode_stored_event, has_started,
};
use duroxide_core::providers::{
    InstanceOutcome, InstanceStatus, ProviderError, StoredEvent, StoredEventsQuery, TurnState,
};
use tokio_postgres::Row;

use crate::PostgresProvider;
use crate::error::{During, JobError};
use crate::limits;
use crate::read::kv;
use crate::schema::call::Argument;
use crate::schema::number::{from_db, to_db};
use crate::schema::stored_text::{from_stored, to_stored};
use crate::store::Store;

impl PostgresProvider {
    /// Events of one execution, or of the latest.
    pub(crate) async fn read_events(
        &self,
        operation: &'static str,
        instance: &str,
        execution_id: Option<u64>,
    ) -> Result<Vec<Event>, ProviderError> {
        events(self.store(), &to_stored(instance), execution_id).await.during(operation)
    }

    /// What a turn continues from.
    pub(crate) async fn read_state(
        &self,
        operation: &'static str,
        instance: &str,
        execution_id: u64,
    ) -> Result<TurnState, ProviderError> {
        let (instance, execution_id) = (to_stored(instance), to_db(execution_id));
        turn_state(self.store(), &instance, execution_id).await.during(operation)
    }
}

/// Appends events unchanged, and unparks messages. An event that is already stored fails all.
pub(crate) async fn append(
    store: &Store,
    instance: &str,
    execution_id: u64,
    events: &[EncodedEvent],
) -> Result<(), JobError> {
    let ids: Vec<i64> = events.iter().map(|event| to_db(event.event_id)).collect();
    let types: Vec<&str> = events.iter().map(|event| event.event_type).collect();
    let texts: Vec<&str> = events.iter().map(|event| event.text.as_str()).collect();
    let instance = to_stored(instance);
    let arguments: [Argument<'_>; 6] = [
        ("p_now", &store.now()),
        ("p_instance", &instance),
        ("p_execution", &to_db(execution_id)),
        ("e_id", &ids),
        ("e_type", &types),
        ("e_data", &texts),
    ];
    store.call("append_history", &arguments).await?;
    Ok(())
}

/// Consecutive events of an execution.
pub(crate) struct HistoryPart {
    pub(crate) rows: Vec<(i64, String)>,
    /// The commit that ends with the first of them.
    pub(crate) first_commit: Option<u64>,
    /// Whether more may follow.
    pub(crate) more: bool,
}

/// Stored events from `event_id` on, in order, as many as one read returns. At least one, if there
/// is one.
pub(crate) async fn part_from(
    store: &Store,
    stored_instance: &str,
    execution_id: i64,
    event_id: i64,
) -> Result<HistoryPart, JobError> {
    let rows = store
        .query(
            "SELECT p.event_id, p.event_data, p.commit_id FROM (
                 SELECT f.event_id, f.event_data, f.commit_id,
                     sum(octet_length(f.event_data)) OVER (ORDER BY f.event_id)
                         - octet_length(f.event_data) AS before
                 FROM (
                     SELECT h.event_id, h.event_data, h.commit_id FROM {schema}.history h
                     WHERE h.instance_id = $1 AND h.execution_id = $2 AND h.event_id >= $3
                         AND NOT EXISTS (
                             SELECT 1 FROM {schema}.deletions d
                             WHERE d.instance_id = $1 AND d.execution_id IN (0, $2))
                     ORDER BY h.event_id LIMIT $4
                 ) AS f
             ) AS p
             WHERE p.before < $5 ORDER BY p.event_id",
            &[
                &stored_instance,
                &execution_id,
                &event_id,
                &limits::EVENTS_PER_READ_MAX,
                &limits::BYTES_PER_READ_MAX,
            ],
        )
        .await?;
    let first = rows.first().and_then(|row| row.get::<_, Option<i64>>("commit_id"));
    let rows: Vec<(i64, String)> =
        rows.iter().map(|row| (row.get("event_id"), row.get("event_data"))).collect();
    let bytes: usize = rows.iter().map(|(_, text)| text.len()).sum();
    let is_full = to_db(rows.len() as u64) >= limits::EVENTS_PER_READ_MAX
        || to_db(bytes as u64) >= limits::BYTES_PER_READ_MAX;
    Ok(HistoryPart { more: is_full, rows, first_commit: first.map(from_db) })
}

/// All events of an execution, or of the latest, read in parts: events are only added, so the parts
/// fit together. None if it was deleted meanwhile.
async fn events(
    store: &Store,
    stored_instance: &str,
    execution_id: Option<u64>,
) -> Result<Vec<Event>, JobError> {
    let execution_id = match execution_id {
        Some(execution_id) => execution_id,
        None => stored_execution(store, stored_instance).await?,
    };
    let mut events = Vec::new();
    let mut next = 0;
    loop {
        let part = part_from(store, stored_instance, to_db(execution_id), next).await?;
        for (event_id, text) in &part.rows {
            events.push(decode_event(text)?);
            next = event_id + 1;
        }
        if !part.more {
            let is_one_part = events.len() == part.rows.len();
            if !is_one_part && !exists(store, stored_instance, to_db(execution_id)).await? {
                events.clear();
            }
            return Ok(events);
        }
    }
}

/// Whether an execution has events and is not deleted.
async fn exists(store: &Store, stored_instance: &str, execution_id: i64) -> Result<bool, JobError> {
    let sql = "SELECT 1 FROM {schema}.history h
         WHERE h.instance_id = $1 AND h.execution_id = $2 AND NOT EXISTS (
             SELECT 1 FROM {schema}.deletions d
             WHERE d.instance_id = $1 AND d.execution_id IN (0, $2))
         LIMIT 1";
    Ok(!store.query(sql, &[&stored_instance, &execution_id]).await?.is_empty())
}

/// The next events of an execution, as many as one read returns, whether they can be decoded or
/// not.
pub(crate) async fn stored_part(
    store: &Store,
    query: &StoredEventsQuery,
) -> Result<Vec<StoredEvent>, JobError> {
    let instance = to_stored(&query.instance);
    let next = to_db(query.after).saturating_add(1);
    let part = part_from(store, &instance, to_db(query.execution_id), next).await?;
    let decode = |(id, text): (i64, String)| decode_stored_event(from_db(id), text);
    Ok(part.rows.into_iter().map(decode).collect())
}

/// What a turn continues from. A history that cannot be decoded is part of it.
pub(crate) async fn turn_state(
    store: &Store,
    stored_instance: &str,
    execution_id: i64,
) -> Result<TurnState, JobError> {
    let history = events(store, stored_instance, Some(from_db(execution_id)));
    let (history, kv_snapshot) = tokio::join!(history, kv::snapshot(store, stored_instance));
    let mut state = TurnState::default().with_kv_snapshot(kv_snapshot?);
    match history {
        Ok(history) => state.history = history,
        Err(JobError::Row(error)) => state.history_error = Some(error.to_string()),
        Err(error) => return Err(error),
    }
    Ok(state)
}

/// The current execution of an instance; if that is unknown, the last with events or the first.
pub(crate) async fn current_execution(store: &Store, instance: &str) -> Result<u64, JobError> {
    stored_execution(store, &to_stored(instance)).await
}

async fn stored_execution(store: &Store, stored_instance: &str) -> Result<u64, JobError> {
    let sql = "SELECT {schema}.current_execution{v}($1) AS execution_id";
    let rows = store.query(sql, &[&stored_instance]).await?;
    Ok(rows.first().map_or(INITIAL_EXECUTION_ID, |row| from_db(row.get("execution_id"))))
}

/// The function that reads the state of instances.
pub(crate) const READ_OUTCOMES: &str = "read_outcomes";

/// The stored state of the latest executions of instances, in their order. `first_wanted` asks for
/// the first event even if the execution has ended.
pub(crate) async fn stored_statuses(
    store: &Store,
    stored_instances: &[&str],
    first_wanted: &[bool],
) -> Result<Vec<Row>, JobError> {
    let arguments: [Argument<'_>; 2] =
        [("p_instances", &stored_instances), ("p_first_wanted", &first_wanted)];
    store.call_repeatable(READ_OUTCOMES, &arguments).await
}

/// The state of the latest execution of an instance.
pub(crate) fn status(row: &Row) -> Result<InstanceStatus, JobError> {
    let outcome = match row.get::<_, Option<String>>("o_ended") {
        Some(text) => InstanceOutcome::Ended(Box::new(decode_event(&text)?)),
        None if has_started(row.get("o_first")) => InstanceOutcome::Running,
        None => InstanceOutcome::NotFound,
    };
    if outcome == InstanceOutcome::NotFound {
        return Ok(InstanceStatus::new(outcome, Ok(None)));
    }
    let version = row.get::<_, Option<i64>>("o_custom_version").map_or(0, from_db);
    let custom = row.get::<_, Option<String>>("o_custom").map(from_stored);
    Ok(InstanceStatus::new(outcome, Ok(Some((custom, version)))))
}

/// The start event of the latest execution of an instance.
pub(crate) fn start_event(row: &Row) -> Result<Option<Event>, JobError> {
    Ok(decode_start_event(row.get("o_first"))?)
}
