//! What the queues hold of one instance, as operators see it.

use duroxide_core::providers::kit::message_variant;
use duroxide_core::providers::{
    InstanceQueues, InstanceQueuesQuery, NeededCode, QueuedActivity, QueuedMessage, SessionOwner,
    TurnLease,
};
use rusqlite::{Connection, OptionalExtension, Row, params};
use semver::Version;

use crate::error::JobError;
use crate::queues::ready_messages;
use crate::schema::number::{from_db, to_db};
use crate::schema::stored_text::{stored_attempts, stored_id, stored_integer, stored_text};
use crate::{deletion_slices, suspension};

/// What the queues hold of one instance.
pub(crate) fn read(
    conn: &Connection,
    now: u64,
    query: &InstanceQueuesQuery,
) -> Result<InstanceQueues, JobError> {
    let instance = query.instance.as_str();
    let queues = InstanceQueues::new(now);
    if deletion_slices::hides(conn, instance, None)? {
        return Ok(queues);
    }
    let route = ready_messages::route_of(conn, instance)?;
    let (code, pin) = ready_messages::parts(&route);
    let (activities, has_more) = activities(conn, to_db(now), query)?;
    let mut queues = queues
        .with_needs(NeededCode::from_key(code), Version::parse(pin).ok())
        .with_lease(lease(conn, to_db(now), instance)?)
        .with_activities(activities, has_more);
    for sql in [READY_SQL, DELAYED_SQL, PARKED_SQL] {
        count(conn, sql, query, &mut queues)?;
    }
    Ok(queues)
}

fn lease(conn: &Connection, now: i64, instance: &str) -> Result<Option<TurnLease>, JobError> {
    let found = conn
        .prepare_cached(
            "SELECT lock_token, locked_until FROM instance_locks
             WHERE instance_id = ?1 AND locked_until > ?2",
        )?
        .query_row(params![instance, now], |row| {
            Ok((stored_text(row, 0)?, stored_integer(row, 1)?.unwrap_or(i64::MAX)))
        })
        .optional()?;
    Ok(found.map(|(token, until)| match suspension::is_suspension(&token) {
        true => TurnLease::of_suspension((until < i64::MAX).then(|| from_db(until))),
        false => TurnLease::of_node(from_db(until)),
    }))
}

fn count(
    conn: &Connection,
    sql: &str,
    query: &InstanceQueuesQuery,
    queues: &mut InstanceQueues,
) -> Result<(), JobError> {
    let more = i64::from(query.limit) + 1;
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params![query.instance, to_db(queues.now_ms), more])?;
    let mut left = query.limit;
    while let Some(row) = rows.next()? {
        if left == 0 {
            queues.has_more_messages = true;
            break;
        }
        left -= 1;
        let text = stored_text(row, 0)?;
        queues.count(&QueuedMessage {
            kind: message_variant(&text),
            visible_at_ms: from_db(stored_integer(row, 1)?.unwrap_or(0)),
            is_parked: row.get(2)?,
            attempts: stored_attempts(row, 3)?,
        });
    }
    Ok(())
}

// The beginning of a message has its kind; a payload may be large.
const READY_SQL: &str = "SELECT substr(work_item, 1, 64), visible_at, parked, attempt_count
     FROM orchestrator_queue INDEXED BY idx_orch_instance
     WHERE instance_id = ?1 AND parked = 0 AND visible_at <= ?2 LIMIT ?3";

const DELAYED_SQL: &str = "SELECT substr(work_item, 1, 64), visible_at, parked, attempt_count
     FROM orchestrator_queue INDEXED BY idx_orch_instance
     WHERE instance_id = ?1 AND parked = 0 AND visible_at > ?2 LIMIT ?3";

const PARKED_SQL: &str = "SELECT substr(work_item, 1, 64), visible_at, parked, attempt_count
     FROM orchestrator_queue INDEXED BY idx_orch_instance
     WHERE instance_id = ?1 AND parked = 1 AND ?2 IS NOT NULL LIMIT ?3";

fn activities(
    conn: &Connection,
    now: i64,
    query: &InstanceQueuesQuery,
) -> Result<(Vec<QueuedActivity>, bool), JobError> {
    let more = i64::from(query.limit) + 1;
    let mut activities: Vec<QueuedActivity> = conn
        .prepare_cached(ACTIVITIES_SQL)?
        .query_map(params![query.instance, now, more], |row| activity(row, now))?
        .filter_map(Result::transpose)
        .collect::<Result<_, _>>()?;
    let has_more = activities.len() > query.limit as usize;
    activities.truncate(query.limit as usize);
    Ok((activities, has_more))
}

const ACTIVITIES_SQL: &str = "SELECT q.execution_id, q.activity_id, q.code,
         CASE WHEN coalesce(q.code, '') = '' AND json_valid(q.work_item)
             THEN q.work_item ->> '$.ActivityExecute.name' END,
         q.tag, q.session_id, q.created_at, q.visible_at, q.locked_until, q.attempt_count,
         iif(q.starting = 0, q.start_by, NULL), q.progress, q.progress_at,
         s.worker_id, s.locked_until
     FROM worker_queue q INDEXED BY idx_worker_activity
     LEFT JOIN sessions s ON s.session_id = q.session_id AND s.locked_until > ?2
         AND s.expired = 0
     WHERE q.instance_id = ?1 ORDER BY q.execution_id, q.activity_id, q.id LIMIT ?3";

/// One row; `None` if it does not name its activity.
fn activity(row: &Row<'_>, now: i64) -> rusqlite::Result<Option<QueuedActivity>> {
    let number = |column| Ok::<_, rusqlite::Error>(stored_integer(row, column)?.map(from_db));
    let later = |column| {
        let time = stored_integer(row, column)?.filter(|time| *time > now);
        Ok::<_, rusqlite::Error>(time.map(from_db))
    };
    let (Some(execution_id), Some(activity_id)) = (number(0)?, number(1)?) else { return Ok(None) };
    let name = match stored_id(row, 2)?.as_deref().and_then(|code| code.strip_prefix('=')) {
        Some(name) => Some(name.to_owned()),
        None => stored_id(row, 3)?,
    };
    let mut found = QueuedActivity::new(execution_id, activity_id, name.unwrap_or_default());
    found.tag = stored_id(row, 4)?;
    found.session_id = stored_id(row, 5)?;
    found.queued_at_ms = number(6)?.unwrap_or(0);
    found.delayed_until_ms = later(7)?;
    found.leased_until_ms = later(8)?;
    found.attempts = stored_attempts(row, 9)?;
    found.start_by_ms = number(10)?;
    found.progress = stored_id(row, 11)?;
    found.progress_at_ms = number(12)?;
    let owner = (stored_id(row, 13)?, number(14)?);
    if let (Some(owner_id), Some(until_ms)) = owner {
        found.session_owner = Some(SessionOwner::new(owner_id, until_ms));
    }
    Ok(Some(found))
}
