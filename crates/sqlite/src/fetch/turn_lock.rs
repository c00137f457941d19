//! Leases of turns: which token holds an instance, until when, and its release.
//!
//! A token is the mark of the lease and the instance. The instance finds the row without an index
//! of tokens, which every lease would have to be written into.

use std::time::Duration;

use duroxide_core::providers::ProviderErrorKind;
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::JobError;
use crate::fetch::messages::{self, QueuePart};
use crate::queues::ready_messages;
use crate::schema::number::millis_to_db;
use crate::suspension;
use crate::write::writer::Tx;

/// The two parts of a token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnToken<'a> {
    /// What the row holds for as long as the lease is this one. No mark contains a dot.
    pub(crate) mark: &'a str,
    pub(crate) instance: &'a str,
}

impl<'a> TurnToken<'a> {
    /// Parses a token. One that this provider never issued holds no lease.
    pub(crate) fn parse(token: &'a str) -> Result<Self, JobError> {
        let (mark, instance) = token.split_once('.').ok_or_else(unknown_token)?;
        Ok(Self { mark, instance })
    }
}

/// The token of an instance that was marked.
pub(crate) fn token(mark: &str, instance: &str) -> String {
    [mark, ".", instance].concat()
}

/// A held lease.
#[derive(Debug)]
pub(crate) struct TurnLock<'a> {
    /// Who holds which instance.
    pub(crate) token: TurnToken<'a>,
    /// When the lease expires.
    pub(crate) until: i64,
    /// The messages that it holds.
    pub(crate) part: QueuePart,
}

impl TurnLock<'_> {
    /// Refuses a lease that has expired.
    pub(crate) fn check_live(&self, now: i64) -> Result<(), JobError> {
        if self.until <= now {
            return Err(JobError::refused(ProviderErrorKind::LostLease, "Instance lock expired"));
        }
        Ok(())
    }
}

/// The lease behind a token.
pub(crate) fn find<'a>(conn: &Connection, token: &'a str) -> Result<TurnLock<'a>, JobError> {
    let token = TurnToken::parse(token)?;
    conn.prepare_cached(
        "SELECT locked_until, last_visible_at, last_id, start_id, has_start
         FROM instance_locks WHERE instance_id = ?1 AND lock_token = ?2",
    )?
    .query_row([token.instance, token.mark], |row| {
        Ok(TurnLock { token, until: row.get(0)?, part: QueuePart::read(row, 1)? })
    })
    .optional()?
    .ok_or_else(unknown_token)
}

/// The live lease behind a token, or a permanent error.
pub(crate) fn require_live<'a>(
    conn: &Connection,
    token: &'a str,
    now: i64,
) -> Result<TurnLock<'a>, JobError> {
    let lock = find(conn, token)?;
    lock.check_live(now)?;
    Ok(lock)
}

/// Acquires the lease of an instance and these messages, also an expired one; false if another
/// mark holds it.
pub(crate) fn acquire(
    tx: &Tx<'_>,
    token: TurnToken<'_>,
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
            token.instance,
            token.mark,
            until,
            tx.now,
            part.last_visible_at,
            part.last_id,
            part.single_id,
            part.has_start
        ])?;
    Ok(acquired == 1)
}

/// Removes the lease of an instance.
pub(crate) fn remove(conn: &Connection, instance: &str) -> Result<(), JobError> {
    conn.prepare_cached("DELETE FROM instance_locks WHERE instance_id = ?1")?
        .execute([instance])?;
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
    let TurnToken { mark, instance } = TurnToken::parse(token)?;
    let extended = tx
        .conn
        .prepare_cached(
            "UPDATE instance_locks SET locked_until = ?3, locked_at = ?4
             WHERE instance_id = ?1 AND lock_token = ?2",
        )?
        .execute(params![instance, mark, tx.now.saturating_add(extend_for), tx.now])?;
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
    let lock = find(tx.conn, token)?;
    let instance = lock.token.instance;
    if suspension::is_suspension(token) && suspension::read(tx.conn, instance)?.is_some() {
        // An operator's call held a suspended instance, which stays suspended.
        return Ok(());
    }
    messages::release(tx, &lock, release)?;
    remove(tx.conn, instance)?;
    ready_messages::list_first(tx, instance)?;
    tx.changes.orchestrator_queue();
    Ok(())
}
