//! The messages of a turn.
//!
//! A turn takes the first of the visible messages, up to a bound; the others wait for the next
//! turn. A message that starts an execution is always part of it: without it the code cannot run.
//! The lease remembers where the turn ends, so that its commit does not read the messages behind.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::JobError;
use crate::fetch::turn_lock::{Release, TurnLock};
use crate::limits;
use crate::schema::stored_text::{stored_attempts, stored_text};
use crate::write::writer::Tx;

/// The messages that a turn takes.
#[derive(Debug)]
pub(crate) struct TurnMessages {
    /// Row id and text, in arrival order.
    pub(crate) texts: Vec<(i64, String)>,
    pub(crate) bytes: usize,
    /// The highest attempt of them.
    pub(crate) attempt_count: u32,
    /// Which rows they are.
    pub(crate) part: QueuePart,
    /// One of them belonged to a turn whose lease has expired.
    pub(crate) had_lease: bool,
}

/// A part of the messages of one instance.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueuePart {
    /// The last message in the order of visibility and arrival.
    pub(crate) last_visible_at: i64,
    pub(crate) last_id: i64,
    /// A start behind it.
    pub(crate) start_id: Option<i64>,
    /// A start is among them or behind.
    pub(crate) has_start: bool,
}

impl QueuePart {
    /// Everything that is visible now.
    fn visible(now: i64) -> Self {
        Self { last_visible_at: now, last_id: i64::MAX, start_id: None, has_start: false }
    }

    /// One start.
    fn only(start_id: i64) -> Self {
        let start_id = Some(start_id);
        Self { last_visible_at: i64::MIN, last_id: i64::MIN, start_id, has_start: true }
    }
}

/// Chooses the messages of the next turn.
pub(crate) fn choose(tx: &Tx<'_>, instance: &str) -> Result<TurnMessages, JobError> {
    let mut taken = Vec::new();
    let (mut bytes, mut had_lease) = (0, false);
    let mut part = QueuePart::visible(tx.now);
    let mut statement = tx.conn.prepare_cached(WAITING_SQL)?;
    let mut rows = statement.query(params![instance, tx.now])?;
    let mut last = None;
    while let Some(row) = rows.next()? {
        let size = row.get_ref(1)?.as_bytes().map_or(0, <[u8]>::len);
        let is_full =
            taken.len() >= limits::TURN_MESSAGES_MAX || bytes + size > limits::TURN_BYTES_MAX;
        if let Some((last_visible_at, last_id)) = last.filter(|_| is_full) {
            part = QueuePart { last_visible_at, last_id, ..part };
            break;
        }
        let message = read(row)?;
        last = Some((row.get(4)?, message.id));
        had_lease |= row.get::<_, bool>(5)?;
        bytes += size;
        taken.push(message);
    }
    part.has_start = taken.iter().any(|message| message.is_start);
    if !part.is_everything()
        && !part.has_start
        && let Some(start) = find_start(tx.conn, instance, tx.now)?
    {
        part.start_id = Some(start.id);
        part.has_start = true;
        bytes += start.text.len();
        taken.push(start);
    }
    if let Some(alone) = taken.iter().position(Message::must_be_alone)
        && taken.len() > 1
    {
        let start = taken.swap_remove(alone);
        part = QueuePart::only(start.id);
        bytes = start.text.len();
        taken = vec![start];
    }
    taken.sort_unstable_by_key(|message| message.id);
    let attempt_count = taken.iter().map(|message| message.attempt).max().unwrap_or(0);
    let texts = taken.into_iter().map(|message| (message.id, message.text)).collect();
    Ok(TurnMessages { texts, bytes, attempt_count, part, had_lease })
}

/// Marks the messages of a turn with its token and counts the attempt.
pub(crate) fn tag(
    tx: &Tx<'_>,
    instance: &str,
    token: &str,
    messages: &TurnMessages,
) -> Result<(), JobError> {
    let part = messages.part;
    if messages.had_lease && !part.is_everything() {
        // Messages of an expired turn that are not part of this one must be fetchable again.
        untag(tx, instance)?;
    }
    // A statement of its own is cheaper than one that returns what it changed.
    tx.conn
        .prepare_cached(
            "UPDATE orchestrator_queue
             SET lock_token = ?4, attempt_count = attempt_count + 1, route = NULL
             WHERE instance_id = ?1 AND visible_at <= ?2 AND parked = 0
                 AND (visible_at < ?2 OR id <= ?3)",
        )?
        .execute(params![instance, part.last_visible_at, part.last_id, token])?;
    if let Some(start) = part.start_id {
        tx.conn
            .prepare_cached(
                "UPDATE orchestrator_queue
                 SET lock_token = ?2, attempt_count = attempt_count + 1, route = NULL
                 WHERE id = ?1",
            )?
            .execute(params![start, token])?;
    }
    Ok(())
}

