//! Leases of turns: renewing and abandoning them.

use duroxide_core::providers::ProviderErrorKind;

use std::time::Duration;

use crate::error::JobError;
use crate::fetch::lease_token::TurnToken;
use crate::notify::change::Changes;
use crate::schema::number::{attempts, lease_length};
use crate::store::Store;

/// Which leases are extended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extension {
    /// Live ones.
    Live,
    /// Expired ones too: the token is gone once another caller has claimed the work.
    Unclaimed,
}

/// Extends a lease from now on. Runs on the store's own thread.
pub(crate) async fn renew(
    store: &Store,
    token: &TurnToken,
    extend_for: i64,
    extension: Extension,
) -> Result<(), JobError> {
    if store.fast_path.is_committing(token.id) {
        // No lease exists yet that could expire.
        return Ok(());
    }
    store.fast_path.wait_for_lease(token.id).await;
    let rows = store
        .own()
        .query(
            "WITH clock AS MATERIALIZED (SELECT coalesce($1, {schema}.now_ms()) AS now),
             renewed AS (
                 UPDATE {schema}.instance_locks l
                 SET locked_until = c.now + $4, locked_at = c.now FROM clock c
                 WHERE l.instance_id = $2 AND l.lock_token = $3
                     AND ($5 OR l.locked_until > c.now)
                 RETURNING 1
             )
             SELECT EXISTS (SELECT 1 FROM renewed) AS renewed, EXISTS (
                 SELECT 1 FROM {schema}.instance_locks l
                 WHERE l.instance_id = $2 AND l.lock_token = $3) AS known",
            &[
                &store.now(),
                &token.instance,
                &token.id,
                &extend_for,
                &(extension == Extension::Unclaimed),
            ],
        )
        .await?;
    let answer = rows.first().map(|row| (row.get("renewed"), row.get("known")));
    match answer {
        Some((true, _)) => Ok(()),
        Some((_, true)) => Err(expired()),
        Some((_, false)) | None => Err(unknown_token()),
    }
}

/// Marks whether the code of a turn runs; returns how many of its attempts are excused.
pub(crate) async fn mark_running(
    store: &Store,
    token: &TurnToken,
    running: bool,
) -> Result<u32, JobError> {
    store.fast_path.wait_for_lease(token.id).await;
    let rows = store
        .own()
        .query(
            "WITH marked AS (
                 UPDATE {schema}.instance_locks l SET running = $3
                 WHERE l.instance_id = $1 AND l.lock_token = $2 RETURNING l.message_ids
             )
             SELECT (
                 SELECT coalesce(max(q.attempt_count) - max(q.attempt_count - q.excused), 0)
                 FROM {schema}.orchestrator_queue q
                 WHERE q.instance_id = $1 AND q.id = ANY (m.message_ids)) AS excused
             FROM marked m",
            &[&token.instance, &token.id, &running],
        )
        .await?;
    rows.first().map(|row| attempts(row.get("excused"))).ok_or_else(unknown_token)
}

/// The error for a token without a lease.
pub(crate) fn unknown_token() -> JobError {
    JobError::refused(ProviderErrorKind::LostLease, "Invalid lock token")
}

/// The error for an expired lease.
pub(crate) fn expired() -> JobError {
    JobError::refused(ProviderErrorKind::LostLease, "Instance lock expired")
}

/// How a lease is released.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Release {
    /// Hides the messages for this long.
    pub(crate) delay: Option<i64>,
    /// Does not count the attempt.
    pub(crate) ignore_attempt: bool,
}

impl Release {
    /// For a lease that its caller never received.
    pub(crate) const UNTOUCHED: Self = Self { delay: None, ignore_attempt: true };

    /// As the contract states it.
    pub(crate) fn new(delay: Option<Duration>, ignore_attempt: bool) -> Self {
        Self { delay: delay.map(lease_length), ignore_attempt }
    }
}

/// Releases a turn. Changes only the messages that it holds: later arrivals stay visible.
pub(crate) async fn abandon(
    store: &Store,
    token: &TurnToken,
    how: Release,
) -> Result<Changes, JobError> {
    store.fast_path.wait_for_lease(token.id).await;
    let rows = store
        .change(
            "WITH held_while_suspended AS (
                 -- An operator's call held a suspended instance, which stays suspended.
                 SELECT 1 FROM {schema}.instance_locks l JOIN {schema}.instances i
                     ON i.instance_id = l.instance_id AND i.suspended_since IS NOT NULL
                 WHERE l.instance_id = $2 AND l.lock_token = $3 AND cardinality(l.message_ids) = 0
             ), released AS (
                 DELETE FROM {schema}.instance_locks l
                 WHERE l.instance_id = $2 AND l.lock_token = $3 AND (
                     SELECT 1 FROM held_while_suspended) IS NULL
                 RETURNING l.message_ids
             ), returned AS (
                 UPDATE {schema}.orchestrator_queue q
                 SET visible_at = coalesce(
                         coalesce($1, {schema}.now_ms()) + $4::BIGINT, q.visible_at),
                     timed_at = CASE WHEN $4::BIGINT IS NULL THEN q.timed_at
                         ELSE coalesce($1, {schema}.now_ms()) END,
                     attempt_count = q.attempt_count + $5::INTEGER,
                     pin = coalesce(q.pin, '\\x00')
                 FROM released
                 WHERE q.instance_id = $2 AND q.id = ANY (released.message_ids)
                     AND ($4::BIGINT IS NOT NULL OR $5::INTEGER <> 0)
             ), listed AS (
                 -- While those are hidden, the first of the later arrivals is listed.
                 UPDATE {schema}.orchestrator_queue q SET pin = '\\x00'
                 FROM released
                 WHERE $4::BIGINT IS NOT NULL AND q.instance_id = $2 AND q.id = (
                     SELECT b.id FROM {schema}.orchestrator_queue b
                     WHERE b.instance_id = $2 AND b.pin IS NULL
                         AND b.id <> ALL (released.message_ids)
                     ORDER BY b.id LIMIT 1)
             )
             SELECT 1 FROM released UNION ALL SELECT 1 FROM held_while_suspended",
            &[
                &store.now(),
                &token.instance,
                &token.id,
                &how.delay,
                // A fetch does not change the attempt counts of messages; the end of a lease does.
                &i32::from(!how.ignore_attempt),
            ],
        )
        .await?;
    if rows.is_empty() {
        return Err(unknown_token());
    }
    let mut changes = Changes::default();
    changes.orchestrator_queue();
    Ok(changes)
}
