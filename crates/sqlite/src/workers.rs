//! Nodes that run activities, and activities that wait for one.

use std::collections::BTreeSet;

use duroxide_core::providers::{LiveWorker, WaitingWork, WaitingWorkQuery, WorkerAnnouncement};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::JobError;
use crate::fetch::lease_length;
use crate::number::{from_db, to_db};
use crate::stored_text::{stored_id, stored_integer};
use crate::worker_queue::activity_name_sql;
use crate::writer::Tx;

/// An announcement in its stored form.
#[derive(Debug)]
pub(crate) struct NewWorker {
    node_id: String,
    tag_filter: String,
    activities: String,
    expires_in: i64,
}

impl NewWorker {
    /// Encodes an announcement.
    pub(crate) fn encode(announcement: &WorkerAnnouncement) -> Result<Self, JobError> {
        let mut activities = announcement.activities.clone();
        activities.sort_unstable();
        Ok(Self {
            node_id: announcement.node_id.clone(),
            tag_filter: serde_json::to_string(&announcement.tag_filter)?,
            activities: serde_json::to_string(&activities)?,
            expires_in: lease_length(announcement.expires_in),
        })
    }
}

/// Notes that a node runs activities, and forgets those that expired.
pub(crate) fn announce(tx: &mut Tx<'_>, worker: &NewWorker) -> Result<(), JobError> {
    tx.conn.prepare_cached("DELETE FROM workers WHERE expires_at <= ?1")?.execute([tx.now])?;
    tx.conn
        .prepare_cached(
            "INSERT INTO workers (node_id, tag_filter, activities, expires_at)
             VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (node_id) DO UPDATE
             SET tag_filter = ?2, activities = ?3, expires_at = ?4",
        )?
        .execute(params![
            worker.node_id,
            worker.tag_filter,
            worker.activities,
            tx.now.saturating_add(worker.expires_in)
        ])?;
    Ok(())
}

/// Notes that a node runs no more activities.
pub(crate) fn withdraw(tx: &mut Tx<'_>, node_id: &str) -> Result<(), JobError> {
    tx.conn.prepare_cached("DELETE FROM workers WHERE node_id = ?1")?.execute([node_id])?;
    Ok(())
}

