//! Reading and appending events.

use duroxide_core::Event;
use duroxide_core::model::INITIAL_EXECUTION_ID;
use duroxide_core::providers::kit::{
    EncodedEvent, decode_event, decode_history, decode_start_event,
};
use duroxide_core::providers::{InstanceOutcome, InstanceStatus, ProviderError};
use tokio_postgres::Row;

use crate::PostgresProvider;
use crate::error::{During, JobError};
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
        let texts = texts(self.store(), instance, execution_id).await.during(operation)?;
        decode_history(&texts).during(operation)
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

/// Stored events from `event_id` on, in order.
pub(crate) async fn rows_from(
    store: &Store,
    stored_instance: &str,
    execution_id: i64,
    event_id: i64,
) -> Result<Vec<(i64, String)>, JobError> {
    let rows = store
        .query(
            "SELECT event_id, event_data FROM {schema}.history
             WHERE instance_id = $1 AND execution_id = $2 AND event_id >= $3
             ORDER BY event_id",
            &[&stored_instance, &execution_id, &event_id],
        )
        .await?;
    Ok(rows.iter().map(|row| (row.get("event_id"), row.get("event_data"))).collect())
}

/// All events of an execution.
async fn texts(
    store: &Store,
    instance: &str,
    execution_id: Option<u64>,
) -> Result<Vec<String>, JobError> {
    let rows = store
        .query(
            "SELECT event_data FROM {schema}.history
             WHERE instance_id = $1
                 AND execution_id = coalesce($2, {schema}.current_execution{v}($1))
             ORDER BY event_id",
            &[&to_stored(instance), &execution_id.map(to_db)],
        )
        .await?;
    Ok(rows.iter().map(|row| row.get("event_data")).collect())
}

/// The current execution of an instance; if that is unknown, the last with events or the first.
pub(crate) async fn current_execution(store: &Store, instance: &str) -> Result<u64, JobError> {
    let sql = "SELECT {schema}.current_execution{v}($1) AS execution_id";
    let rows = store.query(sql, &[&to_stored(instance)]).await?;
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
        None if start_event(row)?.is_some() => InstanceOutcome::Running,
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
