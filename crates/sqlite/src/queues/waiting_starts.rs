//! Starts whose instance does not exist yet, as operators see them.

use duroxide_core::providers::kit::waiting_start;
use duroxide_core::providers::{WaitingStart, WaitingStartQuery};
use rusqlite::{Connection, Row, params};

use crate::error::JobError;
use crate::schema::number::from_db;
use crate::schema::stored_text::{stored_attempts, stored_integer, stored_text};

/// Starts of instances that do not exist yet, by instance.
pub(crate) fn starts(
    conn: &Connection,
    query: &WaitingStartQuery,
) -> Result<Vec<WaitingStart>, JobError> {
    let after = query.after.as_ref().map_or("", |after| after.as_str());
    let found: Vec<Option<WaitingStart>> = match &query.instance {
        Some(instance) => conn
            .prepare_cached(START_OF_INSTANCE_SQL)?
            .query_map(params![instance, after, query.limit], waiting)?
            .collect::<Result<_, _>>()?,
        None => conn
            .prepare_cached(WAITING_STARTS_SQL)?
            .query_map(params![after, query.limit], waiting)?
            .collect::<Result<_, _>>()?,
    };
    // What cannot be decoded is no start that could run.
    Ok(found.into_iter().flatten().collect())
}

// The oldest start of each instance: the other columns are those of the row with the least id.
const WAITING_STARTS_SQL: &str =
    "SELECT q.work_item, q.created_at, q.visible_at, q.attempt_count, min(q.id)
     FROM orchestrator_queue q INDEXED BY idx_orch_start
     WHERE q.start_rank > 0 AND q.start_rank = 2 AND q.instance_id > ?1
         AND NOT EXISTS (SELECT 1 FROM instances i WHERE i.instance_id = q.instance_id)
     GROUP BY q.instance_id ORDER BY q.instance_id LIMIT ?2";

const START_OF_INSTANCE_SQL: &str =
    "SELECT q.work_item, q.created_at, q.visible_at, q.attempt_count, min(q.id)
     FROM orchestrator_queue q INDEXED BY idx_orch_start
     WHERE q.start_rank > 0 AND q.start_rank = 2 AND q.instance_id = ?1 AND q.instance_id > ?2
         AND NOT EXISTS (SELECT 1 FROM instances i WHERE i.instance_id = q.instance_id)
     GROUP BY q.instance_id LIMIT ?3";

fn waiting(row: &Row<'_>) -> rusqlite::Result<Option<WaitingStart>> {
    let number = |column| Ok::<_, rusqlite::Error>(stored_integer(row, column)?.map_or(0, from_db));
    let (since, visible_at, attempts) = (number(1)?, number(2)?, stored_attempts(row, 3)?);
    let start = waiting_start(&stored_text(row, 0)?);
    Ok(start.map(|start| start.with_times(since, visible_at).with_attempts(attempts)))
}