/// Nodes that have not expired, by their names.
pub(crate) fn live(conn: &Connection, now: u64) -> Result<Vec<LiveWorker>, JobError> {
    let rows: Vec<(String, String, String, i64)> = conn
        .prepare_cached(
            "SELECT node_id, tag_filter, activities, expires_at FROM workers
             WHERE expires_at > ?1 ORDER BY node_id",
        )?
        .query_map([to_db(now)], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?
        .collect::<Result<_, _>>()?;
    rows.into_iter()
        .map(|(node_id, tag_filter, activities, expires_at)| {
            Ok(LiveWorker {
                node_id,
                tag_filter: serde_json::from_str(&tag_filter)?,
                activities: serde_json::from_str(&activities)?,
                expires_at_ms: from_db(expires_at),
            })
        })
        .collect()
}

/// Tags of activities that nobody has leased, ascending.
pub(crate) fn waiting_tags(
    conn: &Connection,
    now: u64,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<Option<String>>, JobError> {
    let limit = limit as usize;
    let mut tags = ended_tags(conn, now)?;
    tags.retain(|tag| after.is_none_or(|after| tag.as_deref() > Some(after)));
    if after.is_none() && conn.prepare_cached(WAITING_UNTAGGED_SQL)?.exists([])? {
        tags.insert(None);
    }
    // From tag to tag by one step in the index each, however many activities wait.
    let mut next = match after {
        Some(after) => tag_behind(conn, after)?,
        None => first_tag(conn)?,
    };
    let mut steps = 0;
    while let Some(tag) = next.filter(|_| steps < limit) {
        next = tag_behind(conn, &tag)?;
        tags.insert(Some(tag));
        steps += 1;
    }
    Ok(tags.into_iter().take(limit).collect())
}

fn first_tag(conn: &Connection) -> Result<Option<String>, JobError> {
    Ok(conn.prepare_cached(FIRST_TAG_SQL)?.query_row([], |row| row.get(0)).optional()?.flatten())
}

fn tag_behind(conn: &Connection, tag: &str) -> Result<Option<String>, JobError> {
    Ok(conn.prepare_cached(NEXT_TAG_SQL)?.query_row([tag], |row| row.get(0)).optional()?.flatten())
}

/// Tags of activities whose lease ran out. These are few.
fn ended_tags(conn: &Connection, now: u64) -> Result<BTreeSet<Option<String>>, JobError> {
    Ok(conn
        .prepare_cached(
            "SELECT DISTINCT tag FROM worker_queue INDEXED BY idx_worker_lease
             WHERE lock_token IS NOT NULL AND locked_until <= ?1",
        )?
        .query_map([to_db(now)], |row| row.get(0))?
        .collect::<Result<_, _>>()?)
}

pub(crate) const WAITING_UNTAGGED_SQL: &str =
    "SELECT 1 FROM worker_queue INDEXED BY idx_worker_ready
     WHERE lock_token IS NULL AND tag IS NULL LIMIT 1";

pub(crate) const FIRST_TAG_SQL: &str = "SELECT tag FROM worker_queue INDEXED BY idx_worker_ready
     WHERE lock_token IS NULL AND tag >= '' ORDER BY tag LIMIT 1";

pub(crate) const NEXT_TAG_SQL: &str = "SELECT tag FROM worker_queue INDEXED BY idx_worker_ready
     WHERE lock_token IS NULL AND tag > ?1 ORDER BY tag LIMIT 1";

/// Activities of one tag that nobody has leased, oldest first.
pub(crate) fn waiting_work(
    conn: &Connection,
    now: u64,
    query: &WaitingWorkQuery,
) -> Result<Vec<WaitingWork>, JobError> {
    let (tag, after) = (query.tag.as_deref(), to_db(query.after));
    let mut ready = conn.prepare_cached(WAITING_WORK_SQL)?;
    let ready = ready.query_map(params![tag, after, query.limit], |row| waiting(row, tag))?;
    let mut ended = conn.prepare_cached(ENDED_WORK_SQL)?;
    let bound = params![tag, after, query.limit, to_db(now)];
    let ended = ended.query_map(bound, |row| waiting(row, tag))?;
    let found = ready.chain(ended).collect::<Result<Vec<_>, _>>()?;
    let mut found: Vec<WaitingWork> = found.into_iter().flatten().collect();
    found.sort_unstable_by_key(|work| work.position);
    found.truncate(query.limit as usize);
    Ok(found)
}

macro_rules! waiting_columns {
    () => {
        concat!(
            "SELECT id, instance_id, execution_id, activity_id, session_id, created_at, ",
            activity_name_sql!(),
            " FROM worker_queue "
        )
    };
}

pub(crate) const WAITING_WORK_SQL: &str = concat!(
    waiting_columns!(),
    "INDEXED BY idx_worker_ready
     WHERE lock_token IS NULL AND tag IS ?1 AND id > ?2 ORDER BY id LIMIT ?3"
);

pub(crate) const ENDED_WORK_SQL: &str = concat!(
    waiting_columns!(),
    "INDEXED BY idx_worker_lease
     WHERE lock_token IS NOT NULL AND locked_until <= ?4 AND tag IS ?1 AND id > ?2
     ORDER BY id LIMIT ?3"
);

/// One row; `None` if it does not say what it is.
fn waiting(row: &Row<'_>, tag: Option<&str>) -> rusqlite::Result<Option<WaitingWork>> {
    let number = |column| Ok::<_, rusqlite::Error>(stored_integer(row, column)?.map(from_db));
    let (position, instance_id, execution_id) = (number(0)?, stored_id(row, 1)?, number(2)?);
    let (activity_id, session_id, since) = (number(3)?, stored_id(row, 4)?, number(5)?);
    let name = stored_id(row, 6)?;
    Ok((|| {
        Some(WaitingWork {
            position: position?,
            instance_id: instance_id?,
            execution_id: execution_id?,
            activity_id: activity_id?,
            activity_name: name.unwrap_or_default(),
            tag: tag.map(str::to_owned),
            session_id,
            waiting_since_ms: since.unwrap_or(0),
        })
    })())
}
