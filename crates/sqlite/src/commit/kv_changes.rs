//! Writing key-value state: the running execution writes to `kv_delta`, and its end merges that
//! into `kv_store`. A delta row without a value is a removal.

use duroxide_core::{Event, EventKind};
use rusqlite::{Connection, params};

use crate::error::JobError;
use crate::schema::number::to_db;
use crate::write::writer::Tx;

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
