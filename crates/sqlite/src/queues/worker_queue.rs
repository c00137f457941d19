//! Activities: enqueueing, leasing, cancelling.

use std::sync::Arc;
use std::time::Instant;

use duroxide_core::providers::kit::EncodedActivity;
use duroxide_core::providers::{
    FetchFilter, LeaseHolders, LeasedWork, RegisteredActivities, ScheduledActivity,
    ScheduledActivityIdentifier, TurnCommit, WorkItem, WorkSlot,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::JobError;
use crate::fetch::turn_lock::Release;
use crate::queues::sessions::{self, NewClaim};
use crate::queues::work_choice::WorkChoice;
use crate::queues::{due_work, work_lock};
use crate::schema::number::{from_db, millis_to_db, to_db};
use crate::schema::stored_text::{stored_attempts, stored_id, stored_integer, stored_text};
use crate::write::writer::Tx;

/// An activity in its stored form.
#[derive(Debug)]
pub(crate) struct NewWork {
    activity: ScheduledActivityIdentifier,
    session_id: Option<String>,
    tag: Option<String>,
    /// The key of its name.
    code: String,
    text: String,
    /// How long it may wait for a worker.
    start_limit: Option<i64>,
    /// The caller starts it at once, under a lease of this length.
    lease: Option<i64>,
}

impl NewWork {
    /// Encodes the activities of a commit.
    pub(crate) fn encode_all(commit: &TurnCommit) -> Result<Vec<Self>, JobError> {
        let encode = |activity: &ScheduledActivity| {
            let work = Self::encode(&activity.item)?;
            // An activity of a session has to be fetched: the session is leased with it.
            let lease = activity.lease.filter(|_| work.session_id.is_none()).map(millis_to_db);
            Ok(Self { start_limit: activity.start_limit.map(millis_to_db), lease, ..work })
        };
        commit.activities.iter().map(encode).collect()
    }

    /// Encodes an activity; refuses any other message.
    pub(crate) fn encode(item: &WorkItem) -> Result<Self, JobError> {
        let activity = EncodedActivity::encode(item)?;
        Ok(Self {
            activity: ScheduledActivityIdentifier {
                instance: activity.instance.to_owned(),
                execution_id: activity.execution_id,
                activity_id: activity.activity_id,
            },
            session_id: activity.session_id.map(str::to_owned),
            tag: activity.tag.map(str::to_owned),
            code: RegisteredActivities::key(activity.name),
            text: activity.text,
            start_limit: None,
            lease: None,
        })
    }
}

/// Adds activities; those with a lease belong to the caller at once.
pub(crate) fn insert_all(tx: &mut Tx<'_>, work: &[NewWork]) -> Result<Vec<LeasedWork>, JobError> {
    let mut leased = Vec::new();
    for (index, work) in work.iter().enumerate() {
        match work.lease {
            Some(length) => {
                let lock_token = insert_leased(tx, work, tx.now.saturating_add(length))?;
                leased.push(LeasedWork::new(index, lock_token));
            }
            None => insert(tx, work)?,
        }
    }
    Ok(leased)
}

/// The lease counts as the start, so a start limit is satisfied and not stored. Nor is the code:
/// no fetch needs it, unless the lease is lost.
fn insert_leased(tx: &Tx<'_>, work: &NewWork, until: i64) -> Result<String, JobError> {
    let mark = tx.holder.new_mark();
    tx.conn
        .prepare_cached(
            "INSERT INTO worker_queue (work_item, created_at, instance_id, execution_id,
                 activity_id, tag, lock_token, locked_until, timed_at, attempt_count)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?2, 1)",
        )?
        .execute(params![
            work.text,
            tx.now,
            work.activity.instance,
            to_db(work.activity.execution_id),
            to_db(work.activity.activity_id),
            work.tag,
            mark,
            until
        ])?;
    Ok(work_lock::token(&mark, tx.conn.last_insert_rowid()))
}

