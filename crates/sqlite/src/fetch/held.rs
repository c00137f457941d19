//! Expired leases whose holders are alive in this process: a fetch extends them instead of claiming
//! their work.

use duroxide_core::providers::LeaseHolders;
use rusqlite::params;

use crate::error::JobError;
use crate::fetch::turn_lock;
use crate::queues::work_lock;
use crate::schema::stored_text::stored_id;
use crate::write::writer::Tx;

/// Extends the expired leases of turns that this process holds.
pub(crate) fn renew_turns(
    tx: &mut Tx<'_>,
    holders: &LeaseHolders,
    lock_for: i64,
) -> Result<(), JobError> {
    if !holders.hold_any() {
        return Ok(());
    }
    let mut held = Vec::new();
    {
        let mut statement = tx.conn.prepare_cached(EXPIRED_TURNS_SQL)?;
        let mut rows = statement.query(params![tx.now])?;
        while let Some(row) = rows.next()? {
            let (Some(instance), Some(mark)) = (stored_id(row, 0)?, stored_id(row, 1)?) else {
                continue;
            };
            let token = turn_lock::token(&mark, &instance);
            if holders.hold(&token) {
                held.push(token);
            }
        }
    }
    held.iter().try_for_each(|token| turn_lock::reclaim(tx, token, lock_for))
}

const EXPIRED_TURNS_SQL: &str = "SELECT instance_id, lock_token
     FROM instance_locks INDEXED BY idx_locks_until WHERE locked_until <= ?1";

/// Extends the expired leases of activities that this process holds.
pub(crate) fn renew_work(
    tx: &mut Tx<'_>,
    holders: &LeaseHolders,
    lock_for: i64,
) -> Result<(), JobError> {
    if !holders.hold_any() {
        return Ok(());
    }
    let mut held = Vec::new();
    {
        let mut statement = tx.conn.prepare_cached(EXPIRED_WORK_SQL)?;
        let mut rows = statement.query(params![tx.now])?;
        while let Some(row) = rows.next()? {
            let Some(mark) = stored_id(row, 1)? else { continue };
            let token = work_lock::token(&mark, row.get(0)?);
            if holders.hold(&token) {
                held.push(token);
            }
        }
    }
    held.iter().try_for_each(|token| work_lock::reclaim(tx, token, lock_for))
}

const EXPIRED_WORK_SQL: &str = "SELECT id, lock_token FROM worker_queue INDEXED BY idx_worker_lease
     WHERE locked_until IS NOT NULL AND locked_until <= ?1";
