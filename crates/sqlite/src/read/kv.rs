//! Key-value state: `kv_store` holds what finished executions left, `kv_delta` what the running one
//! wrote over it. A delta row without a value is a removal.

use std::collections::HashMap;

use duroxide_core::providers::KvEntry;
use rusqlite::{Connection, OptionalExtension};

use crate::error::JobError;
use crate::schema::number::from_db;
use crate::schema::stored_text::stored_text;

/// What a turn starts from: finished executions only, because replay repeats the running one.
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
