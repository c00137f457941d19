//! Starts whose instance does not exist yet, for operators.

use duroxide_core::providers::kit::waiting_start;
use duroxide_core::providers::{WaitingStart, WaitingStartQuery};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::error::JobError;
use crate::schema::number::from_db;
use crate::schema::stored_text::stored;
use crate::store::Store;

/// Starts of instances that do not exist yet, by instance.
pub(crate) async fn starts(
    store: &Store,
    query: &WaitingStartQuery,
) -> Result<Vec<WaitingStart>, JobError> {
    // The number of the kind is in the text, so that the index of starts fits.
    let sql = match query.instance {
        Some(_) => {
            "SELECT DISTINCT ON (q.instance_id)
                 q.work_item, q.created_at, q.visible_at, q.attempt_count
             FROM {schema}.orchestrator_queue q
             WHERE q.kind = 1 AND q.instance_id = $3 AND q.instance_id > $1 AND NOT EXISTS (
                 SELECT 1 FROM {schema}.instances i WHERE i.instance_id = q.instance_id)
             ORDER BY q.instance_id, q.id LIMIT $2"
        }
        None => {
            "SELECT DISTINCT ON (q.instance_id)
                 q.work_item, q.created_at, q.visible_at, q.attempt_count
             FROM {schema}.orchestrator_queue q
             WHERE q.kind = 1 AND q.instance_id > $1 AND NOT EXISTS (
                 SELECT 1 FROM {schema}.instances i WHERE i.instance_id = q.instance_id)
             ORDER BY q.instance_id, q.id LIMIT $2"
        }
    };
    let after = stored(query.after.as_ref().map_or("", |after| after.as_str()));
    let instance = query.instance.as_deref().map(stored);
    let limit = i64::from(query.limit);
    let mut params: Vec<&(dyn ToSql + Sync)> = vec![&after, &limit];
    if let Some(instance) = &instance {
        params.push(instance);
    }
    let rows = store.query(sql, &params).await?;
    // What cannot be decoded is no start that could run.
    Ok(rows.iter().filter_map(waiting).collect())
}

fn waiting(row: &Row) -> Option<WaitingStart> {
    let start = waiting_start(row.get("work_item"))?;
    let attempts = row.get::<_, i32>("attempt_count");
    Some(
        start
            .with_times(from_db(row.get("created_at")), from_db(row.get("visible_at")))
            .with_attempts(u32::try_from(attempts).unwrap_or(0)),
    )
}
