//! What is stored of one instance, as it is carried into another store.

use duroxide_core::providers::{
    CopiedActivity, CopiedEvent, CopiedExecution, CopiedKey, CopiedMessage, CopiedMessageId,
    CopiedProgress, CopySection, InstanceCopy, InstanceCopyQuery, InstanceHead,
};
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};

use crate::error::JobError;
use crate::read::history::PartSize;
use crate::schema::number::{from_db, to_db};
use crate::schema::stored_text::{stored_attempts, stored_id, stored_integer, stored_text};
use crate::{deletion_slices, limits, suspension};

/// One part of a section.
pub(crate) fn part(conn: &Connection, query: &InstanceCopyQuery) -> Result<InstanceCopy, JobError> {
    let instance = query.instance.as_str();
    let mut copy = InstanceCopy::new(instance);
    if deletion_slices::hides(conn, instance, None)? {
        return Ok(copy);
    }
    let rows_max = to_db(limits::EVENTS_PER_READ_MAX as u64);
    match &query.section {
        CopySection::Head => copy.head = head(conn, instance)?,
        CopySection::Executions { after } => {
            let values = params![instance, to_db(*after), rows_max];
            copy.executions = rows(conn, EXECUTIONS_SQL, values, execution)?;
        }
        CopySection::Events { execution_id, after } => {
            let values = params![instance, to_db(*execution_id), to_db(*after), rows_max];
            copy.events = rows(conn, EVENTS_SQL, values, |row| {
                let text = stored_text(row, 1)?;
                let size = text.len();
                Ok((CopiedEvent::new(*execution_id, from_db(row.get(0)?), text), size))
            })?;
        }
        CopySection::Keys => copy.keys = keys(conn, instance)?,
        CopySection::MessageIds { after } => {
            let after = after.as_deref().unwrap_or_default();
            copy.message_ids = rows(conn, IDS_SQL, params![instance, after, rows_max], message_id)?;
        }
        CopySection::Activities { after } => {
            let values = params![instance, to_db(*after), rows_max];
            copy.activities = rows(conn, ACTIVITIES_SQL, values, activity)?;
        }
        CopySection::Messages { after } => {
            let values = params![instance, to_db(*after), rows_max];
            copy.messages = rows(conn, MESSAGES_SQL, values, message)?;
        }
        _ => return Err(JobError::Broken("a section that this provider does not know".into())),
    }
    Ok(copy)
}

/// As many rows as one read returns. `decode` returns the size of a row, too.
fn rows<T>(
    conn: &Connection,
    sql: &str,
    values: &[&dyn ToSql],
    mut decode: impl FnMut(&Row<'_>) -> rusqlite::Result<(T, usize)>,
) -> Result<Vec<T>, JobError> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    let (mut found, mut bytes) = (Vec::new(), 0);
    while bytes < PartSize::OF_A_READ.bytes
        && let Some(row) = rows.next()?
    {
        let (value, size) = decode(row)?;
        bytes += size;
        found.push(value);
    }
    Ok(found)
}

fn head(conn: &Connection, instance: &str) -> Result<Option<InstanceHead>, JobError> {
    let head = conn
        .prepare_cached(
            "SELECT orchestration_name, orchestration_version, current_execution_id, created_at,
                 updated_at, parent_instance_id, custom_status, custom_status_version
             FROM instances WHERE instance_id = ?1",
        )?
        .query_row([instance], |row| {
            let mut head = InstanceHead::default();
            head.orchestration_name = stored_text(row, 0)?;
            head.orchestration_version = stored_text(row, 1)?;
            head.current_execution_id = number(row, 2)?;
            head.created_at_ms = number(row, 3)?;
            head.updated_at_ms = number(row, 4)?;
            head.parent_instance_id = stored_id(row, 5)?;
            head.custom_status = stored_id(row, 6)?;
            head.custom_status_version = number(row, 7)?;
            Ok(head)
        })
        .optional()?;
    let Some(mut head) = head else { return Ok(None) };
    head.suspension = suspension::read(conn, instance)?.map(Into::into);
    Ok(Some(head))
}

fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(time(row, column)?.unwrap_or(0))
}

fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<u64>> {
    Ok(stored_integer(row, column)?.map(from_db))
}

const EXECUTIONS_SQL: &str = "SELECT e.execution_id, e.status, e.output, e.started_at,
         e.completed_at, e.duroxide_version, (
             SELECT count(*) FROM history h
             WHERE h.instance_id = e.instance_id AND h.execution_id = e.execution_id)
     FROM executions e
     WHERE e.instance_id = ?1 AND e.execution_id > ?2 AND NOT EXISTS (
         SELECT 1 FROM deletions d
         WHERE d.instance_id = e.instance_id AND d.execution_id = e.execution_id)
     ORDER BY e.execution_id LIMIT ?3";

