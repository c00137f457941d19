//! Rows of instances, and what is added to them.

use duroxide_core::model::{Attributes, ExecutionStatus};
use duroxide_core::providers::kit::{decode_attribute, decode_event, from_db, to_db};
use duroxide_core::query::{ErrorCategory, InstanceFailure, InstanceRow, RowStatus};
use duroxide_core::{EventKind, limits::MAX_ROW_TEXT};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::JobError;
use crate::read::status::instance_status;
use crate::schema::stored_text::{stored_id, stored_integer, stored_text};

/// The rows of instances that are stored and whose execution has none of the excluded statuses.
pub(super) fn read(
    conn: &Connection,
    ids: &[String],
    excluded: &[ExecutionStatus],
    now: u64,
) -> Result<Vec<InstanceRow>, JobError> {
    // An empty text is no status.
    let excluded: [&str; 4] =
        std::array::from_fn(|place| excluded.get(place).map_or("", |status| status.as_str()));
    let [one, two, three, four] = excluded;
    let length = to_db(MAX_ROW_TEXT as u64);
    let mut statement = conn.prepare_cached(ROW_SQL)?;
    let mut found = Vec::new();
    for id in ids {
        let row = statement
            .query_row(params![id, length, one, two, three, four], |row| instance(id, row, now))
            .optional()?;
        found.extend(row);
    }
    Ok(found)
}

pub(super) const ROW_SQL: &str = concat!(
    "SELECT i.orchestration_name, i.orchestration_version, i.current_execution_id, i.created_at,
         i.updated_at, i.parent_instance_id, substr(i.custom_status, 1, ?2), i.suspended_since,
         substr(i.suspended_reason, 1, ?2), ",
    instance_status!(),
    ", CASE WHEN e.status = 'Failed' THEN substr(e.output, 1, ?2) END, e.completed_at,
         e.duroxide_version
     FROM instances i
     LEFT JOIN executions e
         ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
     WHERE i.instance_id = ?1 AND coalesce(",
    instance_status!(),
    ", 'Running') NOT IN (?3, ?4, ?5, ?6)"
);

fn instance(id: &str, row: &Row<'_>, now: u64) -> rusqlite::Result<InstanceRow> {
    let number = |column| Ok::<_, rusqlite::Error>(stored_integer(row, column)?.map_or(0, from_db));
    let is_suspended = row.get_ref(7)? != ValueRef::Null;
    let status = RowStatus::of_stored(&stored_text(row, 9)?, is_suspended);
    let ended = stored_integer(row, 11)?.map(from_db);
    let mut found = InstanceRow::new(id, stored_text(row, 0)?, status).with_times(
        number(3)?,
        number(4)?,
        ended,
        now,
    );
    found.orchestration_version = stored_text(row, 1)?;
    found.executions = number(2)?;
    found.parent_instance_id = stored_id(row, 5)?;
    found.custom_status = stored_id(row, 6)?;
    if status == RowStatus::Suspended {
        found.suspended_reason = Some(stored_text(row, 8)?);
    }
    if status == RowStatus::Failed {
        found.error = Some(InstanceFailure::new(None, stored_text(row, 10)?));
    }
    found.pin = stored_id(row, 12)?;
    Ok(found)
}

/// The categories of the errors that ended these executions.
pub(super) fn categories(
    conn: &Connection,
    executions: &[(String, u64)],
) -> Result<Vec<Option<ErrorCategory>>, JobError> {
    let mut statement = conn.prepare_cached(END_SQL)?;
    let mut found = Vec::new();
    for (instance, execution_id) in executions {
        let text = statement
            .query_row(params![instance, to_db(*execution_id)], |row| stored_text(row, 0))
            .optional()?;
        found.push(text.as_deref().and_then(category));
    }
    Ok(found)
}

// Only cancellations follow the event that ends an execution.
pub(super) const END_SQL: &str = "SELECT event_data FROM history
     WHERE instance_id = ?1 AND execution_id = ?2 AND event_type = 'OrchestrationFailed'
     ORDER BY event_id DESC LIMIT 1";

/// The category in a stored event; `None` if it cannot be decoded.
fn category(text: &str) -> Option<ErrorCategory> {
    let EventKind::OrchestrationFailed { details } = decode_event(text).ok()?.kind else {
        return None;
    };
    Some(ErrorCategory::of(&details))
}

/// The attributes of these instances.
pub(super) fn attributes(conn: &Connection, ids: &[String]) -> Result<Vec<Attributes>, JobError> {
    let mut statement = conn.prepare_cached(ATTRIBUTES_SQL)?;
    let mut found = Vec::new();
    for id in ids {
        let mut attributes = Attributes::new();
        let mut rows = statement.query([id])?;
        while let Some(row) = rows.next()? {
            attributes.extend(decode_attribute(&stored_text(row, 0)?, &stored_text(row, 1)?));
        }
        found.push(attributes);
    }
    Ok(found)
}

// What the running execution wrote decides.
pub(super) const ATTRIBUTES_SQL: &str = "SELECT key, value FROM kv_delta
     WHERE instance_id = ?1 AND key >= '__duroxide_attribute:' AND key < '__duroxide_attribute;'
         AND value IS NOT NULL
     UNION ALL
     SELECT s.key, s.value FROM kv_store s
     WHERE s.instance_id = ?1 AND s.key >= '__duroxide_attribute:'
         AND s.key < '__duroxide_attribute;' AND NOT EXISTS (
             SELECT 1 FROM kv_delta d WHERE d.instance_id = ?1 AND d.key = s.key)";
