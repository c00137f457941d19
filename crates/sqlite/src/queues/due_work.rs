//! Makes activities claimable whose time has come: a delay is over, or a lease has expired.
//!
//! Each is found by an index and moved once, so that later fetches do not read what is not due.

use duroxide_core::providers::LeaseHolders;
use rusqlite::params;

use crate::error::JobError;
use crate::fetch::held;
use crate::limits;
use crate::write::writer::Tx;

/// What is left after due activities were moved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moved {
    /// Any activity belongs to a session.
    pub(crate) has_sessions: bool,
    /// More than one job may move is due.
    pub(crate) unfinished: bool,
}

/// Moves what is due, up to a limit, except what these nodes of this process hold.
pub(crate) fn release(
    tx: &mut Tx<'_>,
    holders: &LeaseHolders,
    lock_for: i64,
) -> Result<Moved, JobError> {
    let (delayed, leased, sessions, has_sessions): (bool, bool, bool, bool) = tx
        .conn
        .prepare_cached(DUE_SQL)?
        .query_row([tx.now], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    let mut unfinished = false;
    if delayed {
        unfinished |= execute(tx, DELAYED_SQL)?;
    }
    if leased {
        held::renew_work(tx, holders, lock_for)?;
        unfinished |= execute(tx, EXPIRED_SQL)?;
    }
    if sessions {
        unfinished |= release_sessions(tx)?;
    }
    Ok(Moved { has_sessions, unfinished })
}

fn execute(tx: &Tx<'_>, sql: &'static str) -> Result<bool, JobError> {
    let limit = limits::MOVED_PER_FETCH_MAX;
    let moved = tx.conn.prepare_cached(sql)?.execute(params![tx.now, limit])?;
    Ok(moved >= limit as usize)
}

/// Sessions whose lease has expired: their activities are for any worker that runs sessions.
fn release_sessions(tx: &Tx<'_>) -> Result<bool, JobError> {
    let limit = limits::MOVED_PER_FETCH_MAX;
    let expired: Vec<String> = tx
        .conn
        .prepare_cached(EXPIRED_SESSIONS_SQL)?
        .query_map(params![tx.now, limit], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let limit = limit as usize;
    let mut moved = 0;
    for session_id in &expired {
        moved += release_session(tx, session_id, limit - moved)?;
        if moved == limit {
            return Ok(true);
        }
        tx.conn
            .prepare_cached("UPDATE sessions SET expired = 1 WHERE session_id = ?1")?
            .execute([session_id])?;
    }
    Ok(expired.len() == limit)
}

/// Moves activities that only the owner of their session could claim; returns how many.
pub(crate) fn release_session(
    tx: &Tx<'_>,
    session_id: &str,
    limit: usize,
) -> Result<usize, JobError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Ok(tx.conn.prepare_cached(RELEASE_SESSION_SQL)?.execute(params![session_id, limit])?)
}

const DUE_SQL: &str = "SELECT
     EXISTS (SELECT 1 FROM worker_queue INDEXED BY idx_worker_delayed
         WHERE visible_at > 0 AND visible_at <= ?1),
     EXISTS (SELECT 1 FROM worker_queue INDEXED BY idx_worker_lease
         WHERE locked_until IS NOT NULL AND locked_until <= ?1),
     EXISTS (SELECT 1 FROM sessions INDEXED BY idx_sessions_until
         WHERE expired = 0 AND locked_until <= ?1),
     EXISTS (SELECT 1 FROM worker_queue INDEXED BY idx_worker_session
         WHERE session_id IS NOT NULL)";

const DELAYED_SQL: &str = "UPDATE worker_queue SET visible_at = 0, lane = session_id IS NOT NULL
     WHERE id IN (
         SELECT id FROM worker_queue INDEXED BY idx_worker_delayed
         WHERE visible_at > 0 AND visible_at <= ?1 ORDER BY visible_at LIMIT ?2)";

// The token stays: its holder may return the activity until another worker leases it.
const EXPIRED_SQL: &str = "UPDATE worker_queue SET locked_until = NULL,
         lane = CASE WHEN visible_at > 0 THEN 2 ELSE session_id IS NOT NULL END
     WHERE id IN (
         SELECT id FROM worker_queue INDEXED BY idx_worker_lease
         WHERE locked_until IS NOT NULL AND locked_until <= ?1 ORDER BY locked_until LIMIT ?2)";

const EXPIRED_SESSIONS_SQL: &str = "SELECT session_id FROM sessions INDEXED BY idx_sessions_until
     WHERE expired = 0 AND locked_until <= ?1 ORDER BY locked_until LIMIT ?2";

const RELEASE_SESSION_SQL: &str = "UPDATE worker_queue SET lane = 1
     WHERE id IN (
         SELECT id FROM worker_queue INDEXED BY idx_worker_session
         WHERE session_id = ?1 AND lane = 2 AND visible_at = 0 LIMIT ?2)";