/// Adds an activity, visible at once.
pub(crate) fn insert(tx: &mut Tx<'_>, work: &NewWork) -> Result<(), JobError> {
    let lane = match &work.session_id {
        None => LANE_ANY,
        Some(session_id) if sessions::is_owned(tx, session_id)? => LANE_NONE,
        Some(_) => LANE_SESSIONS,
    };
    tx.conn
        .prepare_cached(
            "INSERT INTO worker_queue (work_item, created_at, instance_id, execution_id,
                 activity_id, session_id, tag, start_by, lane, code)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            work.text,
            tx.now,
            work.activity.instance,
            to_db(work.activity.execution_id),
            to_db(work.activity.activity_id),
            work.session_id,
            work.tag,
            work.start_limit.map(|limit| tx.now.saturating_add(limit)),
            lane,
            work.code
        ])?;
    tx.changes.worker_queue();
    if work.start_limit.is_some() {
        tx.changes.start_limits();
    }
    Ok(())
}

/// Any worker that serves the tag may claim the activity.
pub(crate) const LANE_ANY: i64 = 0;
/// Such a worker may claim it if it runs sessions.
pub(crate) const LANE_SESSIONS: i64 = 1;
/// Only the owner of its session may claim it, or no worker before its delay is over.
pub(crate) const LANE_NONE: i64 = 2;

/// Removes an activity, running or not. A worker that runs it is notified.
pub(crate) fn cancel(
    tx: &mut Tx<'_>,
    activity: &ScheduledActivityIdentifier,
) -> Result<(), JobError> {
    let was_leased: Option<bool> = tx
        .conn
        .prepare_cached(
            "DELETE FROM worker_queue
             WHERE instance_id = ?1 AND execution_id = ?2 AND activity_id = ?3
             RETURNING lock_token IS NOT NULL",
        )?
        .query_row(
            params![activity.instance, to_db(activity.execution_id), to_db(activity.activity_id)],
            |row| row.get(0),
        )
        .optional()?;
    if was_leased == Some(true) {
        tx.changes.work_locks();
    }
    Ok(())
}

/// What a worker requests.
pub(crate) struct WorkRequest {
    pub(crate) slots: Vec<WorkSlot>,
    pub(crate) lock_for: i64,
    pub(crate) filter: Arc<FetchFilter>,
    /// Nodes of this process, whose expired leases are extended.
    pub(crate) holders: LeaseHolders,
}

/// What a fetch found.
#[derive(Debug)]
pub(crate) struct WorkBatch {
    pub(crate) work: Vec<RawWork>,
    /// When something may become fetchable although nothing changes.
    pub(crate) next_due: Option<u64>,
    /// The job stopped before it had checked every activity.
    pub(crate) unfinished: bool,
    /// When the leases began.
    pub(crate) leased_at: Instant,
}

/// A leased activity that is not decoded yet.
#[derive(Debug)]
pub(crate) struct RawWork {
    pub(crate) slot: usize,
    pub(crate) id: i64,
    pub(crate) text: String,
    pub(crate) lock_token: String,
    pub(crate) attempt_count: u32,
    pub(crate) progress: Option<String>,
    /// The limit that was over before any worker started it.
    pub(crate) overdue: Option<u64>,
    /// What scheduled it, by the columns of its row.
    pub(crate) scheduled_by: Option<ScheduledActivityIdentifier>,
    /// The session that was claimed together with it.
    new_claim: Option<NewClaim>,
}

/// Leases one activity for each slot, in order, as long as there are any.
pub(crate) fn fetch_work(tx: &mut Tx<'_>, request: &WorkRequest) -> Result<WorkBatch, JobError> {
    let leased_at = Instant::now();
    let mut due = due_work::release(tx, &request.holders, request.lock_for)?;
    let mut choice = WorkChoice::new(tx, &request.filter, request.slots.len())?;
    let mut work = Vec::new();
    for (slot, wish) in request.slots.iter().enumerate() {
        // A lease of length zero has expired when the next slot is filled.
        if request.lock_for <= 0 && slot > 0 {
            due = due_work::release(tx, &request.holders, request.lock_for)?;
            choice = WorkChoice::new(tx, &request.filter, request.slots.len())?;
        }
        let chosen = if due.has_sessions { choice.take(tx, wish)? } else { choice.take_plain() };
        match chosen {
            Some(id) => work.push(lease(tx, request, slot, id)?),
            // What one slot may not lease, another may lease only if it belongs to a session.
            None if !due.has_sessions => break,
            None => {}
        }
    }
    let next_due = if work.is_empty() { next_due(tx.conn, tx.now)? } else { None };
    let unfinished = due.unfinished || choice.is_unfinished();
    Ok(WorkBatch { work, next_due, unfinished, leased_at })
}

