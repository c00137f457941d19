//! Progress that running activities report.

use duroxide_core::providers::ActivityProgress;
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::JobError;
use crate::queues::work_lock::{WorkToken, lost_lease};
use crate::schema::number::from_db;
use crate::schema::stored_text::{stored_attempts, stored_id, stored_integer, stored_text};
use crate::write::writer::Tx;

/// Stores a report under a live lease.
pub(crate) fn record(tx: &mut Tx<'_>, token: &str, progress: &str) -> Result<(), JobError> {
    let WorkToken { id, mark } = WorkToken::parse(token)?;
    let instance: Option<Option<String>> = tx
        .conn
        .prepare_cached(
            "UPDATE worker_queue
             SET progress = ?4, progress_at = ?3, progress_attempt = attempt_count
             WHERE id = ?1 AND lock_token = ?2 AND locked_until > ?3 RETURNING instance_id",
        )?
        .query_row(params![id, mark, tx.now, progress], |row| stored_id(row, 0))
        .optional()?;
    let Some(instance) = instance else { return Err(lost_lease()) };
    if let Some(instance) = instance {
        tx.changes.step(instance);
    }
    Ok(())
}

/// Reports of the unfinished activities of an instance, by execution and activity.
pub(crate) fn read(conn: &Connection, instance: &str) -> Result<Vec<ActivityProgress>, JobError> {
    let number = |row: &rusqlite::Row<'_>, column| {
        Ok::<_, rusqlite::Error>(from_db(stored_integer(row, column)?.unwrap_or(0)))
    };
    Ok(conn
        .prepare_cached(
            "SELECT execution_id, activity_id, progress_attempt, progress, progress_at,
                 CASE WHEN json_valid(work_item) THEN work_item ->> '$.ActivityExecute.name' END
             FROM worker_queue WHERE instance_id = ?1 AND progress IS NOT NULL
             ORDER BY execution_id, activity_id",
        )?
        .query_map([instance], |row| {
            Ok(ActivityProgress::new(number(row, 0)?, number(row, 1)?)
                .with_attempt(stored_attempts(row, 2)?)
                .with_progress(stored_text(row, 3)?)
                .with_updated_at_ms(number(row, 4)?)
                .with_activity_name(stored_id(row, 5)?.unwrap_or_default()))
        })?
        .collect::<Result<_, _>>()?)
}
