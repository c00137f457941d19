//! Leases of activities: their tokens, renewing, completing, releasing.
//!
//! A token is the row's number and the mark of the lease. The number finds the row without an
//! index, which every lease would have to be written into.

use duroxide_core::providers::ProviderErrorKind;
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::JobError;
use crate::fetch::turn_lock::Release;
use crate::queues::orchestrator_queue::{self, NewMessage};
use crate::queues::sessions;
use crate::schema::stored_text::{stored_attempts, stored_id};
use crate::write::writer::Tx;

/// The two parts of a token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkToken<'a> {
    pub(crate) id: i64,
    /// What the row holds for as long as the lease is this one.
    pub(crate) mark: &'a str,
}

impl<'a> WorkToken<'a> {
    /// Parses a token. One that this provider never issued holds no lease.
    pub(crate) fn parse(token: &'a str) -> Result<Self, JobError> {
        let (mark, id) = token.rsplit_once('.').ok_or_else(lost_lease)?;
        Ok(Self { id: id.parse().map_err(|_| lost_lease())?, mark })
    }
}

/// The token of a row that was marked.
pub(crate) fn token(mark: &str, id: i64) -> String {
    [mark, ".", &id.to_string()].concat()
}

/// Removes an activity under a live lease and enqueues its completion.
pub(crate) fn complete(
    tx: &mut Tx<'_>,
    token: &str,
    completion: Option<&NewMessage>,
) -> Result<(), JobError> {
    let WorkToken { id, mark } = WorkToken::parse(token)?;
    let deleted = tx
        .conn
        .prepare_cached(
            "DELETE FROM worker_queue
             WHERE id = ?1 AND lock_token = ?2 AND locked_until > ?3 AND session_id IS NULL",
        )?
        .execute(params![id, mark, tx.now])?;
    if deleted == 0 {
        complete_in_session(tx, WorkToken { id, mark })?;
    }
    match completion {
        Some(message) => orchestrator_queue::insert(tx, message, tx.now),
        None => Ok(()),
    }
}

/// The rare case: the activity belongs to a session, or its lease is lost.
fn complete_in_session(tx: &mut Tx<'_>, token: WorkToken<'_>) -> Result<(), JobError> {
    let session_id: Option<Option<String>> = tx
        .conn
        .prepare_cached(
            "DELETE FROM worker_queue WHERE id = ?1 AND lock_token = ?2 AND locked_until > ?3
             RETURNING session_id",
        )?
        .query_row(params![token.id, token.mark, tx.now], |row| stored_id(row, 0))
        .optional()?;
    match session_id.ok_or_else(lost_lease)? {
        Some(session_id) => sessions::touch(tx, &session_id),
        None => Ok(()),
    }
}

/// Extends a live lease from now.
pub(crate) fn renew(tx: &mut Tx<'_>, token: &str, extend_for: i64) -> Result<(), JobError> {
    let WorkToken { id, mark } = WorkToken::parse(token)?;
    let session_id: Option<Option<String>> = tx
        .conn
        .prepare_cached(
            "UPDATE worker_queue SET locked_until = ?4, timed_at = ?3
             WHERE id = ?1 AND lock_token = ?2 AND locked_until > ?3 RETURNING session_id",
        )?
        .query_row(params![id, mark, tx.now, tx.now.saturating_add(extend_for)], |row| {
            stored_id(row, 0)
        })
        .optional()?;
    match session_id {
        Some(Some(session_id)) => sessions::touch(tx, &session_id),
        Some(None) => Ok(()),
        None => Err(lost_lease()),
    }
}

