//! The code of ready activities: which of them a worker has the handler for.
//!
//! A fetch finds the code that is ready by one probe of the index for each that its worker has, at
//! most, and past that of other workers in one step.

use std::collections::BTreeSet;
use std::ops::Bound;

use duroxide_core::providers::RegisteredActivities;
use rusqlite::{OptionalExtension, params};

use crate::error::JobError;
use crate::limits;
use crate::write::writer::Tx;

/// A range of the index of ready activities, sorted by age within each lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkRange {
    pub(crate) tag: Option<String>,
    /// `None` for all.
    pub(crate) code: Option<String>,
}

/// The ranges that a worker may claim.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    pub(crate) ranges: Vec<WorkRange>,
    /// The code of more activities is unknown than one job may find out.
    pub(crate) unfinished: bool,
}

impl Ranges {
    /// The ready activities with these tags and with code that the worker has.
    pub(crate) fn of(
        tx: &Tx<'_>,
        tags: &[Option<String>],
        registered: Option<&RegisteredActivities>,
    ) -> Result<Self, JobError> {
        let mut found = Self::default();
        for tag in tags {
            let Some(registered) = registered else {
                found.ranges.push(WorkRange { tag: tag.clone(), code: None });
                continue;
            };
            found.unfinished |= settle(tx, tag.as_deref())?;
            let mut next = tx.conn.prepare_cached(NEXT_SQL)?;
            let ready = present(registered.keys(), |from| {
                Ok(next.query_row(params![tag, from], |row| row.get(0)).optional()?)
            })?;
            let range = |code| WorkRange { tag: tag.clone(), code: Some(code) };
            found.ranges.extend(ready.into_iter().map(range));
        }
        Ok(found)
    }
}

/// The oldest activity of a session with one of these tags and with code that the worker has.
pub(crate) fn oldest_in_session(
    tx: &Tx<'_>,
    session_id: &str,
    tags: &[Option<String>],
    registered: &RegisteredActivities,
) -> Result<Option<i64>, JobError> {
    let mut oldest = None;
    let mut next = tx.conn.prepare_cached(NEXT_IN_SESSION_SQL)?;
    let mut first = tx.conn.prepare_cached(FIRST_IN_SESSION_SQL)?;
    for tag in tags {
        let ready = present(registered.keys(), |from| {
            Ok(next.query_row(params![session_id, tag, from], |row| row.get(0)).optional()?)
        })?;
        for code in ready {
            let id: Option<i64> =
                first.query_row(params![session_id, tag, code], |row| row.get(0)).optional()?;
            oldest = oldest.into_iter().chain(id).min();
        }
    }
    Ok(oldest)
}

/// The keys that are present. `next` finds the first that is present from a key on.
fn present(
    keys: &BTreeSet<String>,
    mut next: impl FnMut(&str) -> Result<Option<String>, JobError>,
) -> Result<Vec<String>, JobError> {
    let mut present = Vec::new();
    let mut wanted = keys.first();
    while let Some(from) = wanted {
        let Some(found) = next(from)? else { break };
        let behind = (Bound::Excluded(found.as_str()), Bound::Unbounded);
        wanted = keys.range::<str, _>(behind).next();
        if keys.contains(&found) {
            present.push(found);
        }
    }
    Ok(present)
}

/// Stores the code of activities that wait without one. True if more of them wait.
fn settle(tx: &Tx<'_>, tag: Option<&str>) -> Result<bool, JobError> {
    if !tx.conn.prepare_cached(UNSETTLED_SQL)?.exists([tag])? {
        return Ok(false);
    }
    let limit = limits::MOVED_PER_FETCH_MAX;
    let settled = tx.conn.prepare_cached(SETTLE_SQL)?.execute(params![tag, limit])?;
    Ok(settled >= limit as usize)
}

const UNSETTLED_SQL: &str = "SELECT 1 FROM worker_queue INDEXED BY idx_worker_code
     WHERE locked_until IS NULL AND tag IS ?1 AND code IS NULL LIMIT 1";

const SETTLE_SQL: &str = "UPDATE worker_queue
     SET code = coalesce((
         SELECT '=' || n.name FROM (
             SELECT CASE WHEN json_valid(work_item)
                 THEN work_item ->> '$.ActivityExecute.name' END AS name) AS n
         WHERE octet_length(n.name) <= 512), '')
     WHERE id IN (
         SELECT id FROM worker_queue INDEXED BY idx_worker_code
         WHERE locked_until IS NULL AND tag IS ?1 AND code IS NULL LIMIT ?2)";

const NEXT_SQL: &str = "SELECT code FROM worker_queue INDEXED BY idx_worker_code
     WHERE locked_until IS NULL AND tag IS ?1 AND code >= ?2 ORDER BY code LIMIT 1";

const NEXT_IN_SESSION_SQL: &str = "SELECT code FROM worker_queue INDEXED BY idx_worker_session_code
     WHERE session_id = ?1 AND locked_until IS NULL AND visible_at = 0 AND tag IS ?2 AND code >= ?3
     ORDER BY code LIMIT 1";

const FIRST_IN_SESSION_SQL: &str = "SELECT id FROM worker_queue INDEXED BY idx_worker_session_code
     WHERE session_id = ?1 AND locked_until IS NULL AND visible_at = 0 AND tag IS ?2 AND code = ?3
     ORDER BY id LIMIT 1";
