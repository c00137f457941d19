//! Progress that running activities report.

use duroxide_core::providers::ActivityProgress;
use duroxide_core::providers::kit::activity_name;

use crate::error::JobError;
use crate::fetch::lease_token::WorkToken;
use crate::notify::change::Changes;
use crate::queues::worker_queue::lost_lease;
use crate::schema::number::{attempts, from_db};
use crate::schema::stored_text::{from_stored, to_stored};
use crate::store::Store;

/// Stores a report under a live lease.
pub(crate) async fn record(
    store: &Store,
    token: WorkToken,
    progress: &str,
) -> Result<Changes, JobError> {
    let rows = store
        .query(
            "WITH clock AS MATERIALIZED (SELECT coalesce($1, {schema}.now_ms()) AS now)
             UPDATE {schema}.worker_queue q
             SET progress = $4, progress_at = c.now, progress_attempt = q.attempt_count
             FROM clock c
             WHERE q.id = $2 AND q.lock_token = $3 AND q.locked_until > c.now
             RETURNING q.instance_id",
            &[&store.now(), &token.row, &token.id, &to_stored(progress)],
        )
        .await?;
    let Some(row) = rows.first() else { return Err(lost_lease()) };
    let mut changes = Changes::default();
    changes.step(&from_stored(row.get("instance_id")));
    Ok(changes)
}

/// Reports of the unfinished activities of an instance, by execution and activity.
pub(crate) async fn read(store: &Store, instance: &str) -> Result<Vec<ActivityProgress>, JobError> {
    let rows = store
        .query(
            "SELECT execution_id, activity_id, progress_attempt, progress, progress_at, work_item
             FROM {schema}.worker_queue WHERE instance_id = $1 AND progress IS NOT NULL
             ORDER BY execution_id, activity_id, id",
            &[&to_stored(instance)],
        )
        .await?;
    let progress = |row: &tokio_postgres::Row| {
        let (execution_id, activity_id) = (row.get("execution_id"), row.get("activity_id"));
        ActivityProgress::new(from_db(execution_id), from_db(activity_id))
            .with_attempt(attempts(row.get::<_, Option<i32>>("progress_attempt").unwrap_or(-1)))
            .with_progress(from_stored(row.get("progress")))
            .with_updated_at_ms(row.get::<_, Option<i64>>("progress_at").map_or(0, from_db))
            .with_activity_name(activity_name(row.get("work_item")))
    };
    Ok(rows.iter().map(progress).collect())
}