/// Extends a lease from now, also an expired one: the mark is gone once another worker has claimed
/// the activity. Its session is in use again, unless another owner has claimed that.
pub(crate) fn reclaim(tx: &mut Tx<'_>, token: &str, extend_for: i64) -> Result<(), JobError> {
    let WorkToken { id, mark } = WorkToken::parse(token)?;
    let until = tx.now.saturating_add(extend_for);
    let session_id: Option<Option<String>> = tx
        .conn
        .prepare_cached(
            "UPDATE worker_queue SET locked_until = ?3, timed_at = ?4
             WHERE id = ?1 AND lock_token = ?2 RETURNING session_id",
        )?
        .query_row(params![id, mark, until, tx.now], |row| stored_id(row, 0))
        .optional()?;
    match session_id {
        Some(Some(session_id)) => sessions::reclaim(tx, &session_id, until),
        Some(None) => Ok(()),
        None => Err(lost_lease()),
    }
}

/// Adds to the leases whose holder vouches for the activity; returns how many there are.
pub(crate) fn vouch(tx: &mut Tx<'_>, token: &str, leases: u32) -> Result<u32, JobError> {
    let WorkToken { id, mark } = WorkToken::parse(token)?;
    let vouched: Option<u32> = tx
        .conn
        .prepare_cached(
            "UPDATE worker_queue SET vouched = vouched + ?3
             WHERE id = ?1 AND lock_token = ?2 RETURNING vouched",
        )?
        .query_row(params![id, mark, leases], |row| stored_attempts(row, 0))
        .optional()?;
    vouched.ok_or_else(lost_lease)
}

/// Releases an activity. The lease may have expired, as long as no other worker has leased it.
pub(crate) fn abandon(tx: &mut Tx<'_>, token: &str, release: Release) -> Result<(), JobError> {
    let WorkToken { id, mark } = WorkToken::parse(token)?;
    let visible_at = release.visible_at(tx.now);
    let released = tx
        .conn
        .prepare_cached(
            "UPDATE worker_queue
             SET lock_token = NULL, locked_until = NULL, timed_at = ?5,
                 visible_at = coalesce(?3, visible_at),
                 lane = CASE WHEN coalesce(?3, visible_at) > 0 THEN 2
                     ELSE session_id IS NOT NULL END,
                 attempt_count = max(attempt_count - ?4, 0),
                 start_by = CASE starting WHEN 0 THEN start_by END, starting = 0
             WHERE id = ?1 AND lock_token = ?2",
        )?
        .execute(params![id, mark, visible_at, release.ignored_attempts(), tx.now])?;
    if released == 0 {
        return Err(lost_lease());
    }
    tx.changes.worker_queue();
    Ok(())
}

/// Releases an activity whose handler was not called: the lease does not count as its start.
pub(crate) fn release_unstarted(
    tx: &mut Tx<'_>,
    token: &str,
    release: Release,
) -> Result<(), JobError> {
    let WorkToken { id, mark } = WorkToken::parse(token)?;
    let limited = tx
        .conn
        .prepare_cached(
            "UPDATE worker_queue SET starting = 0
             WHERE id = ?1 AND lock_token = ?2 AND start_by IS NOT NULL",
        )?
        .execute(params![id, mark])?;
    if limited > 0 {
        tx.changes.start_limits();
    }
    abandon(tx, token, release)
}

pub(crate) fn lost_lease() -> JobError {
    JobError::refused(
        ProviderErrorKind::LostLease,
        "Invalid lock token: the work item is gone or its lease has run out",
    )
}

/// Which of the tokens no longer hold an activity.
pub(crate) fn find_lost(conn: &Connection, tokens: &[String]) -> Result<Vec<String>, JobError> {
    let mut held = conn.prepare_cached(HELD_SQL)?;
    let mut lost = Vec::new();
    for token in tokens {
        let is_held = match WorkToken::parse(token) {
            Ok(WorkToken { id, mark }) => held.exists(params![id, mark])?,
            Err(_) => false,
        };
        if !is_held {
            lost.push(token.clone());
        }
    }
    Ok(lost)
}

pub(crate) const HELD_SQL: &str = "SELECT 1 FROM worker_queue WHERE id = ?1 AND lock_token = ?2";
