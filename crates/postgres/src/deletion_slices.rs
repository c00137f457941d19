//! Removes rows that a deletion has hidden, slice by slice.
//!
//! The first transaction of a deletion makes its instances disappear: it removes their rows in
//! `instances` and lists them in `deletions`. No read returns what is listed, and a lease that no
//! node holds keeps another instance of that id from running before the old rows are gone. The rest
//! is removed in short transactions, which hold up nothing else: children first, then the starts of
//! children that wait in the queue, then the rows. If the caller dies, any node continues.

use std::sync::Arc;

use duroxide_core::clock::millis;
use duroxide_core::providers::{DeleteInstanceResult, MESSAGE_ID_WINDOW};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::JobError;
use crate::notify::change::Changes;
use crate::schema::call::Argument;
use crate::schema::number::{from_db, to_db};
use crate::schema::stored_text::{from_stored, to_stored};
use crate::store::Store;
use crate::{limits, pending_children};

/// How long the store keeps the ids of messages.
pub(crate) fn message_id_window() -> i64 {
    to_db(millis(MESSAGE_ID_WINDOW))
}

/// What one slice has deleted.
pub(crate) fn counts(row: &Row) -> DeleteInstanceResult {
    let number = |column: &str| row.get::<_, Option<i64>>(column).map_or(0, from_db);
    DeleteInstanceResult {
        instances_deleted: number("o_instances"),
        executions_deleted: number("o_executions"),
        events_deleted: number("o_events"),
        queue_messages_deleted: number("o_messages"),
    }
}

/// Removes what a deletion has hidden. Adds what it removes to `total`, before an error too.
pub(crate) async fn finish(
    store: &Store,
    deletion: Uuid,
    total: &mut DeleteInstanceResult,
) -> Result<(), JobError> {
    loop {
        let arguments: [Argument<'_>; 5] = [
            ("p_now", &store.now()),
            ("p_deletion", &deletion),
            ("p_window", &message_id_window()),
            ("p_slice", &to_db(millis(limits::DELETION_SLICE))),
            ("p_hidden_max", &limits::CHILDREN_PER_DELETION),
        ];
        let rows = store.call_repeatable("remove_deleted", &arguments).await?;
        let Some(row) = rows.first() else {
            return Err(JobError::Broken("remove_deleted returned no row".to_owned()));
        };
        *total += counts(row);
        publish(store, row);
        for parent in names(row, "o_starts") {
            total.queue_messages_deleted += pending_children::delete(store, &parent).await?;
            mark_without_starts(store, &parent).await?;
        }
        if !row.get::<_, bool>("o_unfinished") {
            return Ok(());
        }
        if row.get("o_busy") {
            // Another node continues it too, or a child is being created.
            tokio::time::sleep(limits::RETRY_PAUSE).await;
        }
    }
}

fn names(row: &Row, column: &str) -> Vec<String> {
    row.get::<_, Option<Vec<String>>>(column).unwrap_or_default()
}

/// Notifies waiters of what a slice has done.
fn publish(store: &Store, row: &Row) {
    let mut changes = Changes::default();
    for hidden in names(row, "o_hidden") {
        changes.instance(&from_stored(hidden));
        changes.work_locks();
    }
    if row.get("o_freed") {
        // Another instance of that id may start.
        changes.orchestrator_queue();
    }
    store.publish(changes);
}

async fn mark_without_starts(store: &Store, stored_instance: &str) -> Result<(), JobError> {
    let sql = "UPDATE {schema}.deletions SET has_starts = FALSE
         WHERE instance_id = $1 AND execution_id = 0";
    store.query(sql, &[&stored_instance]).await?;
    Ok(())
}

/// Claims the deletion that has hidden an instance, if its caller died before all rows were gone.
/// Of several callers, one gets it.
pub(crate) async fn claim_abandoned(
    store: &Store,
    instance: &str,
) -> Result<Option<Uuid>, JobError> {
    let seconds = limits::DELETION_ABANDONED_AFTER.as_secs_f64();
    let sql = "UPDATE {schema}.deletions d SET touched_at = clock_timestamp()
         WHERE d.instance_id = $1 AND d.execution_id = 0
             AND d.touched_at < clock_timestamp() - make_interval(secs => $2)
             -- A deletion touches one part after the other.
             AND NOT EXISTS (
                 SELECT 1 FROM {schema}.deletions o WHERE o.deletion = d.deletion
                     AND o.touched_at >= clock_timestamp() - make_interval(secs => $2))
         RETURNING d.deletion";
    let rows = store.change(sql, &[&to_stored(instance), &seconds]).await?;
    Ok(rows.first().map(|row| row.get("deletion")))
}

/// Continues deletions whose callers died, until the task is aborted.
pub(crate) async fn continue_abandoned(store: Arc<Store>) {
    loop {
        let seconds = limits::DELETION_ABANDONED_AFTER.as_secs_f64();
        // A deletion touches one part after the other.
        let sql = "SELECT deletion FROM {schema}.deletions GROUP BY deletion
             HAVING max(touched_at) < clock_timestamp() - make_interval(secs => $1)";
        let outcome = store.query(sql, &[&seconds]).await;
        for row in outcome.as_deref().unwrap_or_default() {
            let mut removed = DeleteInstanceResult::default();
            report(finish(&store, row.get("deletion"), &mut removed).await.err());
        }
        report(outcome.err());
        tokio::time::sleep(limits::DELETION_ABANDONED_AFTER).await;
    }
}

fn report(error: Option<JobError>) {
    if let Some(error) = error {
        tracing::warn!(
            target: "duroxide::providers::postgres",
            %error,
            "could not remove rows of deleted instances; retrying later"
        );
    }
}
