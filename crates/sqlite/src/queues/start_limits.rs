//! Activities that no worker started in time.

use std::sync::Arc;
use std::time::Instant;

use duroxide_core::providers::{FetchFilter, LeaseHolders};
use rusqlite::{Connection, params};

use crate::error::JobError;
use crate::queues::worker_queue::{self, WorkBatch, WorkRequest};
use crate::schema::number::from_db;
use crate::schema::stored_text::stored_integer;
use crate::write::writer::Tx;

/// What the sweeper requests.
pub(crate) struct OverdueRequest {
    pub(crate) work_max: usize,
    pub(crate) lock_for: i64,
}

/// Leases activities whose limit is over, the longest overdue first.
pub(crate) fn fetch_overdue(
    tx: &mut Tx<'_>,
    request: &OverdueRequest,
) -> Result<WorkBatch, JobError> {
    let work_max = i64::try_from(request.work_max).unwrap_or(i64::MAX);
    let ids: Vec<i64> = tx
        .conn
        .prepare_cached(OVERDUE_SQL)?
        .query_map(params![tx.now, work_max], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    // Without slots no session is claimed.
    let request = WorkRequest {
        slots: Vec::new(),
        lock_for: request.lock_for,
        filter: Arc::new(FetchFilter::everything()),
        holders: LeaseHolders::default(),
    };
    let work = ids
        .into_iter()
        .enumerate()
        .map(|(slot, id)| worker_queue::lease(tx, &request, slot, id))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(WorkBatch { work, next_due: None, unfinished: false, leased_at: Instant::now() })
}

pub(crate) const OVERDUE_SQL: &str = "SELECT id FROM worker_queue INDEXED BY idx_worker_start_by
     WHERE start_by IS NOT NULL AND starting = 0 AND start_by <= ?1
         AND (locked_until IS NULL OR locked_until <= ?1)
     ORDER BY start_by LIMIT ?2";

/// When something is overdue: now, at the end of the next limit, or when the lease of an activity
/// expires that is overdue already. Only reads: most calls find nothing.
pub(crate) fn next_due(conn: &Connection, now: i64) -> Result<Option<u64>, JobError> {
    if conn.prepare_cached(OVERDUE_SQL)?.exists(params![now, 1])? {
        return Ok(Some(from_db(now)));
    }
    let due: Option<i64> =
        conn.prepare_cached(NEXT_LIMIT_SQL)?.query_row([now], |row| stored_integer(row, 0))?;
    Ok(due.map(from_db))
}

pub(crate) const NEXT_LIMIT_SQL: &str = "SELECT min(due) FROM (
     SELECT min(start_by) AS due FROM worker_queue INDEXED BY idx_worker_start_by
         WHERE start_by IS NOT NULL AND starting = 0 AND start_by > ?1
     UNION ALL
     SELECT min(locked_until) FROM worker_queue INDEXED BY idx_worker_start_by
         WHERE start_by IS NOT NULL AND starting = 0 AND start_by <= ?1 AND locked_until > ?1)";
