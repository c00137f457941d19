//! Writing key-value state: the running execution writes to `kv_delta`, and its end merges that
//! into `kv_store`. A delta row without a value is a removal.

use duroxide_core::providers::kit::KvChange;
use rusqlite::{Connection, params};

use crate::error::JobError;
use crate::schema::number::to_db;
use crate::write::writer::Tx;

/// Writes changes of the running execution.
pub(crate) fn apply(
    tx: &Tx<'_>,
    instance: &str,
    changes: &[KvChange<String>],
) -> Result<(), JobError> {
    for change in changes {
        match change {
            KvChange::Set { key, value, updated_at_ms } => {
                put(tx.conn, instance, key, Some(value), to_db(*updated_at_ms))?;
            }
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

/// Merges the writes of the execution that ended into what the next one starts from.
pub(crate) fn merge(conn: &Connection, instance: &str) -> Result<(), JobError> {
    // A read is much cheaper than an update that changes nothing.
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