/// Releases activities whose fetch was dropped, as if they had not been fetched.
pub(crate) fn undo(tx: &mut Tx<'_>, batch: &WorkBatch) -> Result<(), JobError> {
    for work in &batch.work {
        match work_lock::release_unstarted(tx, &work.lock_token, Release::UNTOUCHED) {
            // Another worker has leased or completed it since: there is nothing to release.
            Ok(()) | Err(JobError::Refused(..)) => {}
            Err(error) => return Err(error),
        }
    }
    // After all activities are released: one that is still leased keeps its session.
    for claim in batch.work.iter().filter_map(|work| work.new_claim.as_ref()) {
        sessions::release(tx, claim)?;
    }
    Ok(())
}

/// Leases one activity. The lease counts as its start, unless its limit is over.
pub(crate) fn lease(
    tx: &Tx<'_>,
    request: &WorkRequest,
    slot: usize,
    id: i64,
) -> Result<RawWork, JobError> {
    let mark = tx.holder.new_mark();
    let until = tx.now.saturating_add(request.lock_for);
    // Read as it is: a damaged row must not fail the fetch, nor stop those behind it. Two
    // statements are cheaper than one that returns what it changed.
    let (mut work, session_id) = tx
        .conn
        .prepare_cached(
            "SELECT work_item, attempt_count + 1, session_id, instance_id, execution_id,
                 activity_id, progress,
                 CASE WHEN starting = 0 AND start_by <= ?2 THEN start_by - created_at END
             FROM worker_queue WHERE id = ?1",
        )?
        .query_row(params![id, tx.now], |row| {
            let work = RawWork {
                slot,
                id,
                text: stored_text(row, 0)?,
                lock_token: work_lock::token(&mark, id),
                attempt_count: stored_attempts(row, 1)?,
                progress: stored_id(row, 6)?,
                overdue: stored_integer(row, 7)?.map(from_db),
                scheduled_by: scheduled_by(row)?,
                new_claim: None,
            };
            Ok((work, stored_id(row, 2)?))
        })?;
    tx.conn
        .prepare_cached(
            "UPDATE worker_queue
             SET lock_token = ?2, locked_until = ?3, timed_at = ?4,
                 attempt_count = attempt_count + 1,
                 start_by = CASE starting WHEN 0 THEN start_by END,
                 starting = coalesce(starting = 0 AND start_by > ?4, 0)
             WHERE id = ?1",
        )?
        .execute(params![id, mark, until, tx.now])?;
    let owner = request.slots.get(slot).and_then(|slot| slot.session.as_ref());
    if let (Some(session_id), Some(owner)) = (session_id, owner) {
        work.new_claim = sessions::claim(tx, session_id, owner)?;
    }
    Ok(work)
}

/// What scheduled an activity; `None` if the columns are damaged.
fn scheduled_by(row: &Row<'_>) -> rusqlite::Result<Option<ScheduledActivityIdentifier>> {
    let number = |column| {
        Ok::<_, rusqlite::Error>(stored_integer(row, column)?.and_then(|n| u64::try_from(n).ok()))
    };
    let (instance, execution_id, activity_id) = (stored_id(row, 3)?, number(4)?, number(5)?);
    Ok((|| {
        Some(ScheduledActivityIdentifier {
            instance: instance?,
            execution_id: execution_id?,
            activity_id: activity_id?,
        })
    })())
}

/// The next time at which an activity becomes visible, or a lease on one or on a session expires.
fn next_due(conn: &Connection, now: i64) -> Result<Option<u64>, JobError> {
    let due: Option<i64> =
        conn.prepare_cached(NEXT_DUE_SQL)?.query_row([now], |row| stored_integer(row, 0))?;
    Ok(due.map(from_db))
}

pub(crate) const NEXT_DUE_SQL: &str = "SELECT min(due) FROM (
     SELECT min(visible_at) AS due FROM worker_queue INDEXED BY idx_worker_delayed
         WHERE visible_at > 0 AND visible_at > ?1
     UNION ALL
     SELECT min(locked_until) FROM worker_queue INDEXED BY idx_worker_lease
         WHERE locked_until IS NOT NULL AND locked_until > ?1
     UNION ALL
     SELECT min(locked_until) FROM sessions INDEXED BY idx_sessions_until
         WHERE expired = 0 AND locked_until > ?1)";
