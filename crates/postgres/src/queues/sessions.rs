//! Sessions: which worker runs the activities of a session.

use std::collections::BTreeSet;

use crate::error::JobError;
use crate::notify::change::{ANY_ROUTE, Changes};
use crate::schema::number::count_from_db;
use crate::store::Store;

/// A session that an owner did not hold before.
#[derive(Debug)]
pub(crate) struct NewClaim {
    pub(crate) session_id: String,
    pub(crate) owner_id: String,
    pub(crate) claimed_at: i64,
}

/// Releases a claim, unless the owner has used the session since. The lease ends as if it had
/// expired: the next fetch moves what was left to the owner.
pub(crate) async fn release(store: &Store, claim: &NewClaim) -> Result<(), JobError> {
    let rows = store
        .query(
            "UPDATE {schema}.sessions s SET locked_until = 0
             WHERE s.session_id = $1 AND s.worker_id = $2 AND s.last_activity_at = $4
                 AND NOT EXISTS (
                 SELECT 1 FROM {schema}.worker_queue q WHERE q.session_id = $1
                     AND q.locked_until > coalesce($3, {schema}.now_ms()))
             RETURNING 1",
            &[&claim.session_id, &claim.owner_id, &store.now(), &claim.claimed_at],
        )
        .await?;
    if !rows.is_empty() {
        let mut changes = Changes::default();
        changes.worker_queue(ANY_ROUTE);
        store.publish(changes);
    }
    Ok(())
}

/// Extends the live sessions of these owners, in their stored form, that were used recently. Runs
/// on the store's own thread.
pub(crate) async fn renew(
    store: &Store,
    owners: &BTreeSet<String>,
    extend_for: i64,
    idle_timeout: i64,
) -> Result<usize, JobError> {
    let owners: Vec<&str> = owners.iter().map(String::as_str).collect();
    let rows = store
        .own()
        .query(
            "WITH clock AS MATERIALIZED (SELECT coalesce($1, {schema}.now_ms()) AS now),
             live AS (
                 SELECT s.session_id, c.now FROM {schema}.sessions s, clock c
                 WHERE s.worker_id = ANY ($2) AND s.locked_until > c.now AND NOT s.expired
                     AND s.last_activity_at > c.now - $4
                 ORDER BY s.session_id FOR UPDATE OF s
             ),
             renewed AS (
                 UPDATE {schema}.sessions s SET locked_until = l.now + $3, timed_at = l.now
                 FROM live l
                 WHERE s.session_id = l.session_id RETURNING 1
             )
             SELECT count(*) AS sessions FROM renewed",
            &[&store.now(), &owners, &extend_for, &idle_timeout],
        )
        .await?;
    Ok(rows.first().map_or(0, |row| count_from_db(row.get("sessions"))))
}

/// Removes expired sessions that have no queued work. Runs on the store's own thread.
pub(crate) async fn cleanup(store: &Store) -> Result<usize, JobError> {
    let rows = store
        .own()
        .query(
            "WITH removed AS (
                 DELETE FROM {schema}.sessions d WHERE d.session_id IN (
                     SELECT s.session_id FROM {schema}.sessions s
                     WHERE s.locked_until <= coalesce($1, {schema}.now_ms()) AND NOT EXISTS (
                         SELECT 1 FROM {schema}.worker_queue q
                         WHERE q.session_id = s.session_id)
                     ORDER BY s.session_id FOR UPDATE OF s SKIP LOCKED)
                 RETURNING 1
             )
             SELECT count(*) AS sessions FROM removed",
            &[&store.now()],
        )
        .await?;
    Ok(rows.first().map_or(0, |row| count_from_db(row.get("sessions"))))
}
