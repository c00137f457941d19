//! Suspended instances.
//!
//! A suspension is a row of `instance_locks` that no node holds, so that neither a fetch nor a
//! direct turn passes it; the row of the instance says why. An operator's lasts for ever. One of
//! replay expires, and the next fetch lists the messages of the instance as ready. The commit of a
//! turn clears the row of the instance.

use duroxide_core::providers::{
    ProviderErrorKind, SuspendedInstance, Suspension, SuspensionOrigin, suspension_retry_ms,
};
use rusqlite::{Connection, OptionalExtension, Row, params};
use uuid::Uuid;

use crate::error::JobError;
use crate::fetch::turn_lock::Release;
use crate::fetch::{messages, turn_lock};
use crate::queues::ready_messages;
use crate::read::inspect;
use crate::schema::number::{from_db, to_db};
use crate::write::writer::Tx;

/// Begins the mark of every suspension. No holder's marks begin like this, so that the end of a
/// process does not end suspensions.
const TOKEN_PREFIX: &str = "suspended-";

/// Suspends the instance of a leased turn, because of its code.
pub(crate) fn suspend_turn(tx: &mut Tx<'_>, token: &str, reason: &str) -> Result<(), JobError> {
    let lock = turn_lock::require_live(tx.conn, token, tx.now)?;
    let instance = lock.token.instance;
    messages::release(tx, &lock, Release::UNTOUCHED)?;
    let since = earlier_time(tx.conn, instance)?.unwrap_or(tx.now);
    let retry_at = to_db(suspension_retry_ms(from_db(since), from_db(tx.now)));
    let suspension = NewSuspension { origin: SuspensionOrigin::Replay, reason, since };
    suspension.store(tx, instance, retry_at)?;
    // A fetch that waits does not know when the suspension expires.
    tx.changes.orchestrator_queue();
    Ok(())
}

/// Since when replay has suspended the instance, if it has not committed a turn since.
fn earlier_time(conn: &Connection, instance: &str) -> Result<Option<i64>, JobError> {
    Ok(conn
        .prepare_cached(
            "SELECT suspended_since FROM instances
             WHERE instance_id = ?1 AND suspended_by = 'replay'",
        )?
        .query_row([instance], |row| row.get(0))
        .optional()?
        .flatten())
}

/// Suspends an instance that runs, because an operator asks for it.
pub(crate) fn suspend_instance(
    tx: &mut Tx<'_>,
    instance: &str,
    reason: &str,
) -> Result<(), JobError> {
    let info = inspect::instance_info(tx.conn, instance)?;
    if info.status != "Running" {
        let text = format!("Instance {instance} has ended: {}", info.status);
        return Err(JobError::refused(ProviderErrorKind::Conflict, text));
    }
    end_other_lease(tx, instance)?;
    let suspension = NewSuspension { origin: SuspensionOrigin::Operator, reason, since: tx.now };
    suspension.store(tx, instance, i64::MAX)
}

/// Ends the lease of an instance, if there is one: the turn that a node holds is lost. Returns when
/// a suspension would have ended.
pub(crate) fn end_other_lease(tx: &Tx<'_>, instance: &str) -> Result<Option<i64>, JobError> {
    let held: Option<String> = tx
        .conn
        .prepare_cached("SELECT lock_token FROM instance_locks WHERE instance_id = ?1")?
        .query_row([instance], |row| row.get(0))
        .optional()?;
    let Some(mark) = held else { return Ok(None) };
    let token = turn_lock::token(&mark, instance);
    let lock = turn_lock::find(tx.conn, &token)?;
    messages::release(tx, &lock, Release::UNTOUCHED)?;
    Ok(is_suspension(&token).then_some(lock.until))
}

struct NewSuspension<'a> {
    origin: SuspensionOrigin,
    reason: &'a str,
    since: i64,
}

impl NewSuspension<'_> {
    fn store(&self, tx: &Tx<'_>, instance: &str, until: i64) -> Result<(), JobError> {
        lock(tx, instance, until)?;
        tx.conn
            .prepare_cached(
                "UPDATE instances
                 SET suspended_since = ?2, suspended_by = ?3, suspended_reason = ?4
                 WHERE instance_id = ?1",
            )?
            .execute(params![instance, self.since, self.origin.as_str(), self.reason])?;
        Ok(())
    }
}