fn execution(row: &Row<'_>) -> rusqlite::Result<(CopiedExecution, usize)> {
    let mut found = CopiedExecution::default();
    found.execution_id = number(row, 0)?;
    found.status = stored_text(row, 1)?;
    found.output = stored_id(row, 2)?;
    found.started_at_ms = time(row, 3)?.filter(|at| *at > 0);
    found.completed_at_ms = time(row, 4)?;
    found.pin = stored_id(row, 5)?;
    found.events = number(row, 6)?;
    let size = found.output.as_ref().map_or(0, String::len);
    Ok((found, size))
}

const EVENTS_SQL: &str = "SELECT event_id, event_data FROM history
     WHERE instance_id = ?1 AND execution_id = ?2 AND event_id > ?3
         AND NOT EXISTS (
             SELECT 1 FROM deletions d WHERE d.instance_id = ?1 AND d.execution_id = ?2)
     ORDER BY event_id LIMIT ?4";

fn keys(conn: &Connection, instance: &str) -> Result<Vec<CopiedKey>, JobError> {
    let mut statement = conn.prepare_cached(
        "SELECT key, value, last_updated_at_ms, 0 AS current FROM kv_store WHERE instance_id = ?1
         UNION ALL SELECT key, value, last_updated_at_ms, 1 FROM kv_delta WHERE instance_id = ?1
         ORDER BY current, key",
    )?;
    let found = statement.query_map([instance], |row| {
        let mut key = CopiedKey::default();
        key.key = stored_text(row, 0)?;
        key.value = stored_id(row, 1)?;
        // When a key was removed does not matter.
        key.updated_at_ms = key.value.as_ref().map_or(Ok(0), |_| number(row, 2))?;
        key.is_current = row.get(3)?;
        Ok(key)
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

const IDS_SQL: &str = "SELECT message_id, expires_at FROM message_ids
     WHERE instance_id = ?1 AND message_id > ?2 ORDER BY message_id LIMIT ?3";

fn message_id(row: &Row<'_>) -> rusqlite::Result<(CopiedMessageId, usize)> {
    let mut found = CopiedMessageId::default();
    found.id = stored_text(row, 0)?;
    found.expires_at_ms = number(row, 1)?;
    let size = found.id.len();
    Ok((found, size))
}

// A lease that may be the start of an activity has met its limit.
const ACTIVITIES_SQL: &str = "SELECT id, work_item, execution_id, activity_id, created_at,
         visible_at, attempt_count, vouched, session_id, tag, iif(starting = 0, start_by, NULL),
         progress, progress_at, progress_attempt
     FROM worker_queue
     WHERE instance_id = ?1 AND id > ?2 AND execution_id IS NOT NULL AND activity_id IS NOT NULL
     ORDER BY id LIMIT ?3";

fn activity(row: &Row<'_>) -> rusqlite::Result<(CopiedActivity, usize)> {
    let mut found = CopiedActivity::default();
    found.place = number(row, 0)?;
    found.item = stored_text(row, 1)?;
    found.execution_id = number(row, 2)?;
    found.activity_id = number(row, 3)?;
    found.queued_at_ms = number(row, 4)?;
    found.visible_at_ms = number(row, 5)?;
    found.attempts = stored_attempts(row, 6)?;
    found.vouched = stored_attempts(row, 7)?;
    found.session_id = stored_id(row, 8)?;
    found.tag = stored_id(row, 9)?;
    found.start_by_ms = time(row, 10)?;
    if let Some(text) = stored_id(row, 11)? {
        let mut progress = CopiedProgress::default();
        progress.text = text;
        progress.at_ms = number(row, 12)?;
        progress.attempt = stored_attempts(row, 13)?;
        found.progress = Some(progress);
    }
    let size = found.item.len() + found.progress.as_ref().map_or(0, |it| it.text.len());
    Ok((found, size))
}

const MESSAGES_SQL: &str = "SELECT id, work_item, visible_at, created_at, attempt_count, excused,
         parked
     FROM orchestrator_queue WHERE instance_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3";

fn message(row: &Row<'_>) -> rusqlite::Result<(CopiedMessage, usize)> {
    let mut found = CopiedMessage::default();
    found.place = number(row, 0)?;
    found.item = stored_text(row, 1)?;
    found.visible_at_ms = number(row, 2)?;
    found.queued_at_ms = number(row, 3)?;
    found.attempts = stored_attempts(row, 4)?;
    found.excused = stored_attempts(row, 5)?;
    found.is_parked = row.get(6)?;
    let size = found.item.len();
    Ok((found, size))
}
