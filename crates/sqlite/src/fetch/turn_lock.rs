//! Leases of turns: which token holds an instance, until when, and its release.

use std::time::Duration;

use duroxide_core::providers::ProviderErrorKind;
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::JobError;
use crate::fetch::messages::{self, QueuePart};
use crate::queues::ready_messages;
use crate::schema::number::millis_to_db;
use crate::suspension;
use crate::write::writer::Tx;

/// A held lease.
#[derive(Debug)]
pub(crate) struct TurnLock {
    /// The instance.
    pub(crate) instance: String,
    /// When the lease expires.
    pub(crate) until: i64,
    /// The messages that it holds.
    pub(crate) part: QueuePart,
}

/// The lease behind a token.
pub(crate) fn find(conn: &Connection, token: &str) -> Result<Option<TurnLock>, JobError> {
    Ok(conn
        .prepare_cached(
            "SELECT instance_id, locked_until, last_visible_at, last_id, start_id, has_start
             FROM instance_locks WHERE lock_token = ?1",
        )?
        .query_row([token], |row| {
            let part = QueuePart {
                last_visible_at: row.get(2)?,
                last_id: row.get(3)?,
                start_id: row.get(4)?,
                has_start: row.get(5)?,
            };
            Ok(TurnLock { instance: row.get(0)?, until: row.get(1)?, part })
        })
        .optional()?)
}

/// The live lease behind a token, or a permanent error.
pub(crate) fn require_live(conn: &Connection, token: &str, now: i64) -> Result<TurnLock, JobError> {
    let lock = find(conn, token)?.ok_or_else(unknown_token)?;
    if lock.until <= now {
        return Err(JobError::refused(ProviderErrorKind::LostLease, "Instance lock expired"));
    }
    Ok(lock)
}

/// Acquires the lease of an instance and these messages, also an expired one; false if another
/// token holds it.
pub(crate) fn acquire(
    tx: &Tx<'_>,
    instance: &str,
    token: &str,
    until: i64,
    part: QueuePart,
) -> Result<bool, JobError> {
    let acquired = tx
        .conn
        .prepare_cached(
            "INSERT INTO instance_locks (instance_id, lock_token, locked_until, locked_at,
                 last_visible_at, last_id, start_id, has_start)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (instance_id) DO UPDATE
             SET lock_token = ?2, locked_until = ?3, locked_at = ?4,
                 last_visible_at = ?5, last_id = ?6, start_id = ?7, has_start = ?8,
                 running = 0
             WHERE instance_locks.locked_until <= ?4",
        )?
        .execute(params![
            instance,
            token,
            until,
            tx.now,
            part.last_visible_at,
            part.last_id,
            part.start_id,
            part.has_start
        ])?;
    Ok(acquired == 1)
}

/// Removes a lease.
pub(crate) fn remove(conn: &Connection, token: &str) -> Result<(), JobError> {
    conn.prepare_cached("DELETE FROM instance_locks WHERE lock_token = ?1")?.execute([token])?;
    Ok(())
}

/// Extends a live lease from now.
pub(crate) fn renew(tx: &mut Tx<'_>, token: &str, extend_for: i64) -> Result<(), JobError> {
    require_live(tx.conn, token, tx.now)?;
    reclaim(tx, token, extend_for)
}

/// Extends a lease from now, also an expired one: the token is gone once another caller has claimed
/// the turn.
pub(crate) fn reclaim(tx: &mut Tx<'_>, token: &str, extend_for: i64) -> Result<(), JobError> {
    let extended = tx
        .conn
        .prepare_cached(
            "UPDATE instance_locks SET locked_until = ?2, locked_at = ?3 WHERE lock_token = ?1",
        )?
        .execute(params![token, tx.now.saturating_add(extend_for), tx.now])?;
    if extended == 0 { Err(unknown_token()) } else { Ok(()) }
}

pub(crate) fn unknown_token() -> JobError {
    JobError::refused(ProviderErrorKind::LostLease, "Invalid lock token")
}

/// How a turn or an activity is released.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Release {
    /// Hides it for this long.
    delay: Option<i64>,
    /// Does not count the attempt.
    ignore_attempt: bool,
}

impl Release {
    /// As if it had not been fetched.
    pub(crate) const UNTOUCHED: Self = Self { delay: None, ignore_attempt: true };

    /// Hides it for `delay`; with `ignore_attempt` the attempt does not count.
    pub(crate) fn new(delay: Option<Duration>, ignore_attempt: bool) -> Self {
        Self { delay: delay.map(millis_to_db), ignore_attempt }
    }

    /// When it becomes visible, if that changes.
    pub(crate) fn visible_at(self, now: i64) -> Option<i64> {
        self.delay.map(|delay| now.saturating_add(delay))
    }

    /// How many attempts do not count.
    pub(crate) fn ignored_attempts(self) -> i64 {
        i64::from(self.ignore_attempt)
    }
}

/// Releases a turn. Only messages tagged by this token change: later arrivals stay visible.
pub(crate) fn abandon(tx: &mut Tx<'_>, token: &str, release: Release) -> Result<(), JobError> {
    let lock = find(tx.conn, token)?.ok_or_else(unknown_token)?;
    if suspension::is_suspension(token) && suspension::read(tx.conn, &lock.instance)?.is_some() {
        // An operator's call held a suspended instance, which stays suspended.
        return Ok(());
    }
    messages::release(tx, token, &lock, release)?;
    remove(tx.conn, token)?;
    ready_messages::list_first(tx, &lock.instance)?;
    tx.changes.orchestrator_queue();
    Ok(())
}