/// Leases an instance to no node, in place of any other lease; returns the token.
pub(crate) fn lock(tx: &Tx<'_>, instance: &str, until: i64) -> Result<String, JobError> {
    let mark = format!("{TOKEN_PREFIX}{}", Uuid::new_v4().simple());
    tx.conn
        .prepare_cached(
            "INSERT INTO instance_locks (instance_id, lock_token, locked_until, locked_at)
             VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (instance_id) DO UPDATE
             SET lock_token = ?2, locked_until = ?3, locked_at = ?4, running = 0",
        )?
        .execute(params![instance, mark, until, tx.now])?;
    Ok(turn_lock::token(&mark, instance))
}

/// Lifts a suspension; false if there is none.
pub(crate) fn resume(tx: &mut Tx<'_>, instance: &str) -> Result<bool, JobError> {
    let was_suspended = tx
        .conn
        .prepare_cached(
            "UPDATE instances SET suspended_since = NULL
             WHERE instance_id = ?1 AND suspended_since IS NOT NULL",
        )?
        .execute([instance])?;
    if was_suspended == 0 {
        return Ok(false);
    }
    // A node that retries the instance right now keeps its lease.
    let lifted = tx
        .conn
        .prepare_cached(
            "DELETE FROM instance_locks
             WHERE instance_id = ?1 AND lock_token GLOB ?2 || '*'",
        )?
        .execute(params![instance, TOKEN_PREFIX])?;
    if lifted > 0 {
        ready_messages::list_first(tx, instance)?;
        tx.changes.orchestrator_queue();
    }
    Ok(true)
}

/// Whether the token of a lease is that of a suspension.
pub(crate) fn is_suspension(token: &str) -> bool {
    token.starts_with(TOKEN_PREFIX)
}

/// Lets an instance whose suspension has expired take its next turn.
pub(crate) fn end(tx: &mut Tx<'_>, instance: &str) -> Result<(), JobError> {
    turn_lock::remove(tx.conn, instance)?;
    ready_messages::list_first(tx, instance)?;
    Ok(())
}

/// Makes all suspensions of replay expire now; returns how many.
pub(crate) fn retry_all(tx: &mut Tx<'_>) -> Result<u64, JobError> {
    let retried = tx
        .conn
        .prepare_cached(
            "UPDATE instance_locks SET locked_until = ?1
             WHERE lock_token GLOB ?2 || '*' AND locked_until > ?1 AND instance_id IN (
                 SELECT instance_id FROM instances INDEXED BY idx_instances_suspended
                 WHERE suspended_since IS NOT NULL AND suspended_by = 'replay')",
        )?
        .execute(params![tx.now, TOKEN_PREFIX])?;
    if retried > 0 {
        tx.changes.orchestrator_queue();
    }
    Ok(retried as u64)
}

/// The suspension of an instance.
pub(crate) fn read(conn: &Connection, instance: &str) -> Result<Option<Suspension>, JobError> {
    Ok(conn
        .prepare_cached(
            "SELECT suspended_by, suspended_reason, suspended_since FROM instances
             WHERE instance_id = ?1 AND suspended_since IS NOT NULL",
        )?
        .query_row([instance], |row| suspension(row, 0))
        .optional()?)
}

/// Suspended instances behind `after`, by id.
pub(crate) fn list(
    conn: &Connection,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<SuspendedInstance>, JobError> {
    let mut statement = conn.prepare_cached(
        "SELECT suspended_by, suspended_reason, suspended_since, instance_id, orchestration_name,
             orchestration_version, current_execution_id
         FROM instances INDEXED BY idx_instances_suspended
         WHERE suspended_since IS NOT NULL AND (?1 IS NULL OR instance_id > ?1)
         ORDER BY instance_id LIMIT ?2",
    )?;
    let rows = statement.query_map(params![after, limit], |row| {
        Ok(SuspendedInstance::new(row.get(3)?, suspension(row, 0)?).running(
            row.get(4)?,
            row.get(5)?,
            from_db(row.get(6)?),
        ))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn suspension(row: &Row<'_>, first: usize) -> rusqlite::Result<Suspension> {
    let origin: Option<String> = row.get(first)?;
    let reason: Option<String> = row.get(first + 1)?;
    Ok(Suspension::new(
        SuspensionOrigin::from_stored(origin.as_deref().unwrap_or_default()),
        reason.unwrap_or_default(),
        from_db(row.get(first + 2)?),
    ))
}
