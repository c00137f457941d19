//! Sessions: which owner runs the activities of a session.

use std::collections::BTreeSet;

use duroxide_core::providers::SessionFetchConfig;
use rusqlite::params;

use crate::error::JobError;
use crate::queues::due_work;
use crate::schema::number::millis_to_db;
use crate::write::writer::Tx;

/// A session that an owner did not hold before.
#[derive(Debug)]
pub(crate) struct NewClaim {
    session_id: String,
    owner_id: String,
    claimed_at: i64,
}

/// Leases a session to the owner that has just leased one of its activities; returns the claim if
/// no owner held the session.
pub(crate) fn claim(
    tx: &Tx<'_>,
    session_id: String,
    owner: &SessionFetchConfig,
) -> Result<Option<NewClaim>, JobError> {
    let held = tx
        .conn
        .prepare_cached("SELECT 1 FROM sessions WHERE session_id = ?1 AND locked_until > ?2")?
        .exists(params![session_id, tx.now])?;
    let until = tx.now.saturating_add(millis_to_db(owner.lock_timeout));
    tx.conn
        .prepare_cached(
            "INSERT INTO sessions
                 (session_id, worker_id, locked_until, last_activity_at, timed_at, held_by)
             VALUES (?1, ?2, ?3, ?4, ?4, ?5)
             ON CONFLICT (session_id) DO UPDATE
             SET worker_id = ?2, locked_until = ?3, last_activity_at = ?4, timed_at = ?4,
                 held_by = ?5, expired = 0",
        )?
        .execute(params![session_id, owner.owner_id, until, tx.now, tx.holder.id()])?;
    let owner_id = owner.owner_id.clone();
    Ok((!held).then_some(NewClaim { session_id, owner_id, claimed_at: tx.now }))
}

/// Releases a claim, unless the owner has used the session since.
pub(crate) fn release(tx: &mut Tx<'_>, claim: &NewClaim) -> Result<(), JobError> {
    let released = tx
        .conn
        .prepare_cached(
            "DELETE FROM sessions
             WHERE session_id = ?1 AND worker_id = ?2 AND last_activity_at = ?3 AND NOT EXISTS (
                 SELECT 1 FROM worker_queue q WHERE q.session_id = ?1
                     AND q.lock_token IS NOT NULL AND q.locked_until > ?4)",
        )?
        .execute(params![claim.session_id, claim.owner_id, claim.claimed_at, tx.now])?;
    if released > 0 {
        due_work::release_session(tx, &claim.session_id, usize::MAX)?;
        tx.changes.worker_queue();
    }
    Ok(())
}

/// Whether a worker owns a session. One that was released as expired has no owner, even if the
/// clock is set back: nothing would release its activities again.
pub(crate) fn is_owned(tx: &Tx<'_>, session_id: &str) -> Result<bool, JobError> {
    Ok(tx
        .conn
        .prepare_cached(
            "SELECT 1 FROM sessions WHERE session_id = ?1 AND locked_until > ?2 AND expired = 0",
        )?
        .exists(params![session_id, tx.now])?)
}

/// Records that a session is in use, while its lease is live.
pub(crate) fn touch(tx: &Tx<'_>, session_id: &str) -> Result<(), JobError> {
    tx.conn
        .prepare_cached(
            "UPDATE sessions SET last_activity_at = ?2
             WHERE session_id = ?1 AND locked_until > ?2",
        )?
        .execute(params![session_id, tx.now])?;
    Ok(())
}

/// Records that a session is in use, and extends its lease if that has expired.
pub(crate) fn reclaim(tx: &Tx<'_>, session_id: &str, until: i64) -> Result<(), JobError> {
    tx.conn
        .prepare_cached(
            "UPDATE sessions SET last_activity_at = ?2, held_by = ?4, expired = 0,
                 timed_at = iif(locked_until > ?2, timed_at, ?2),
                 locked_until = iif(locked_until > ?2, locked_until, ?3)
             WHERE session_id = ?1",
        )?
        .execute(params![session_id, tx.now, until, tx.holder.id()])?;
    Ok(())
}

/// Extends the live sessions of these owners that were used within the idle timeout.
pub(crate) fn renew(
    tx: &mut Tx<'_>,
    owners: &BTreeSet<String>,
    extend_for: i64,
    idle_timeout: i64,
) -> Result<usize, JobError> {
    let mut renewed = 0;
    for owner in owners {
        renewed += tx
            .conn
            .prepare_cached(
                "UPDATE sessions SET locked_until = ?3, timed_at = ?2, held_by = ?5
                 WHERE worker_id = ?1 AND locked_until > ?2 AND last_activity_at > ?4
                     AND expired = 0",
            )?
            .execute(params![
                owner,
                tx.now,
                tx.now.saturating_add(extend_for),
                tx.now.saturating_sub(idle_timeout),
                tx.holder.id()
            ])?;
    }
    Ok(renewed)
}

/// Removes expired sessions that have no queued work.
pub(crate) fn cleanup(tx: &mut Tx<'_>) -> Result<usize, JobError> {
    Ok(tx
        .conn
        .prepare_cached(
            "DELETE FROM sessions WHERE expired IN (0, 1) AND locked_until <= ?1 AND NOT EXISTS (
                 SELECT 1 FROM worker_queue q WHERE q.session_id = sessions.session_id)",
        )?
        .execute([tx.now])?)
}
