//! Activities that no worker has leased, as operators see them.

use std::collections::BTreeSet;

use duroxide_core::providers::kit::{cursor_at, number_behind};
use duroxide_core::providers::{ScheduledActivityIdentifier, WaitingWork, WaitingWorkQuery};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::JobError;
use crate::schema::number::{from_db, to_db};
use crate::schema::stored_text::{stored_id, stored_integer};

/// Tags of activities that no worker has leased, ascending.
pub(crate) fn tags(
    conn: &Connection,
    now: u64,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<Option<String>>, JobError> {
    let limit = limit as usize;
    // Mostly nothing waits: one statement says so.
    let (has_untagged, has_tagged, has_expired): (bool, bool, bool) = conn
        .prepare_cached(WAITING_SQL)?
        .query_row([to_db(now)], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let mut tags = if has_expired { expired_tags(conn, now)? } else { BTreeSet::new() };
    tags.retain(|tag| after.is_none_or(|after| tag.as_deref() > Some(after)));
    if after.is_none() && has_untagged {
        tags.insert(None);
    }
    // From tag to tag by one step in the index each, however many activities wait.
    let mut next = match after {
        _ if !has_tagged => None,
        Some(after) => tag_after(conn, after)?,
        None => first_tag(conn)?,
    };
    let mut steps = 0;
    while let Some(tag) = next.filter(|_| steps < limit) {
        next = tag_after(conn, &tag)?;
        tags.insert(Some(tag));
        steps += 1;
    }
    Ok(tags.into_iter().take(limit).collect())
}

/// All tags of activities that no worker has leased.
pub(crate) fn ready_tags(conn: &Connection) -> Result<Vec<Option<String>>, JobError> {
    let mut tags = Vec::new();
    if conn.prepare_cached(WAITING_UNTAGGED_SQL)?.exists([])? {
        tags.push(None);
    }
    let mut next = first_tag(conn)?;
    while let Some(tag) = next {
        next = tag_after(conn, &tag)?;
        tags.push(Some(tag));
    }
    Ok(tags)
}

fn first_tag(conn: &Connection) -> Result<Option<String>, JobError> {
    Ok(conn.prepare_cached(FIRST_TAG_SQL)?.query_row([], |row| row.get(0)).optional()?.flatten())
}

fn tag_after(conn: &Connection, tag: &str) -> Result<Option<String>, JobError> {
    Ok(conn.prepare_cached(NEXT_TAG_SQL)?.query_row([tag], |row| row.get(0)).optional()?.flatten())
}

/// Tags of activities whose lease has expired. These are few.
fn expired_tags(conn: &Connection, now: u64) -> Result<BTreeSet<Option<String>>, JobError> {
    Ok(conn
        .prepare_cached(
            "SELECT tag FROM worker_queue INDEXED BY idx_worker_lease
             WHERE locked_until IS NOT NULL AND locked_until <= ?1",
        )?
        .query_map([to_db(now)], |row| row.get(0))?
        .collect::<Result<_, _>>()?)
}

const WAITING_SQL: &str = "SELECT EXISTS (
         SELECT 1 FROM worker_queue INDEXED BY idx_worker_ready
         WHERE locked_until IS NULL AND tag IS NULL),
     EXISTS (
         SELECT 1 FROM worker_queue INDEXED BY idx_worker_ready
         WHERE locked_until IS NULL AND tag >= ''),
     EXISTS (
         SELECT 1 FROM worker_queue INDEXED BY idx_worker_lease
         WHERE locked_until IS NOT NULL AND locked_until <= ?1)";

const WAITING_UNTAGGED_SQL: &str = "SELECT 1 FROM worker_queue INDEXED BY idx_worker_ready
     WHERE locked_until IS NULL AND tag IS NULL LIMIT 1";

const FIRST_TAG_SQL: &str = "SELECT tag FROM worker_queue INDEXED BY idx_worker_ready
     WHERE locked_until IS NULL AND tag >= '' ORDER BY tag LIMIT 1";

const NEXT_TAG_SQL: &str = "SELECT tag FROM worker_queue INDEXED BY idx_worker_ready
     WHERE locked_until IS NULL AND tag > ?1 ORDER BY tag LIMIT 1";

/// Activities of one tag that no worker has leased, oldest first.
pub(crate) fn work(
    conn: &Connection,
    now: u64,
    query: &WaitingWorkQuery,
) -> Result<Vec<WaitingWork>, JobError> {
    let (tag, after) = (query.tag.as_deref(), to_db(number_behind(query.after.as_ref())?));
    let mut found: Vec<(u64, WaitingWork)> = Vec::new();
    let mut ready = conn.prepare_cached(WAITING_WORK_SQL)?;
    for lane in LANES {
        let given = params![tag, after, query.limit, lane];
        let ready = ready.query_map(given, |row| waiting(row, tag))?;
        found.extend(ready.collect::<Result<Vec<_>, _>>()?.into_iter().flatten());
    }
    let mut expired = conn.prepare_cached(EXPIRED_WORK_SQL)?;
    let expired = expired.query_map(params![tag, after, to_db(now)], |row| waiting(row, tag))?;
    found.extend(expired.collect::<Result<Vec<_>, _>>()?.into_iter().flatten());
    found.sort_unstable_by_key(|(number, _)| *number);
    found.truncate(query.limit as usize);
    Ok(found.into_iter().map(|(_, work)| work).collect())
}

const WAITING_WORK_SQL: &str =
    "SELECT id, instance_id, execution_id, activity_id, session_id, created_at,
         code, CASE WHEN coalesce(code, '') = '' AND json_valid(work_item)
             THEN work_item ->> '$.ActivityExecute.name' END
     FROM worker_queue INDEXED BY idx_worker_ready
     WHERE locked_until IS NULL AND tag IS ?1 AND lane = ?4 AND id > ?2 ORDER BY id LIMIT ?3";

/// The lanes of the index, which sorts by lane before age.
const LANES: [i64; 3] = [0, 1, 2];

// Neither sorted nor limited: expired leases are few.
const EXPIRED_WORK_SQL: &str =
    "SELECT id, instance_id, execution_id, activity_id, session_id, created_at,
         code, CASE WHEN coalesce(code, '') = '' AND json_valid(work_item)
             THEN work_item ->> '$.ActivityExecute.name' END
     FROM worker_queue INDEXED BY idx_worker_lease
     WHERE locked_until IS NOT NULL AND locked_until <= ?3 AND tag IS ?1 AND id > ?2";

/// One row and its number in the queue; `None` if its columns are damaged.
fn waiting(row: &Row<'_>, tag: Option<&str>) -> rusqlite::Result<Option<(u64, WaitingWork)>> {
    let number = |column| Ok::<_, rusqlite::Error>(stored_integer(row, column)?.map(from_db));
    let (place, instance_id, execution_id) = (number(0)?, stored_id(row, 1)?, number(2)?);
    let (activity_id, session_id, since) = (number(3)?, stored_id(row, 4)?, number(5)?);
    // A payload may be large, and is read only if its name is not known otherwise.
    let name = match stored_id(row, 6)?.as_deref().and_then(|code| code.strip_prefix('=')) {
        Some(name) => Some(name.to_owned()),
        None => stored_id(row, 7)?,
    };
    Ok((|| {
        let activity = ScheduledActivityIdentifier {
            instance: instance_id?,
            execution_id: execution_id?,
            activity_id: activity_id?,
        };
        let work = WaitingWork::new(cursor_at(place?), activity, name.unwrap_or_default())
            .with_tag(tag.map(str::to_owned))
            .with_session_id(session_id)
            .with_waiting_since_ms(since.unwrap_or(0));
        Some((place?, work))
    })())
}
