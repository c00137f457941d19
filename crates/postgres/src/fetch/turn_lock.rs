//! Leases of turns: extending them and giving them back.

use duroxide_core::providers::ProviderErrorKind;

use crate::error::JobError;
use crate::fetch::lease_token::TurnToken;
use crate::notify::change::Changes;
use crate::store::Store;

/// Extends a live lease from now.
pub(crate) async fn renew(
    store: &Store,
    token: &TurnToken,
    extend_for: i64,
) -> Result<(), JobError> {
    if store.starts.is_committing(token.id) {
        // There is no lease yet that could run out.
        return Ok(());
    }
    store.starts.settled(token.id).await;
    let rows = store
        .query(
            "WITH clock AS MATERIALIZED (SELECT coalesce($1, {schema}.now_ms()) AS now),
             renewed AS (
                 UPDATE {schema}.instance_locks l SET locked_until = c.now + $4 FROM clock c
                 WHERE l.instance_id = $2 AND l.lock_token = $3 AND l.locked_until > c.now
                 RETURNING 1
             )
             SELECT EXISTS (SELECT 1 FROM renewed) AS renewed, EXISTS (
                 SELECT 1 FROM {schema}.instance_locks l
                 WHERE l.instance_id = $2 AND l.lock_token = $3) AS known",
            &[&store.now(), &token.instance, &token.id, &extend_for],
        )
        .await?;
    let answer = rows.first().map(|row| (row.get("renewed"), row.get("known")));
    match answer {
        Some((true, _)) => Ok(()),
        Some((_, true)) => Err(expired()),
        Some((_, false)) | None => Err(unknown_token()),
    }
}

/// The error for a token that nobody holds.
pub(crate) fn unknown_token() -> JobError {
    JobError::refused(ProviderErrorKind::LostLease, "Invalid lock token")
}

/// The error for a lease that has run out.
pub(crate) fn expired() -> JobError {
    JobError::refused(ProviderErrorKind::LostLease, "Instance lock expired")
}

/// How a turn is given back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GiveBack {
    /// Hides the messages for this long.
    pub(crate) delay: Option<i64>,
    /// Takes the attempt back.
    pub(crate) ignore_attempt: bool,
}

/// Gives a turn back. Only messages that it holds are touched: later arrivals stay visible.
pub(crate) async fn abandon(
    store: &Store,
    token: &TurnToken,
    how: GiveBack,
) -> Result<Changes, JobError> {
    store.starts.settled(token.id).await;
    let rows = store
        .change(
            "WITH released AS (
                 DELETE FROM {schema}.instance_locks l
                 WHERE l.instance_id = $2 AND l.lock_token = $3 RETURNING l.message_ids
             ), given_back AS (
                 UPDATE {schema}.orchestrator_queue q
                 SET visible_at = coalesce(
                         coalesce($1, {schema}.now_ms()) + $4::BIGINT, q.visible_at),
                     attempt_count = q.attempt_count + $5::INTEGER
                 FROM released
                 WHERE q.instance_id = $2 AND q.id = ANY (released.message_ids)
                     AND ($4::BIGINT IS NOT NULL OR $5::INTEGER <> 0)
             )
             SELECT 1 FROM released",
            &[
                &store.now(),
                &token.instance,
                &token.id,
                &how.delay,
                // A fetch does not count on the messages themselves; the end of a lease does.
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