/// Deletes the messages of a turn. Only rows with its token: later arrivals belong to the next.
pub(crate) fn delete(conn: &Connection, token: &str, lock: &TurnLock) -> Result<(), JobError> {
    let part = lock.part;
    conn.prepare_cached(
        "DELETE FROM orchestrator_queue
         WHERE instance_id = ?1 AND parked = 0 AND visible_at <= ?2 AND lock_token = ?4
             AND (visible_at < ?2 OR id <= ?3)",
    )?
    .execute(params![lock.instance, part.last_visible_at, part.last_id, token])?;
    if let Some(start) = part.start_id {
        conn.prepare_cached("DELETE FROM orchestrator_queue WHERE id = ?1 AND lock_token = ?2")?
            .execute(params![start, token])?;
    }
    Ok(())
}

/// Releases the messages of a turn. Only rows with its token: later arrivals stay visible.
pub(crate) fn release(
    tx: &Tx<'_>,
    token: &str,
    lock: &TurnLock,
    release: Release,
) -> Result<(), JobError> {
    let (visible_at, ignored_attempts) = (release.visible_at(tx.now), release.ignored_attempts());
    let part = lock.part;
    tx.conn
        .prepare_cached(
            "UPDATE orchestrator_queue
             SET lock_token = NULL,
                 visible_at = coalesce(?5, visible_at),
                 timed_at = iif(?5 IS NULL, timed_at, ?7),
                 attempt_count = max(attempt_count - ?6, 0)
             WHERE instance_id = ?1 AND parked = 0 AND visible_at <= ?2 AND lock_token = ?4
                 AND (visible_at < ?2 OR id <= ?3)",
        )?
        .execute(params![
            lock.instance,
            part.last_visible_at,
            part.last_id,
            token,
            visible_at,
            ignored_attempts,
            tx.now
        ])?;
    if let Some(start) = part.start_id {
        tx.conn
            .prepare_cached(
                "UPDATE orchestrator_queue
                 SET lock_token = NULL,
                     visible_at = coalesce(?3, visible_at),
                     timed_at = iif(?3 IS NULL, timed_at, ?5),
                     attempt_count = max(attempt_count - ?4, 0)
                 WHERE id = ?1 AND lock_token = ?2",
            )?
            .execute(params![start, token, visible_at, ignored_attempts, tx.now])?;
    }
    Ok(())
}

/// The text of the message that starts an execution of an instance, if one is visible.
pub(crate) fn visible_start(
    conn: &Connection,
    instance: &str,
    now: i64,
) -> Result<Option<String>, JobError> {
    // The first of several, as its name is only shown: the runtime decides which one counts.
    let first = conn
        .prepare_cached(
            "SELECT work_item FROM orchestrator_queue WHERE id = (
                 SELECT min(id) FROM orchestrator_queue INDEXED BY idx_orch_start
                 WHERE instance_id = ?1 AND start_rank > 0 AND visible_at <= ?2 AND parked = 0)",
        )?
        .query_row(params![instance, now], |row| stored_text(row, 0))
        .optional()?;
    Ok(first)
}

impl QueuePart {
    fn is_everything(self) -> bool {
        self.last_id == i64::MAX
    }
}

struct Message {
    id: i64,
    text: String,
    attempt: u32,
    is_start: bool,
}

fn read(row: &Row<'_>) -> Result<Message, JobError> {
    Ok(Message {
        id: row.get(0)?,
        text: stored_text(row, 1)?,
        attempt: stored_attempts(row, 2)?,
        is_start: row.get(3)?,
    })
}

impl Message {
    /// A large start carries unread messages of the execution before. If more were added with each
    /// execution, an instance that continues as new after each message would carry all that wait.
    fn must_be_alone(&self) -> bool {
        self.is_start && self.text.len() >= limits::START_ALONE_BYTES
    }
}

// The last row shows whether more wait than a turn takes.
pub(crate) const WAITING_SQL: &str =
    "SELECT id, work_item, attempt_count + 1, start_rank > 0, visible_at, lock_token IS NOT NULL
     FROM orchestrator_queue INDEXED BY idx_orch_instance
     WHERE instance_id = ?1 AND visible_at <= ?2 AND parked = 0
     ORDER BY visible_at, id";

fn find_start(conn: &Connection, instance: &str, now: i64) -> Result<Option<Message>, JobError> {
    // A continuation comes before any start: an instance that exists can only be continued.
    let mut statement = conn.prepare_cached(
        "SELECT id, work_item, attempt_count + 1, start_rank > 0
         FROM orchestrator_queue INDEXED BY idx_orch_start
         WHERE instance_id = ?1 AND start_rank > 0 AND visible_at <= ?2 AND parked = 0
         ORDER BY start_rank, id LIMIT 1",
    )?;
    let mut rows = statement.query(params![instance, now])?;
    rows.next()?.map(read).transpose()
}

fn untag(tx: &Tx<'_>, instance: &str) -> Result<(), JobError> {
    tx.conn
        .prepare_cached(
            "UPDATE orchestrator_queue SET lock_token = NULL
             WHERE instance_id = ?1 AND parked = 0 AND visible_at <= ?2 AND lock_token IS NOT NULL",
        )?
        .execute(params![instance, tx.now])?;
    Ok(())
}
