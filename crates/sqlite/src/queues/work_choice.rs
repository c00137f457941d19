//! Choosing an activity for each slot: the oldest that the slot may run.
//!
//! The cost depends on what the worker may claim, not on what waits. Activities of other tags, of
//! sessions that another worker owns, and delayed ones are in other ranges of the index.

use std::collections::VecDeque;

use duroxide_core::providers::{TagFilter, WorkSlot};
use rusqlite::params;

use crate::error::JobError;
use crate::limits;
use crate::queues::{sessions, waiting_work};
use crate::schema::stored_text::stored_id;
use crate::write::writer::Tx;

/// The choice of one fetch.
pub(crate) struct WorkChoice {
    /// The tags that the worker serves.
    tags: Vec<Option<String>>,
    /// The oldest activities without a session.
    plain: VecDeque<i64>,
    sessions: FreeSessions,
}

/// Activities of sessions, the oldest first. Those of owned sessions leave the lane as they are
/// read: their owner finds them by the session.
#[derive(Default)]
struct FreeSessions {
    read: VecDeque<(i64, String)>,
    /// The last activity that was read.
    after: i64,
    is_exhausted: bool,
    moved: u32,
}

impl WorkChoice {
    /// The choice of a worker with this many slots.
    pub(crate) fn new(tx: &Tx<'_>, filter: &TagFilter, slots: usize) -> Result<Self, JobError> {
        let tags = match tags_of(filter) {
            Some(tags) => tags,
            None => waiting_work::ready_tags(tx.conn)?,
        };
        let plain = oldest_plain(tx, &tags, slots)?;
        Ok(Self { tags, plain, sessions: FreeSessions::default() })
    }

    /// The oldest activity without a session.
    pub(crate) fn take_plain(&mut self) -> Option<i64> {
        self.plain.pop_front()
    }

    /// The oldest activity that a slot may run.
    pub(crate) fn take(&mut self, tx: &Tx<'_>, slot: &WorkSlot) -> Result<Option<i64>, JobError> {
        let plain = self.plain.front().copied();
        let (owned, free) = match &slot.session {
            None => (None, None),
            Some(session) => {
                (self.oldest_owned(tx, &session.owner_id)?, self.sessions.oldest(tx, &self.tags)?)
            }
        };
        let oldest = plain.into_iter().chain(owned).chain(free).min();
        if oldest.is_some() && oldest == plain {
            self.plain.pop_front();
        }
        if oldest.is_some() && oldest == free {
            self.sessions.read.pop_front();
        }
        Ok(oldest)
    }

    /// Whether the choice stopped before it had read every activity that a slot may run.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.sessions.moved >= limits::MOVED_PER_FETCH_MAX
    }

    /// The oldest activity of the sessions of an owner.
    fn oldest_owned(&self, tx: &Tx<'_>, owner: &str) -> Result<Option<i64>, JobError> {
        let mut sessions = tx.conn.prepare_cached(OWNED_SESSIONS_SQL)?;
        let mut sessions = sessions.query(params![owner, tx.now])?;
        let mut activities = tx.conn.prepare_cached(OF_SESSION_SQL)?;
        let mut oldest = None;
        while let Some(session) = sessions.next()? {
            let Some(session_id) = stored_id(session, 0)? else { continue };
            let mut rows = activities.query([session_id])?;
            while let Some(row) = rows.next()? {
                if self.tags.contains(&stored_id(row, 1)?) {
                    oldest = oldest.into_iter().chain(Some(row.get(0)?)).min();
                    break;
                }
            }
        }
        Ok(oldest)
    }
}

impl FreeSessions {
    /// The oldest activity whose session no worker owns.
    fn oldest(&mut self, tx: &Tx<'_>, tags: &[Option<String>]) -> Result<Option<i64>, JobError> {
        while self.moved < limits::MOVED_PER_FETCH_MAX {
            let Some((id, session_id)) = self.read.front() else {
                if self.is_exhausted {
                    return Ok(None);
                }
                self.read_more(tx, tags)?;
                continue;
            };
            if !sessions::is_owned(tx, session_id)? {
                return Ok(Some(*id));
            }
            tx.conn
                .prepare_cached("UPDATE worker_queue SET lane = 2 WHERE id = ?1")?
                .execute([id])?;
            self.moved += 1;
            self.read.pop_front();
        }
        Ok(None)
    }

    fn read_more(&mut self, tx: &Tx<'_>, tags: &[Option<String>]) -> Result<(), JobError> {
        let limit = limits::SESSION_ACTIVITIES_PER_READ;
        let mut statement = tx.conn.prepare_cached(SESSIONS_SQL)?;
        let mut found: Vec<(i64, String)> = Vec::new();
        for tag in tags {
            let rows = statement.query_map(params![tag, self.after, limit], |row| {
                Ok((row.get(0)?, stored_id(row, 1)?.unwrap_or_default()))
            })?;
            found.extend(rows.collect::<Result<Vec<_>, _>>()?);
        }
        self.is_exhausted = found.len() < limit as usize;
        found.sort_unstable();
        found.truncate(limit as usize);
        self.after = found.last().map_or(self.after, |(id, _)| *id);
        self.read = found.into();
        Ok(())
    }
}

/// The tags that a filter names; `None` for all of them.
fn tags_of(filter: &TagFilter) -> Option<Vec<Option<String>>> {
    Some(match filter {
        TagFilter::Any => return None,
        TagFilter::None => Vec::new(),
        TagFilter::DefaultOnly => vec![None],
        TagFilter::Tags(tags) => tags.iter().cloned().map(Some).collect(),
        TagFilter::DefaultAnd(tags) => {
            std::iter::once(None).chain(tags.iter().cloned().map(Some)).collect()
        }
    })
}

fn oldest_plain(
    tx: &Tx<'_>,
    tags: &[Option<String>],
    wanted: usize,
) -> Result<VecDeque<i64>, JobError> {
    let limit = i64::try_from(wanted).unwrap_or(i64::MAX);
    let mut oldest = Vec::new();
    let mut statement = tx.conn.prepare_cached(PLAIN_SQL)?;
    for tag in tags {
        let ids = statement.query_map(params![tag, limit], |row| row.get(0))?;
        oldest.extend(ids.collect::<Result<Vec<i64>, _>>()?);
    }
    oldest.sort_unstable();
    oldest.truncate(wanted);
    Ok(oldest.into())
}

pub(crate) const PLAIN_SQL: &str = "SELECT id FROM worker_queue INDEXED BY idx_worker_ready
     WHERE locked_until IS NULL AND tag IS ?1 AND lane = 0 ORDER BY id LIMIT ?2";

const SESSIONS_SQL: &str = "SELECT id, session_id FROM worker_queue INDEXED BY idx_worker_ready
     WHERE locked_until IS NULL AND tag IS ?1 AND lane = 1 AND id > ?2 ORDER BY id LIMIT ?3";

const OWNED_SESSIONS_SQL: &str = "SELECT session_id FROM sessions INDEXED BY idx_sessions_worker
     WHERE worker_id = ?1 AND locked_until > ?2 AND expired = 0";

const OF_SESSION_SQL: &str = "SELECT id, tag FROM worker_queue INDEXED BY idx_worker_session
     WHERE session_id = ?1 AND locked_until IS NULL AND visible_at = 0 ORDER BY id";
