//! Choosing an activity for each slot: the oldest that the slot may run.
//!
//! The cost depends on what the worker may claim, not on what waits. Activities of other tags, of
//! code that the worker does not have, of sessions that another worker owns, and delayed ones are
//! in other ranges of the index.

use std::collections::VecDeque;

use duroxide_core::providers::{FetchFilter, RegisteredActivities, TagFilter, WorkSlot};
use rusqlite::params;

use crate::error::JobError;
use crate::limits;
use crate::queues::work_code::{self, Ranges, WorkRange};
use crate::queues::worker_queue::{LANE_ANY, LANE_SESSIONS};
use crate::queues::{sessions, waiting_work};
use crate::schema::stored_text::stored_id;
use crate::write::writer::Tx;

/// The choice of one fetch.
pub(crate) struct WorkChoice<'a> {
    /// The tags that the worker serves.
    tags: Vec<Option<String>>,
    /// The activities that the worker has; `None` for all.
    registered: Option<&'a RegisteredActivities>,
    /// The ranges that it may claim, once they are needed.
    ranges: Option<Ranges>,
    /// The oldest activities without a session.
    plain: VecDeque<i64>,
    sessions: FreeSessions,
}

/// Activities of sessions, the oldest first. Those of owned sessions leave the lane as they are
/// read: their owner finds them by the session.
#[derive(Default)]
struct FreeSessions {
    read: VecDeque<Ready>,
    /// The last activity that was read.
    after: i64,
    is_exhausted: bool,
    moved: u32,
}

/// A ready activity.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ready {
    id: i64,
    session_id: String,
}

impl<'a> WorkChoice<'a> {
    /// The choice of a worker with this many slots.
    pub(crate) fn new(
        tx: &Tx<'_>,
        filter: &'a FetchFilter,
        slots: usize,
    ) -> Result<Self, JobError> {
        let tags = match tags_of(&filter.tags) {
            Some(tags) => tags,
            None => waiting_work::ready_tags(tx.conn)?,
        };
        let (plain, sessions) = (VecDeque::new(), FreeSessions::default());
        let registered = filter.activities.as_ref();
        let mut choice = Self { tags, registered, ranges: None, plain, sessions };
        choice.plain = match choice.oldest_if_all_fit(tx, slots)? {
            Some(oldest) => oldest.into(),
            None => {
                let oldest = oldest(tx, choice.ranges(tx)?, LANE_ANY, 0, slots)?;
                oldest.into_iter().map(|ready| ready.id).collect()
            }
        };
        Ok(choice)
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
            Some(session) => (self.oldest_owned(tx, &session.owner_id)?, self.oldest_free(tx)?),
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
            || self.ranges.as_ref().is_some_and(|ranges| ranges.unfinished)
    }

    /// The ranges that the worker may claim.
    fn ranges(&mut self, tx: &Tx<'_>) -> Result<&[WorkRange], JobError> {
        let ranges = match self.ranges.take() {
            Some(ranges) => ranges,
            None => Ranges::of(tx, &self.tags, self.registered)?,
        };
        Ok(&self.ranges.insert(ranges).ranges)
    }

    /// The oldest activities without a session, if the worker has the code of all of them. Mostly
    /// it has: then there is no need to find out which code is ready.
    fn oldest_if_all_fit(&self, tx: &Tx<'_>, wanted: usize) -> Result<Option<Vec<i64>>, JobError> {
        let limit = i64::try_from(wanted).unwrap_or(i64::MAX);
        let mut oldest = Vec::new();
        let sql = if self.registered.is_some() { PLAIN_CODE_SQL } else { PLAIN_SQL };
        let mut statement = tx.conn.prepare_cached(sql)?;
        for tag in &self.tags {
            let mut rows = statement.query(params![tag, limit])?;
            while let Some(row) = rows.next()? {
                if let Some(registered) = self.registered
                    && stored_id(row, 1)?.is_none_or(|code| !registered.keys().contains(&code))
                {
                    return Ok(None);
                }
                oldest.push(row.get(0)?);
            }
        }
        oldest.sort_unstable();
        oldest.truncate(wanted);
        Ok(Some(oldest))
    }

    /// The oldest activity of the sessions of an owner.
    fn oldest_owned(&mut self, tx: &Tx<'_>, owner: &str) -> Result<Option<i64>, JobError> {
        let mut sessions = tx.conn.prepare_cached(OWNED_SESSIONS_SQL)?;
        let mut sessions = sessions.query(params![owner, tx.now])?;
        let mut oldest = None;
        while let Some(session) = sessions.next()? {
            let Some(session_id) = stored_id(session, 0)? else { continue };
            oldest = oldest.into_iter().chain(self.oldest_of(tx, &session_id)?).min();
        }
        Ok(oldest)
    }

