//! Instances that an operator's call holds.
//!
//! A hold is a short suspension whose token the caller knows: a commit under it is that of a turn
//! without messages. If nothing is committed, it expires like a suspension.

use std::time::Instant;

use duroxide_core::model::ExecutionStatus;
use duroxide_core::providers::{
    HeldInstance, ProviderErrorKind, ScheduledActivityIdentifier, WorkItem,
};
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::JobError;
use crate::queues::{cancelled_turns, client_message, ready_messages};
use crate::read::{history, inspect};
use crate::schema::number::{from_db, to_db};
use crate::schema::stored_text::{stored_integer, stored_text};
use crate::write::slices::Slice;
use crate::write::writer::Tx;
use crate::{deletion_slices, limits, suspension};

/// Holds an instance that has not ended, in place of any other holder.
pub(crate) fn hold(
    tx: &mut Tx<'_>,
    instance: &str,
    lock_for: i64,
) -> Result<HeldInstance, JobError> {
    let status = stored_status(tx.conn, instance)?;
    // A new instance with the id of a deleted one starts after the old rows are gone.
    let is_unknown = || -> Result<bool, JobError> {
        Ok(deletion_slices::hides(tx.conn, instance, None)?
            || !client_message::is_known(tx.conn, instance)?)
    };
    if status.is_none() && is_unknown()? {
        return Err(inspect::not_found(instance));
    }
    if let Some(status @ (ExecutionStatus::Completed | ExecutionStatus::Failed)) = status {
        let text = format!("Instance {instance} has ended: {}", status.as_str());
        return Err(JobError::refused(ProviderErrorKind::Conflict, text));
    }
    let earlier = suspension::end_other_lease(tx, instance)?;
    let until = tx.now.saturating_add(lock_for).max(earlier.unwrap_or(i64::MIN));
    let lock_token = suspension::lock(tx, instance, until)?;
    let execution_id = history::current_execution(tx.conn, instance)?;
    let start = match status {
        Some(ExecutionStatus::ContinuedAsNew) => queued_start(tx.conn, instance, 1)?,
        Some(_) => None,
        None => queued_start(tx.conn, instance, 2)?,
    };
    Ok(HeldInstance::new(lock_token, execution_id)
        .with_status(status)
        .with_last_event_id(history::last_event(tx.conn, instance, execution_id)?)
        .with_start(start)
        .with_activities(activities(tx.conn, instance)?)
        .with_cancellations(cancelled_turns::reasons(tx.conn, tx.now, instance)?))
}

/// The status of the current execution; one that cannot be read is running.
pub(crate) fn stored_status(
    conn: &Connection,
    instance: &str,
) -> Result<Option<ExecutionStatus>, JobError> {
    let status = conn
        .prepare_cached(
            "SELECT coalesce(e.status, '') FROM instances i
             LEFT JOIN executions e
                 ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
             WHERE i.instance_id = ?1",
        )?
        .query_row([instance], |row| stored_text(row, 0))
        .optional()?;
    Ok(status.map(|text| ExecutionStatus::parse(&text).unwrap_or(ExecutionStatus::Running)))
}

/// The first queued message that starts an execution, up to this rank.
fn queued_start(
    conn: &Connection,
    instance: &str,
    rank_max: i64,
) -> Result<Option<WorkItem>, JobError> {
    let text = conn
        .prepare_cached(
            "SELECT work_item FROM orchestrator_queue INDEXED BY idx_orch_start
             WHERE instance_id = ?1 AND start_rank > 0 AND start_rank <= ?2
             ORDER BY start_rank, id LIMIT 1",
        )?
        .query_row(params![instance, rank_max], |row| stored_text(row, 0))
        .optional()?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

fn activities(
    conn: &Connection,
    instance: &str,
) -> Result<Vec<ScheduledActivityIdentifier>, JobError> {
    let mut statement = conn.prepare_cached(
        "SELECT execution_id, activity_id FROM worker_queue
         WHERE instance_id = ?1 AND execution_id IS NOT NULL AND activity_id IS NOT NULL
         ORDER BY execution_id, activity_id",
    )?;
    let rows = statement.query_map([instance], |row| {
        let number = |column| Ok::<_, rusqlite::Error>(stored_integer(row, column)?.map(from_db));
        Ok((number(0)?, number(1)?))
    })?;
    let mut found = Vec::new();
    for row in rows {
        if let (Some(execution_id), Some(activity_id)) = row? {
            let instance = instance.to_owned();
            found.push(ScheduledActivityIdentifier { instance, execution_id, activity_id });
        }
    }
    Ok(found)
}

/// Removes messages of an instance that has ended, for as long as a slice lasts. Child starts stay:
/// the node that drains them notifies their parents.
pub(crate) fn discard_late(tx: &mut Tx<'_>, instance: &str) -> Result<Slice<u64>, JobError> {
    let started = Instant::now();
    let mut done = 0;
    let status = stored_status(tx.conn, instance)?;
    if !matches!(status, Some(ExecutionStatus::Completed | ExecutionStatus::Failed)) {
        return Ok(Slice { done, is_last: true });
    }
    while started.elapsed() < limits::DELETION_SLICE_MAX {
        let removed = tx
            .conn
            .prepare_cached(
                "DELETE FROM orchestrator_queue WHERE id IN (
                     SELECT id FROM orchestrator_queue
                     WHERE instance_id = ?1 AND parked = 0 AND (start_rank < 2 OR json_extract(
                         iif(json_valid(work_item), work_item, '{}'),
                         '$.StartOrchestration.parent_instance') IS NULL)
                     LIMIT ?2)",
            )?
            .execute(params![instance, limits::DELETED_PER_STATEMENT])?;
        done += removed as u64;
        if to_db(removed as u64) < limits::DELETED_PER_STATEMENT {
            ready_messages::list_first(tx, instance)?;
            return Ok(Slice { done, is_last: true });
        }
    }
    ready_messages::list_first(tx, instance)?;
    Ok(Slice { done, is_last: false })
}
