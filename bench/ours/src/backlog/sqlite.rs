//! The backlog on SQLite.

use rusqlite::{Connection, params};

use super::{Backlog, FAR};
use crate::template;

const NUMBERS: &str =
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)";

/// Adds a backlog next to the copies of the template; returns the number of rows.
pub(crate) fn add(backlog: Backlog, conn: &Connection, count: i64) -> rusqlite::Result<usize> {
    match backlog {
        Backlog::ForeignPins => add_foreign_pins(conn),
        Backlog::LeasedInstance => add_leased_instance(conn, count),
        Backlog::ForeignSession => add_foreign_session(conn, count),
        Backlog::Parked => add_parked(conn, count),
    }
}

fn add_foreign_pins(conn: &Connection) -> rusqlite::Result<usize> {
    conn.execute(
        "UPDATE executions SET duroxide_version = '99.0.0', duroxide_version_major = 99,
             duroxide_version_minor = 0, duroxide_version_patch = 0
         WHERE instance_id <> ?1",
        [template::ID],
    )?;
    conn.execute(
        "INSERT INTO orchestrator_queue (instance_id, work_item, visible_at, created_at, route)
         SELECT instance_id, json_object('ExternalRaised', json_object(
             'instance', instance_id, 'name', 'Unheard', 'data', '')), 1, 1,
             orchestration_name || char(1) || orchestration_version || char(1) || '99.0.0'
         FROM instances WHERE instance_id <> ?1",
        [template::ID],
    )
}

fn add_leased_instance(conn: &Connection, count: i64) -> rusqlite::Result<usize> {
    conn.execute(
        "INSERT INTO instance_locks (instance_id, lock_token, locked_until, locked_at)
         VALUES (?1, 'another node', ?2, 1)",
        params![template::ID, FAR],
    )?;
    conn.execute(
        &format!(
            "{NUMBERS}
             INSERT INTO orchestrator_queue (instance_id, work_item, visible_at, created_at, route)
             SELECT ?2, json_object('ExternalRaised', json_object(
                 'instance', ?2, 'name', 'Unheard', 'data', '')), 1, 1, NULL FROM n"
        ),
        params![count, template::ID],
    )
}

fn add_foreign_session(conn: &Connection, count: i64) -> rusqlite::Result<usize> {
    conn.execute(
        "INSERT INTO sessions (session_id, worker_id, locked_until, last_activity_at)
         VALUES ('foreign', 'another worker', ?1, ?1)",
        [FAR],
    )?;
    conn.execute(
        &format!(
            "{NUMBERS}
             INSERT INTO worker_queue (work_item, created_at, instance_id, execution_id,
                 activity_id, session_id, lane)
             SELECT json_object('ActivityExecute', json_object('instance', ?2, 'execution_id', 1,
                 'id', i, 'name', 'Unknown', 'input', '', 'session_id', 'foreign')),
                 1, ?2, 1, i, 'foreign', 2 FROM n"
        ),
        params![count, template::ID],
    )
}

fn add_parked(conn: &Connection, count: i64) -> rusqlite::Result<usize> {
    conn.execute(
        &format!(
            "{NUMBERS}
             INSERT INTO orchestrator_queue
                 (instance_id, work_item, visible_at, created_at, parked, route)
             SELECT 'unknown-' || i, json_object('ExternalRaised', json_object(
                 'instance', 'unknown-' || i, 'name', 'Unheard', 'data', '')), 1, 1, 1, NULL
             FROM n"
        ),
        [count],
    )
}
