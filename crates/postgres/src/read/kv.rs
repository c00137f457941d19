//! Key-value state: `kv_store` holds the values that ended executions left, `kv_delta` the changes
//! of the running one. A delta row without a value is a removal.

use std::collections::HashMap;

use duroxide_core::{Event, EventKind};

use crate::error::JobError;
use crate::schema::number::to_db;
use crate::schema::stored_text::{from_stored, stored, to_stored};
use crate::store::Store;

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
        return Some(KvChange::Set { key: stored(key), value: stored(value), at });
    }
    if let EventKind::KeyValueCleared { key } = &event.kind {
        return Some(KvChange::Clear { key: stored(key) });
    }
    matches!(event.kind, EventKind::KeyValuesCleared).then_some(KvChange::ClearAll)
}

/// One live value.
pub(crate) async fn value(
    store: &Store,
    instance: &str,
    key: &str,
) -> Result<Option<String>, JobError> {
    let rows = store
        .query(
            "SELECT value FROM {schema}.kv_delta WHERE instance_id = $1 AND key = $2
             UNION ALL
             SELECT s.value FROM {schema}.kv_store s
             WHERE s.instance_id = $1 AND s.key = $2 AND NOT EXISTS (
                 SELECT 1 FROM {schema}.kv_delta d WHERE d.instance_id = $1 AND d.key = $2)",
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
            "SELECT key, value FROM {schema}.kv_delta
             WHERE instance_id = $1 AND value IS NOT NULL
             UNION ALL
             SELECT s.key, s.value FROM {schema}.kv_store s
             WHERE s.instance_id = $1 AND NOT EXISTS (
                 SELECT 1 FROM {schema}.kv_delta d WHERE d.instance_id = $1 AND d.key = s.key)",
            &[&to_stored(instance)],
        )
        .await?;
    Ok(rows
        .iter()
        .map(|row| (from_stored(row.get("key")), from_stored(row.get("value"))))
        .collect())
}
