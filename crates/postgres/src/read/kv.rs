//! Key-value state: `kv_store` holds the values that ended executions left, `kv_delta` the changes
//! of the running one. A delta row without a value is a removal.

use std::collections::HashMap;

use duroxide_core::providers::KvEntry;

use crate::error::JobError;
use crate::schema::number::from_db;
use crate::schema::stored_text::{from_stored, to_stored};
use crate::store::Store;

/// What a turn starts from: finished executions only, because replay repeats the running one.
pub(crate) async fn snapshot(
    store: &Store,
    stored_instance: &str,
) -> Result<HashMap<String, KvEntry>, JobError> {
    let rows = store
        .query(
            "SELECT key, value, last_updated_at_ms FROM {schema}.kv_store WHERE instance_id = $1",
            &[&stored_instance],
        )
        .await?;
    let entries = rows
        .iter()
        .map(|row| entry(row.get("key"), row.get("value"), row.get("last_updated_at_ms")));
    Ok(entries.collect())
}

/// A stored row as the contract names it.
pub(crate) fn entry(key: String, value: String, updated_at: i64) -> (String, KvEntry) {
    let value = from_stored(value);
    (from_stored(key), KvEntry { value, last_updated_at_ms: from_db(updated_at) })
}

/// One live value.
pub(crate) async fn value(
    store: &Store,
    instance: &str,
    key: &str,
) -> Result<Option<String>, JobError> {
    let rows = store
        .query(
            "SELECT v.value FROM (
                 SELECT value FROM {schema}.kv_delta WHERE instance_id = $1 AND key = $2
                 UNION ALL
                 SELECT s.value FROM {schema}.kv_store s
                 WHERE s.instance_id = $1 AND s.key = $2 AND NOT EXISTS (
                     SELECT 1 FROM {schema}.kv_delta d WHERE d.instance_id = $1 AND d.key = $2)
             ) AS v
             WHERE NOT EXISTS (
                 SELECT 1 FROM {schema}.deletions WHERE instance_id = $1 AND execution_id = 0)",
            &[&to_stored(instance), &to_stored(key)],
        )
        .await?;
    Ok(rows.first().and_then(|row| row.get::<_, Option<String>>("value")).map(from_stored))
}

/// All live values.
pub(crate) async fn values(
    store: &Store,
    instance: &str,
) -> Result<HashMap<String, String>, JobError> {
    let rows = store
        .query(
            "SELECT v.key, v.value FROM (
                 SELECT key, value FROM {schema}.kv_delta
                 WHERE instance_id = $1 AND value IS NOT NULL
                 UNION ALL
                 SELECT s.key, s.value FROM {schema}.kv_store s
                 WHERE s.instance_id = $1 AND NOT EXISTS (
                     SELECT 1 FROM {schema}.kv_delta d
                     WHERE d.instance_id = $1 AND d.key = s.key)
             ) AS v
             WHERE NOT EXISTS (
                 SELECT 1 FROM {schema}.deletions WHERE instance_id = $1 AND execution_id = 0)",
            &[&to_stored(instance)],
        )
        .await?;
    Ok(rows
        .iter()
        .map(|row| (from_stored(row.get("key")), from_stored(row.get("value"))))
        .collect())
}
