//! Which messages the index of ready messages lists.
//!
//! The index lists a message by setting its route: the key of the code that the next turn of its
//! instance needs, and the pin of the instance. It lists one for each instance without a lease: the
//! first that becomes visible. The others stand behind it, so that a fetch reads one row for each
//! instance, however many messages wait. Rules:
//!
//! 1. A message is listed when it arrives, unless an earlier one of its instance is in the queue.
//! 2. A lease takes the messages of its turn off the list; its end lists the first of the rest.
//! 3. What changes the route of an instance moves what is listed: a commit that starts, pins or
//!    ends an execution, and a start that arrives behind other messages. An instance with a
//!    million messages may continue as new often: such a change reads neither them nor what is
//!    listed of others.
//! 4. A listed message of a leased instance does no harm: the next fetch takes it off the list.

use rusqlite::{Connection, OptionalExtension, params};

use crate::error::JobError;
use crate::schema::stored_text::stored_integer;
use crate::write::writer::Tx;

/// Lists the first message of an instance without a lease; returns when it becomes visible.
pub(crate) fn list_first(tx: &mut Tx<'_>, instance: &str) -> Result<Option<i64>, JobError> {
    let first = tx
        .conn
        .prepare_cached(FIRST_SQL)?
        .query_row([instance], |row| Ok((row.get(0)?, stored_integer(row, 1)?, row.get(2)?)))
        .optional()?;
    let Some((id, visible_at, is_listed)): Option<(i64, Option<i64>, bool)> = first else {
        return Ok(None);
    };
    if !is_listed {
        let route = route_of(tx.conn, instance)?;
        tx.conn
            .prepare_cached("UPDATE orchestrator_queue SET route = ?2 WHERE id = ?1")?
            .execute(params![id, route])?;
        // A fetch that waits does not know when it becomes visible.
        tx.changes.orchestrator_queue();
    }
    Ok(visible_at)
}

pub(crate) const FIRST_SQL: &str = "SELECT id, visible_at, route IS NOT NULL
     FROM orchestrator_queue INDEXED BY idx_orch_instance
     WHERE instance_id = ?1 AND parked = 0 ORDER BY visible_at LIMIT 1";

/// Lists the first message of an instance without a lease, and moves what is listed to its current
/// route; returns when the first becomes visible. For a change of the route.
pub(crate) fn list_rerouted(tx: &mut Tx<'_>, instance: &str) -> Result<Option<i64>, JobError> {
    let first = list_first(tx, instance)?;
    if first.is_some() {
        reroute(tx.conn, instance)?;
    }
    Ok(first)
}

/// Moves what is listed of an instance to its current route.
///
/// That is the first message, and perhaps some that become visible later: each was the first until
/// an earlier one came. A message that is visible at once stays behind those before it.
pub(crate) fn reroute(conn: &Connection, instance: &str) -> Result<(), JobError> {
    let route = route_of(conn, instance)?;
    conn.prepare_cached(
        "UPDATE orchestrator_queue SET route = ?2
         WHERE route IS NOT NULL AND route <> ?2 AND id = (
             SELECT id FROM orchestrator_queue INDEXED BY idx_orch_instance
             WHERE instance_id = ?1 AND parked = 0 ORDER BY visible_at LIMIT 1)",
    )?
    .execute(params![instance, route])?;
    conn.prepare_cached(REROUTE_LATER_SQL)?.execute(params![instance, route])?;
    Ok(())
}

pub(crate) const REROUTE_LATER_SQL: &str =
    "UPDATE orchestrator_queue INDEXED BY idx_orch_later SET route = ?2
     WHERE instance_id = ?1 AND route IS NOT NULL AND visible_at > created_at
         AND route <> ?2";

/// Moves what is listed of the messages from `first` on, which this transaction has added.
pub(crate) fn route_new(conn: &Connection, instance: &str, first: i64) -> Result<(), JobError> {
    let route = route_of(conn, instance)?;
    // Read by id: these are the last messages of the table, however many the instance has.
    conn.prepare_cached(
        "UPDATE orchestrator_queue SET route = ?2
         WHERE id >= ?3 AND +instance_id = ?1 AND +parked = 0
             AND +route IS NOT NULL AND +route <> ?2",
    )?
    .execute(params![instance, route, first])?;
    Ok(())
}

/// Takes a message off the list.
pub(crate) fn unlist(conn: &Connection, message: i64) -> Result<(), JobError> {
    conn.prepare_cached("UPDATE orchestrator_queue SET route = NULL WHERE id = ?1")?
        .execute([message])?;
    Ok(())
}

/// Takes all messages of an instance off the list.
pub(crate) fn unlist_all(conn: &Connection, instance: &str) -> Result<(), JobError> {
    conn.prepare_cached(
        "UPDATE orchestrator_queue SET route = NULL
         WHERE instance_id = ?1 AND parked = 0 AND route IS NOT NULL",
    )?
    .execute([instance])?;
    Ok(())
}

/// The pin at the end of a route, and the code key before it.
pub(crate) fn parts(route: &str) -> (&str, &str) {
    // No pin contains the character that ends a key.
    route.split_at(route.rfind(KEY_END).map_or(0, |end| end + KEY_END.len_utf8()))
}

const KEY_END: char = '\u{1}';

/// The route of an instance: the code that its next turn needs (`NeededCode`) and the pin of its
/// current execution. An instance that is not stored has no pin, even if a turn without its name
/// has stored a pinned execution; nor has one that has ended, whose messages any node can drain.
pub(crate) fn route_of(conn: &Connection, instance: &str) -> Result<String, JobError> {
    let route = conn
        .prepare_cached(
            "SELECT coalesce((
                 SELECT CASE
                     WHEN e.status = 'Running' AND typeof(i.orchestration_name) = 'text'
                         AND typeof(i.orchestration_version) = 'text' THEN
                         i.orchestration_name || '\u{1}' || i.orchestration_version || '\u{1}'
                     WHEN e.status = 'ContinuedAsNew' THEN coalesce((
                         SELECT s.code FROM orchestrator_queue s INDEXED BY idx_orch_start
                         WHERE s.instance_id = ?1 AND s.start_rank = 1 AND s.start_rank > 0
                         ORDER BY s.id LIMIT 1), '\u{1}\u{1}')
                     ELSE '\u{1}\u{1}' END
                 || iif(typeof(e.duroxide_version) = 'text'
                         AND e.status NOT IN ('Completed', 'Failed'), e.duroxide_version, '')
                 FROM instances i JOIN executions e
                     ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
                 WHERE i.instance_id = ?1), (
                 SELECT f.code FROM orchestrator_queue f WHERE f.id = (
                     SELECT min(s.id) FROM orchestrator_queue s INDEXED BY idx_orch_start
                     WHERE s.instance_id = ?1 AND s.start_rank > 0)),
                 '\u{1}\u{1}')",
        )?
        .query_row([instance], |row| row.get(0))?;
    Ok(route)
}
