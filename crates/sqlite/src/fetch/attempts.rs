//! Which attempts of a message do not count towards poison.

use rusqlite::{OptionalExtension, params};

use crate::error::JobError;
use crate::fetch::messages::QueuePart;
use crate::fetch::turn_lock::{self, TurnToken};
use crate::write::writer::Tx;

/// Excuses the last attempt of the messages that an expired lease of the instance held, unless the
/// code of their turn was running.
pub(crate) fn excuse_expired(tx: &Tx<'_>, instance: &str) -> Result<(), JobError> {
    let expired = tx
        .conn
        .prepare_cached(
            "SELECT lock_token, last_visible_at, last_id, start_id, has_start, running
             FROM instance_locks WHERE instance_id = ?1 AND locked_until <= ?2",
        )?
        .query_row(params![instance, tx.now], |row| {
            Ok((row.get::<_, String>(0)?, QueuePart::read(row, 1)?, row.get::<_, bool>(5)?))
        })
        .optional()?;
    let Some((mark, part, running)) = expired else { return Ok(()) };
    tx.conn
        .prepare_cached(&format!(
            "UPDATE orchestrator_queue SET excused = {EXCUSED_SQL}
             WHERE instance_id = ?3 AND parked = 0 AND visible_at <= ?4 AND lock_token = ?1
                 AND (visible_at < ?4 OR id <= ?5)"
        ))?
        .execute(params![mark, running, instance, part.last_visible_at, part.last_id])?;
    if let Some(single) = part.single_id {
        tx.conn
            .prepare_cached(&format!(
                "UPDATE orchestrator_queue SET excused = {EXCUSED_SQL}
                 WHERE id = ?3 AND lock_token = ?1"
            ))?
            .execute(params![mark, running, single])?;
    }
    Ok(())
}

// Some attempts count without proof: what ends its node outside its code must be poison in the end.
const EXCUSED_SQL: &str = "CASE
         WHEN ?2 AND attempt_count <= 2 THEN 0
         WHEN ?2 OR attempt_count % 10 = 0 THEN excused
         ELSE excused + 1
     END";

/// Marks whether the code of a turn runs; returns how many of its attempts are excused.
pub(crate) fn mark_running(tx: &mut Tx<'_>, token: &str, running: bool) -> Result<u32, JobError> {
    let lock = turn_lock::find(tx.conn, token)?;
    let TurnToken { mark, instance } = lock.token;
    tx.conn
        .prepare_cached("UPDATE instance_locks SET running = ?2 WHERE instance_id = ?1")?
        .execute(params![instance, running])?;
    let part = lock.part;
    let excused: i64 = tx
        .conn
        .prepare_cached(
            "SELECT coalesce(max(attempt_count) - max(attempt_count - excused), 0)
             FROM orchestrator_queue
             WHERE lock_token = ?4 AND (id = ?5 OR (instance_id = ?1 AND parked = 0
                 AND visible_at <= ?2 AND (visible_at < ?2 OR id <= ?3)))",
        )?
        .query_row(
            params![instance, part.last_visible_at, part.last_id, mark, part.single_id],
            |row| row.get(0),
        )?;
    Ok(u32::try_from(excused).unwrap_or(0))
}
