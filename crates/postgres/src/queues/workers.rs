//! Nodes that run turns or activities.

use duroxide_core::providers::kit::{EncodedWorker, decode_announced_turns, decode_worker};
use duroxide_core::providers::{LiveWorker, WorkerAnnouncement};

use crate::error::JobError;
use crate::schema::number::{from_db, lease_length};
use crate::schema::stored_text::{from_stored, to_stored};
use crate::store::Store;

/// Records what a node runs, and removes expired nodes. Runs on the store's own thread.
pub(crate) async fn announce(
    store: &Store,
    announcement: &WorkerAnnouncement,
) -> Result<(), JobError> {
    let worker = EncodedWorker::encode(announcement)?;
    store
        .own()
        .query(
            "WITH clock AS MATERIALIZED (SELECT coalesce($1, {schema}.now_ms()) AS now),
             expired AS (
                 DELETE FROM {schema}.workers w USING clock c
                 WHERE w.expires_at <= c.now AND w.node_id <> $2
             )
             INSERT INTO {schema}.workers
                 (node_id, tag_filter, activities, expires_at, turns, timed_at)
             SELECT $2, $3, $4, c.now + $5, $6, c.now FROM clock c
             ON CONFLICT (node_id) DO UPDATE SET tag_filter = excluded.tag_filter,
                 activities = excluded.activities, expires_at = excluded.expires_at,
                 turns = excluded.turns, timed_at = excluded.timed_at",
            &[
                &store.now(),
                &to_stored(worker.node_id),
                &worker.tag_filter,
                &worker.activities,
                &lease_length(announcement.expires_in),
                &worker.turns,
            ],
        )
        .await?;
    Ok(())
}

/// Records that a node has stopped. Runs on the store's own thread.
pub(crate) async fn withdraw(store: &Store, node_id: &str) -> Result<(), JobError> {
    let sql = "DELETE FROM {schema}.workers WHERE node_id = $1";
    store.own().query(sql, &[&to_stored(node_id)]).await?;
    Ok(())
}

/// Nodes that have not expired, by name.
pub(crate) async fn live(store: &Store) -> Result<Vec<LiveWorker>, JobError> {
    let sql = "SELECT node_id, tag_filter, activities, expires_at, turns FROM {schema}.workers
         WHERE expires_at > coalesce($1, {schema}.now_ms()) ORDER BY node_id";
    let rows = store.query(sql, &[&store.now()]).await?;
    rows.iter()
        .map(|row| {
            let turns: Option<&str> = row.get("turns");
            let worker = decode_worker(
                from_stored(row.get("node_id")),
                row.get("tag_filter"),
                row.get("activities"),
                from_db(row.get("expires_at")),
            )?;
            Ok(worker.with_turns(turns.and_then(decode_announced_turns)))
        })
        .collect()
}