    /// The oldest activity of a session.
    fn oldest_of(&mut self, tx: &Tx<'_>, session_id: &str) -> Result<Option<i64>, JobError> {
        let mut activities = tx.conn.prepare_cached(OF_SESSION_SQL)?;
        let mut rows = activities.query([session_id])?;
        while let Some(row) = rows.next()? {
            let serves_tag = self.tags.contains(&stored_id(row, 1)?);
            match (self.registered, stored_id(row, 2)?) {
                (None, _) if serves_tag => return Ok(Some(row.get(0)?)),
                (None, _) => {}
                (Some(registered), Some(code))
                    if serves_tag && registered.keys().contains(&code) =>
                {
                    return Ok(Some(row.get(0)?));
                }
                // Many like it may follow. The ranges settle what has no code yet.
                (Some(registered), _) => {
                    self.ranges(tx)?;
                    return work_code::oldest_in_session(tx, session_id, &self.tags, registered);
                }
            }
        }
        Ok(None)
    }

    /// The oldest activity whose session no worker owns.
    fn oldest_free(&mut self, tx: &Tx<'_>) -> Result<Option<i64>, JobError> {
        while self.sessions.moved < limits::MOVED_PER_FETCH_MAX {
            let Some(Ready { id, session_id }) = self.sessions.read.front() else {
                if self.sessions.is_exhausted {
                    return Ok(None);
                }
                let (after, limit) = (self.sessions.after, limits::SESSION_ACTIVITIES_PER_READ);
                let read = oldest(tx, self.ranges(tx)?, LANE_SESSIONS, after, limit)?;
                self.sessions.is_exhausted = read.len() < limit;
                self.sessions.after = read.last().map_or(after, |ready| ready.id);
                self.sessions.read = read.into();
                continue;
            };
            if !sessions::is_owned(tx, session_id)? {
                return Ok(Some(*id));
            }
            tx.conn
                .prepare_cached("UPDATE worker_queue SET lane = 2 WHERE id = ?1")?
                .execute([id])?;
            self.sessions.moved += 1;
            self.sessions.read.pop_front();
        }
        Ok(None)
    }
}

/// The oldest activities of a lane in some ranges, behind one of them.
fn oldest(
    tx: &Tx<'_>,
    ranges: &[WorkRange],
    lane: i64,
    after: i64,
    wanted: usize,
) -> Result<Vec<Ready>, JobError> {
    let mut heads = Vec::with_capacity(ranges.len());
    for range in ranges {
        let head = read_range(tx, range, lane, after, 1)?;
        heads.extend(head.into_iter().map(|head| (head.id, range)));
    }
    heads.sort_unstable_by_key(|(id, _)| *id);
    let mut oldest: Vec<Ready> = Vec::new();
    for (id, range) in heads {
        // Everything in this range and in those behind it is younger.
        if oldest.len() >= wanted && oldest.last().is_some_and(|last| last.id < id) {
            break;
        }
        oldest.extend(read_range(tx, range, lane, after, wanted)?);
        oldest.sort_unstable();
        oldest.truncate(wanted);
    }
    Ok(oldest)
}

fn read_range(
    tx: &Tx<'_>,
    range: &WorkRange,
    lane: i64,
    after: i64,
    wanted: usize,
) -> Result<Vec<Ready>, JobError> {
    let limit = i64::try_from(wanted).unwrap_or(i64::MAX);
    let sql = if range.code.is_some() { RANGE_SQL } else { RANGE_OF_TAG_SQL };
    let mut statement = tx.conn.prepare_cached(sql)?;
    let rows = statement.query_map(params![range.tag, lane, after, limit, range.code], |row| {
        Ok(Ready { id: row.get(0)?, session_id: stored_id(row, 1)?.unwrap_or_default() })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
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

pub(crate) const PLAIN_SQL: &str = "SELECT id FROM worker_queue INDEXED BY idx_worker_ready
     WHERE locked_until IS NULL AND tag IS ?1 AND lane = 0 ORDER BY id LIMIT ?2";

const PLAIN_CODE_SQL: &str = "SELECT id, code FROM worker_queue INDEXED BY idx_worker_ready
     WHERE locked_until IS NULL AND tag IS ?1 AND lane = 0 ORDER BY id LIMIT ?2";

const RANGE_SQL: &str = "SELECT id, session_id FROM worker_queue INDEXED BY idx_worker_code
     WHERE locked_until IS NULL AND tag IS ?1 AND code = ?5 AND lane = ?2 AND id > ?3
     ORDER BY id LIMIT ?4";

const RANGE_OF_TAG_SQL: &str = "SELECT id, session_id FROM worker_queue INDEXED BY idx_worker_ready
     WHERE locked_until IS NULL AND tag IS ?1 AND lane = ?2 AND id > ?3 AND ?5 IS NULL
     ORDER BY id LIMIT ?4";

const OWNED_SESSIONS_SQL: &str = "SELECT session_id FROM sessions INDEXED BY idx_sessions_worker
     WHERE worker_id = ?1 AND locked_until > ?2 AND expired = 0";

const OF_SESSION_SQL: &str = "SELECT id, tag, code FROM worker_queue INDEXED BY idx_worker_session
     WHERE session_id = ?1 AND locked_until IS NULL AND visible_at = 0 ORDER BY id";
