//! Reading events.

use duroxide_core::Event;
use duroxide_core::model::INITIAL_EXECUTION_ID;
use duroxide_core::providers::kit::{decode_event, decode_start_event, has_started};
use duroxide_core::providers::{HistoryMark, InstanceOutcome, InstanceStatus};
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::{During, JobError};
use crate::read::inspect;
use crate::schema::number::{from_db, to_db};
use crate::schema::stored_text::{stored_integer, stored_text};
use crate::{deletion_slices, limits};

/// Consecutive events of an execution.
#[derive(Debug, Default)]
pub(crate) struct HistoryPart {
    pub(crate) texts: Vec<String>,
    pub(crate) bytes: usize,
    /// The last of them.
    pub(crate) last: u64,
    /// Whether more follow.
    pub(crate) more: bool,
}

/// How much of a history to read at once; at least one event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PartSize {
    pub(crate) events: usize,
    pub(crate) bytes: usize,
}

impl PartSize {
    /// What one read returns.
    pub(crate) const OF_A_READ: Self =
        Self { events: limits::EVENTS_PER_READ_MAX, bytes: limits::BYTES_PER_READ_MAX };
    /// What a fetch reads on the writer thread.
    pub(crate) const INLINE: Self =
        Self { events: limits::INLINE_EVENTS_MAX, bytes: limits::INLINE_BYTES_MAX };
}

/// Stored events after `event_id`, in order.
pub(crate) fn part_after(
    conn: &Connection,
    instance: &str,
    execution_id: u64,
    event_id: u64,
    size: PartSize,
) -> Result<HistoryPart, JobError> {
    let mut part = HistoryPart { last: event_id, ..HistoryPart::default() };
    let mut statement = conn.prepare_cached(
        "SELECT event_data, event_id FROM history
         WHERE instance_id = ?1 AND execution_id = ?2 AND event_id > ?3
         ORDER BY event_id",
    )?;
    let mut rows = statement.query(params![instance, to_db(execution_id), to_db(event_id)])?;
    while let Some(row) = rows.next()? {
        if part.texts.len() >= size.events || part.bytes >= size.bytes {
            part.more = true;
            break;
        }
        let text = stored_text(row, 0)?;
        part.last = from_db(row.get(1)?);
        part.bytes += text.len();
        part.texts.push(text);
    }
    Ok(part)
}

/// The last stored event of an execution.
pub(crate) fn last_event(
    conn: &Connection,
    instance: &str,
    execution_id: u64,
) -> Result<u64, JobError> {
    let last: Option<i64> = conn
        .prepare_cached(
            "SELECT max(event_id) FROM history WHERE instance_id = ?1 AND execution_id = ?2",
        )?
        .query_row(params![instance, to_db(execution_id)], |row| stored_integer(row, 0))?;
    Ok(last.map_or(0, from_db))
}

/// Whether the event at a mark is stored, as the commit that the mark names appended it.
pub(crate) fn has_event(
    conn: &Connection,
    instance: &str,
    mark: &HistoryMark,
) -> Result<bool, JobError> {
    let stored: Option<Option<i64>> = conn
        .prepare_cached(
            "SELECT commit_id FROM history
             WHERE instance_id = ?1 AND execution_id = ?2 AND event_id = ?3",
        )?
        .query_row(params![instance, to_db(mark.execution_id), to_db(mark.event_id)], |row| {
            stored_integer(row, 0)
        })
        .optional()?;
    Ok(stored.is_some_and(|commit_id| mark.matches_commit(commit_id.map(from_db))))
}

/// The highest execution that has events.
pub(crate) fn last_execution(conn: &Connection, instance: &str) -> Result<Option<u64>, JobError> {
    let last: Option<i64> = conn
        .prepare_cached("SELECT max(execution_id) FROM history WHERE instance_id = ?1")?
        .query_row([instance], |row| stored_integer(row, 0))?;
    Ok(last.map(from_db))
}

/// The first event of an execution.
pub(crate) fn first_text(
    conn: &Connection,
    instance: &str,
    execution_id: u64,
) -> Result<Option<String>, JobError> {
    Ok(conn
        .prepare_cached(
            "SELECT event_data FROM history WHERE instance_id = ?1 AND execution_id = ?2
             ORDER BY event_id LIMIT 1",
        )?
        .query_row(params![instance, to_db(execution_id)], |row| stored_text(row, 0))
        .optional()?)
}

/// The current execution of an instance; if that is unknown or damaged, the last or the first.
pub(crate) fn current_execution(conn: &Connection, instance: &str) -> Result<u64, JobError> {
    let stored: Option<i64> = conn
        .prepare_cached("SELECT current_execution_id FROM instances WHERE instance_id = ?1")?
        .query_row([instance], |row| stored_integer(row, 0))
        .optional()?
        .flatten();
    match stored {
        Some(execution_id) => Ok(from_db(execution_id)),
        None if deletion_slices::hides(conn, instance, None)? => Ok(INITIAL_EXECUTION_ID),
        None => Ok(last_execution(conn, instance)?.unwrap_or(INITIAL_EXECUTION_ID)),
    }
}

/// The state of the latest execution, from its last events.
pub(crate) fn outcome(conn: &Connection, instance: &str) -> Result<InstanceOutcome, JobError> {
    if deletion_slices::hides(conn, instance, None)? {
        return Ok(InstanceOutcome::NotFound);
    }
    let execution_id = current_execution(conn, instance)?;
    // Only cancellations follow a terminal event. While the status is running, the newest events
    // are enough: they hold a terminal one only if it was seeded without its status.
    let ended: Option<String> = conn
        .prepare_cached(
            "SELECT event_data FROM (
                 SELECT event_id, event_type, event_data FROM history
                 WHERE instance_id = ?1 AND execution_id = ?2
                 ORDER BY event_id DESC
                 LIMIT CASE (SELECT status FROM executions
                             WHERE instance_id = ?1 AND execution_id = ?2)
                     WHEN 'Running' THEN 16 ELSE -1 END)
             WHERE event_type IN ('OrchestrationCompleted', 'OrchestrationFailed')
             LIMIT 1",
        )?
        .query_row(params![instance, to_db(execution_id)], |row| stored_text(row, 0))
        .optional()?;
    if let Some(text) = ended {
        return Ok(InstanceOutcome::Ended(Box::new(decode_event(&text)?)));
    }
    let first = first_text(conn, instance, execution_id)?;
    Ok(if has_started(first.as_deref()) {
        InstanceOutcome::Running
    } else {
        InstanceOutcome::NotFound
    })
}

/// The state of the latest execution, with the custom status.
pub(crate) fn status(conn: &Connection, instance: &str) -> Result<InstanceStatus, JobError> {
    let outcome = outcome(conn, instance)?;
    let custom_status = if outcome == InstanceOutcome::NotFound {
        Ok(None)
    } else {
        inspect::custom_status(conn, instance, 0).during("get_custom_status")
    };
    Ok(InstanceStatus::new(outcome, custom_status))
}

/// The start event of the latest execution.
pub(crate) fn start_event(conn: &Connection, instance: &str) -> Result<Option<Event>, JobError> {
    if deletion_slices::hides(conn, instance, None)? {
        return Ok(None);
    }
    let execution_id = current_execution(conn, instance)?;
    let first = first_text(conn, instance, execution_id)?;
    Ok(decode_start_event(first.as_deref())?)
}
