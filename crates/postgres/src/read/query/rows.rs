//! Rows of instances, and what is added to them.

use std::collections::HashMap;

use duroxide_core::EventKind;
use duroxide_core::limits::MAX_ROW_TEXT;
use duroxide_core::model::{Attributes, ExecutionStatus};
use duroxide_core::providers::kit::{decode_attribute, decode_event};
use duroxide_core::query::{ErrorCategory, InstanceFailure, InstanceRow, RowStatus};
use tokio_postgres::Row;

use crate::error::JobError;
use crate::schema::number::{count_from_db, from_db, to_db};
use crate::schema::stored_text::{from_stored, stored};
use crate::store::Store;

/// The rows of instances that are stored and whose execution has none of the excluded statuses.
pub(super) async fn read(
    store: &Store,
    ids: &[String],
    excluded: &[ExecutionStatus],
    now: u64,
) -> Result<Vec<InstanceRow>, JobError> {
    let ids: Vec<String> = ids.iter().map(|id| stored(id)).collect();
    let excluded: Vec<&str> = excluded.iter().map(|status| status.as_str()).collect();
    let length = i32::try_from(MAX_ROW_TEXT).unwrap_or(i32::MAX);
    let rows = store.query(ROWS, &[&ids, &excluded, &length]).await?;
    Ok(rows.iter().map(|row| instance(row, now)).collect())
}

// Each is looked up by itself: a limit keeps the server from joining whole tables.
const ROWS: &str = "SELECT i.*, e.*
     FROM unnest($1::TEXT[]) AS k (id)
     CROSS JOIN LATERAL (
         SELECT j.instance_id, j.orchestration_name, j.orchestration_version,
             j.current_execution_id, j.created_at, j.updated_at, j.parent_instance_id,
             left(j.custom_status, $3) AS custom_status,
             j.suspended_since IS NOT NULL AS is_suspended,
             left(j.suspended_reason, $3) AS suspended_reason
         FROM {schema}.instances j WHERE j.instance_id = k.id LIMIT 1) AS i
     LEFT JOIN LATERAL (
         SELECT {schema}.instance_status{v}(x.instance_id, x.status) AS status, x.completed_at,
             x.duroxide_version,
             CASE WHEN x.status = 'Failed' THEN left(x.output, $3) END AS error
         FROM {schema}.executions x
         WHERE x.instance_id = i.instance_id AND x.execution_id = i.current_execution_id
         LIMIT 1) AS e ON TRUE
     WHERE coalesce(e.status, 'Running') <> ALL ($2::TEXT[])";

fn instance(row: &Row, now: u64) -> InstanceRow {
    let text = |column| row.get::<_, Option<String>>(column).map(from_stored);
    let number = |column: &str| from_db(row.get(column));
    let stored_status = text("status").unwrap_or_default();
    let status = RowStatus::of_stored(&stored_status, row.get("is_suspended"));
    let id = text("instance_id").unwrap_or_default();
    let mut found = InstanceRow::new(id, text("orchestration_name").unwrap_or_default(), status)
        .with_times(
            number("created_at"),
            number("updated_at"),
            row.get::<_, Option<i64>>("completed_at").map(from_db),
            now,
        );
    found.orchestration_version = text("orchestration_version").unwrap_or_default();
    found.executions = number("current_execution_id");
    found.parent_instance_id = text("parent_instance_id");
    found.custom_status = text("custom_status");
    if status == RowStatus::Suspended {
        found.suspended_reason = Some(text("suspended_reason").unwrap_or_default());
    }
    if status == RowStatus::Failed {
        found.error = Some(InstanceFailure::new(None, text("error").unwrap_or_default()));
    }
    found.pin = text("duroxide_version");
    found
}

/// Adds the categories of the errors that ended failed instances.
pub(super) async fn add_categories(
    store: &Store,
    failed: &mut [&mut InstanceRow],
) -> Result<(), JobError> {
    if failed.is_empty() {
        return Ok(());
    }
    let ids: Vec<String> = failed.iter().map(|row| stored(&row.instance_id)).collect();
    let executions: Vec<i64> = failed.iter().map(|row| to_db(row.executions)).collect();
    for row in store.query(ENDS, &[&ids, &executions]).await? {
        let place = count_from_db(row.get::<_, i64>("place") - 1);
        let found = failed.get_mut(place).and_then(|row| row.error.as_mut());
        if let Some(error) = found {
            error.category = category(&from_stored(row.get("event_data")));
        }
    }
    Ok(())
}

// Only cancellations follow the event that ends an execution.
const ENDS: &str = "SELECT k.place, h.event_data
     FROM unnest($1::TEXT[], $2::BIGINT[]) WITH ORDINALITY AS k (id, execution_id, place)
     CROSS JOIN LATERAL (
         SELECT e.event_data FROM {schema}.history e
         WHERE e.instance_id = k.id AND e.execution_id = k.execution_id
             AND e.event_type = 'OrchestrationFailed'
         ORDER BY e.event_id DESC LIMIT 1) AS h";

/// The category in a stored event; `None` if it cannot be decoded.
fn category(text: &str) -> Option<ErrorCategory> {
    let EventKind::OrchestrationFailed { details } = decode_event(text).ok()?.kind else {
        return None;
    };
    Some(ErrorCategory::of(&details))
}

/// Adds the attributes of instances.
pub(super) async fn add_attributes(
    store: &Store,
    rows: &mut [InstanceRow],
) -> Result<(), JobError> {
    if rows.is_empty() {
        return Ok(());
    }
    let ids: Vec<String> = rows.iter().map(|row| stored(&row.instance_id)).collect();
    let mut found: HashMap<i64, Attributes> = HashMap::new();
    for row in store.query(ATTRIBUTES, &[&ids]).await? {
        let (key, value) = (from_stored(row.get("key")), from_stored(row.get("value")));
        let attributes = found.entry(row.get("place")).or_default();
        attributes.extend(decode_attribute(&key, &value));
    }
    for (place, row) in (1..).zip(rows) {
        row.attributes = found.remove(&place).unwrap_or_default();
    }
    Ok(())
}

// What the running execution wrote decides.
const ATTRIBUTES: &str = "SELECT k.place, v.key, v.value
     FROM unnest($1::TEXT[]) WITH ORDINALITY AS k (id, place)
     CROSS JOIN LATERAL (
         SELECT d.key, d.value FROM {schema}.kv_delta d
         WHERE d.instance_id = k.id AND d.key >= '__duroxide_attribute:'
             AND d.key < '__duroxide_attribute;' AND d.value IS NOT NULL
         UNION ALL
         SELECT s.key, s.value FROM {schema}.kv_store s
         WHERE s.instance_id = k.id AND s.key >= '__duroxide_attribute:'
             AND s.key < '__duroxide_attribute;' AND (
                 SELECT 1 FROM {schema}.kv_delta d
                 WHERE d.instance_id = k.id AND d.key = s.key) IS NULL
         LIMIT 1000) AS v";
