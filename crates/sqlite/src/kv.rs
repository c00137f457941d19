//! Key-value state: `kv_store` holds what finished executions left, `kv_delta` what the running one
//! wrote over it. A delta row without a value is a removal.

use std::collections::HashMap;

use duroxide_core::providers::KvEntry;
use duroxide_core::{Event, EventKind};
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::JobError;
use crate::number::{from_db, to_db};
use crate::stored_text::stored_text;
use crate::writer::Tx;

/// One change of the running execution.
#[derive(Debug)]
pub(crate) enum KvChange {
    Set { key: String, value: String, at: i64 },
    Clear { key: String },
    ClearAll,
}

/// The changes that events make, in order.
pub(crate) fn changes(events: &[Event]) -> Vec<KvChange> {
    events.iter().filter_map(change).collect()
}

fn change(event: &Event) -> Option<KvChange> {
    if let EventKind::KeyValueSet { key, value, last_updated_at_ms } = &event.kind {
        let at = to_db(*last_updated_at_ms);
        return Some(KvChange::Set { key: key.clone(), value: value.clone(), at });
    }
    if let EventKind::KeyValueCleared { key } = &event.kind {
        return Some(KvChange::Clear { key: key.clone() });
    }
    matches!(event.kind, EventKind::KeyValuesCleared).then_some(KvChange::ClearAll)
}

/// Writes changes of the running execution.
pub(crate) fn apply(tx: &Tx<'_>, instance: &str, changes: &[KvChange]) -> Result<(), JobError> {
    for change in changes {
        match change {
            KvChange::Set { key, value, at } => put(tx.conn, instance, key, Some(value), *at)?,
            KvChange::Clear { key } => put(tx.conn, instance, key, None, tx.now)?,
            KvChange::ClearAll => clear_all(tx, instance)?,
        }
    }
    Ok(())
}

fn put(
    conn: &Connection,
    instance: &str,
    key: &str,
    value: Option<&str>,
    at: i64,
) -> Result<(), JobError> {
    conn.prepare_cached(
        "INSERT INTO kv_delta (instance_id, key, value, last_updated_at_ms)
         VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (instance_id, key) DO UPDATE SET value = ?3, last_updated_at_ms = ?4",
    )?
    .execute(params![instance, key, value, at])?;
    Ok(())
}

fn clear_all(tx: &Tx<'_>, instance: &str) -> Result<(), JobError> {
    tx.conn
        .prepare_cached(
            "UPDATE kv_delta SET value = NULL, last_updated_at_ms = ?2 WHERE instance_id = ?1",
        )?
        .execute(params![instance, tx.now])?;
    tx.conn
        .prepare_cached(
            "INSERT INTO kv_delta (instance_id, key, value, last_updated_at_ms)
             SELECT instance_id, key, NULL, ?2 FROM kv_store WHERE instance_id = ?1
             ON CONFLICT (instance_id, key) DO NOTHING",
        )?
        .execute(params![instance, tx.now])?;
    Ok(())
}

/// Makes the writes of the execution that ended part of what the next one begins with.
pub(crate) fn merge(conn: &Connection, instance: &str) -> Result<(), JobError> {
    // Looking is much cheaper than changing nothing.
    let has_written =
        conn.prepare_cached("SELECT 1 FROM kv_delta WHERE instance_id = ?1")?.exists([instance])?;
    if !has_written {
        return Ok(());
    }
    conn.prepare_cached(
        "INSERT INTO kv_store (instance_id, key, value, last_updated_at_ms)
         SELECT instance_id, key, value, last_updated_at_ms FROM kv_delta
         WHERE instance_id = ?1 AND value IS NOT NULL
         ON CONFLICT (instance_id, key) DO UPDATE
         SET value = excluded.value, last_updated_at_ms = excluded.last_updated_at_ms",
    )?
    .execute([instance])?;
    conn.prepare_cached(
        "DELETE FROM kv_store WHERE instance_id = ?1 AND key IN
             (SELECT key FROM kv_delta WHERE instance_id = ?1 AND value IS NULL)",
    )?
    .execute([instance])?;
    conn.prepare_cached("DELETE FROM kv_delta WHERE instance_id = ?1")?.execute([instance])?;
    Ok(())
}

/// What a turn begins with: finished executions only, because replay repeats the running one.
pub(crate) fn snapshot(
    conn: &Connection,
    instance: &str,
) -> Result<HashMap<String, KvEntry>, JobError> {
    conn.prepare_cached(
        "SELECT key, value, last_updated_at_ms FROM kv_store WHERE instance_id = ?1",
    )?
    .query_and_then([instance], |row| {
        let key = stored_text(row, 0)?;
        let last_updated_at_ms = from_db(row.get(2).map_err(|error| damaged(&key, error))?);
        let value = row.get(1).map_err(|error| damaged(&key, error))?;
        Ok::<_, JobError>((key, KvEntry { value, last_updated_at_ms }))
    })?
    .collect()
}

/// One live value.
pub(crate) fn value(
    conn: &Connection,
    instance: &str,
    key: &str,
) -> Result<Option<String>, JobError> {
    let written: Option<Option<String>> = conn
        .prepare_cached("SELECT value FROM kv_delta WHERE instance_id = ?1 AND key = ?2")?
        .query_row([instance, key], |row| row.get(0))
        .optional()
        .map_err(|error| damaged(key, error))?;
    match written {
        Some(value) => Ok(value),
        None => Ok(conn
            .prepare_cached("SELECT value FROM kv_store WHERE instance_id = ?1 AND key = ?2")?
            .query_row([instance, key], |row| row.get(0))
            .optional()
            .map_err(|error| damaged(key, error))?),
    }
}

/// Names the key whose value cannot be read; other errors stay what they are.
fn damaged(key: &str, error: rusqlite::Error) -> JobError {
    let error = JobError::from(error);
    if !error.is_damage() {
        return error;
    }
    JobError::Damaged(format!("the value of key '{key}' cannot be read: {error}"))
}

/// All live values.
pub(crate) fn values(
    conn: &Connection,
    instance: &str,
) -> Result<HashMap<String, String>, JobError> {
    conn.prepare_cached(
        "SELECT key, value FROM kv_delta WHERE instance_id = ?1 AND value IS NOT NULL
             UNION ALL
             SELECT s.key, s.value FROM kv_store s
             WHERE s.instance_id = ?1 AND NOT EXISTS (
                 SELECT 1 FROM kv_delta d WHERE d.instance_id = ?1 AND d.key = s.key)",
    )?
    .query_and_then([instance], |row| {
        let key = stored_text(row, 0)?;
        let value = row.get(1).map_err(|error| damaged(&key, error))?;
        Ok::<_, JobError>((key, value))
    })?
    .collect()
}
