//! The messages of a turn.
//!
//! A turn takes the first of the visible messages, up to a bound; the others wait for the next
//! turn. A message that starts an execution is always part of it: without it the code cannot run.
//! So is a cancellation, which does not wait for the turns of all that came before it.
//! The lease remembers where the turn ends, so that its commit does not read the messages behind.
//! Most turns have one message, which its lease finds by its id.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};

use crate::error::JobError;
use crate::fetch::turn_lock::{Release, TurnLock, TurnToken};
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
    /// The place of the first start among them.
    first_start: Option<usize>,
}

impl TurnMessages {
    /// The text of the first start. Of several, the runtime decides which one counts.
    pub(crate) fn first_start(&self) -> Option<&str> {
        self.texts.get(self.first_start?).map(|(_, text)| text.as_str())
    }
}

/// A part of the messages of one instance.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueuePart {
    /// The last message in the order of visibility and arrival.
    pub(crate) last_visible_at: i64,
    pub(crate) last_id: i64,
    /// One message besides those: a start or a cancellation behind them, or the only one.
    pub(crate) single_id: Option<i64>,
    /// A start is among them or behind.
    pub(crate) has_start: bool,
}

impl QueuePart {
    /// Reads it from the columns of a lease, from `column` on.
    pub(crate) fn read(row: &Row<'_>, column: usize) -> rusqlite::Result<Self> {
        Ok(Self {
            last_visible_at: row.get(column)?,
            last_id: row.get(column + 1)?,
            single_id: row.get(column + 2)?,
            has_start: row.get(column + 3)?,
        })
    }

    /// Everything that is visible now.
    fn visible(now: i64) -> Self {
        Self { last_visible_at: now, last_id: i64::MAX, single_id: None, has_start: false }
    }

    /// One message.
    fn only(message: &Message) -> Self {
        let (single_id, has_start) = (Some(message.id), message.is_start);
        Self { last_visible_at: i64::MIN, last_id: i64::MIN, single_id, has_start }
    }

    fn is_everything(self) -> bool {
        self.last_id == i64::MAX
    }

    /// Whether there is more than a single message.
    fn has_range(self) -> bool {
        self.last_visible_at > i64::MIN
    }
}

/// Chooses the messages of the next turn.
pub(crate) fn choose(tx: &Tx<'_>, instance: &str) -> Result<TurnMessages, JobError> {
    if let Some(messages) = choose_sound(tx, instance)? {
        return Ok(messages);
    }
    correct_times(tx, instance)?;
    choose_sound(tx, instance)?
        .ok_or_else(|| JobError::Broken(format!("times of messages of {instance} stay damaged")))
}

/// Makes damaged times of visible messages whole numbers: a lease names the end of its turn by one,
/// and its commit must find the same messages.
fn correct_times(tx: &Tx<'_>, instance: &str) -> Result<(), JobError> {
    tx.conn
        .prepare_cached(
            "UPDATE orchestrator_queue SET visible_at = max(CAST(visible_at AS INTEGER), 0)
             WHERE instance_id = ?1 AND visible_at <= ?2 AND typeof(visible_at) <> 'integer'",
        )?
        .execute(params![instance, tx.now])?;
    Ok(())
}

/// `None` if the time of one of them is no whole number.
fn choose_sound(tx: &Tx<'_>, instance: &str) -> Result<Option<TurnMessages>, JobError> {
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
        let ValueRef::Integer(visible_at) = row.get_ref(4)? else { return Ok(None) };
        last = Some((visible_at, message.id));
        had_lease |= row.get::<_, bool>(5)?;
        bytes += size;
        taken.push(message);
    }
    part.has_start = taken.iter().any(|message| message.is_start);
    if !part.is_everything()
        && !part.has_start
        && let Some(behind) = find_behind(tx, instance, part)?
    {
        part.single_id = Some(behind.id);
        part.has_start = behind.is_start;
        bytes += behind.text.len();
        taken.push(behind);
    }
    if let Some(alone) = taken.iter().position(Message::must_be_alone)
        && taken.len() > 1
    {
        let start = taken.swap_remove(alone);
        bytes = start.text.len();
        taken = vec![start];
    }
    if let [single] = taken.as_slice() {
        part = QueuePart::only(single);
    }
    taken.sort_unstable_by_key(|message| message.id);
    let attempt_count = taken.iter().map(|message| message.attempt).max().unwrap_or(0);
    let first_start = taken.iter().position(|message| message.is_start);
    let texts = taken.into_iter().map(|message| (message.id, message.text)).collect();
    Ok(Some(TurnMessages { texts, bytes, attempt_count, part, had_lease, first_start }))
}

/// Marks the messages of a turn with its mark and counts the attempt.
pub(crate) fn tag(
    tx: &Tx<'_>,
    token: TurnToken<'_>,
    messages: &TurnMessages,
) -> Result<(), JobError> {
    let TurnToken { mark, instance } = token;
    let part = messages.part;
    if messages.had_lease && !part.is_everything() {
        // Messages of an expired turn that are not part of this one must be fetchable again.
        untag(tx, instance)?;
    }
    // A statement of its own is cheaper than one that returns what it changed.
    if part.has_range() {
        tx.conn
            .prepare_cached(
                "UPDATE orchestrator_queue
                 SET lock_token = ?4, attempt_count = attempt_count + 1, route = NULL
                 WHERE instance_id = ?1 AND visible_at <= ?2 AND parked = 0
                     AND (visible_at < ?2 OR id <= ?3)",
            )?
            .execute(params![instance, part.last_visible_at, part.last_id, mark])?;
    }
    if let Some(single) = part.single_id {
        tx.conn
            .prepare_cached(
                "UPDATE orchestrator_queue
                 SET lock_token = ?2, attempt_count = attempt_count + 1, route = NULL
                 WHERE id = ?1",
            )?
            .execute(params![single, mark])?;
    }
    Ok(())
}

/// Deletes the messages of a turn; returns how many. Only rows with its mark: later arrivals belong
/// to the next.
pub(crate) fn delete(conn: &Connection, lock: &TurnLock<'_>) -> Result<usize, JobError> {
    let TurnToken { mark, instance } = lock.token;
    let part = lock.part;
    let mut deleted = 0;
    if part.has_range() {
        deleted += conn
            .prepare_cached(
                "DELETE FROM orchestrator_queue
                 WHERE instance_id = ?1 AND parked = 0 AND visible_at <= ?2 AND lock_token = ?4
                     AND (visible_at < ?2 OR id <= ?3)",
            )?
            .execute(params![instance, part.last_visible_at, part.last_id, mark])?;
    }
    if let Some(single) = part.single_id {
        deleted += conn
            .prepare_cached("DELETE FROM orchestrator_queue WHERE id = ?1 AND lock_token = ?2")?
            .execute(params![single, mark])?;
    }
    Ok(deleted)
}

/// Releases the messages of a turn. Only rows with its mark: later arrivals stay visible.
pub(crate) fn release(tx: &Tx<'_>, lock: &TurnLock<'_>, release: Release) -> Result<(), JobError> {
    let (visible_at, ignored_attempts) = (release.visible_at(tx.now), release.ignored_attempts());
    let TurnToken { mark, instance } = lock.token;
    let part = lock.part;
    if part.has_range() {
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
                instance,
                part.last_visible_at,
                part.last_id,
                mark,
                visible_at,
                ignored_attempts,
                tx.now
            ])?;
    }
    if let Some(single) = part.single_id {
        tx.conn
            .prepare_cached(
                "UPDATE orchestrator_queue
                 SET lock_token = NULL,
                     visible_at = coalesce(?3, visible_at),
                     timed_at = iif(?3 IS NULL, timed_at, ?5),
                     attempt_count = max(attempt_count - ?4, 0)
                 WHERE id = ?1 AND lock_token = ?2",
            )?
            .execute(params![single, mark, visible_at, ignored_attempts, tx.now])?;
    }
    Ok(())
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

/// A message behind a part that its turn takes as well.
fn find_behind(tx: &Tx<'_>, instance: &str, part: QueuePart) -> Result<Option<Message>, JobError> {
    match find_start(tx.conn, instance, tx.now)? {
        None => find_cancellation(tx, instance, part),
        start => Ok(start),
    }
}

fn find_cancellation(
    tx: &Tx<'_>,
    instance: &str,
    part: QueuePart,
) -> Result<Option<Message>, JobError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT id, work_item, attempt_count + 1, 0
         FROM orchestrator_queue INDEXED BY idx_orch_cancel
         WHERE instance_id = ?1 AND start_rank < 0 AND visible_at <= ?2 AND parked = 0
             AND (visible_at, id) > (?3, ?4)
         LIMIT 1",
    )?;
    let behind = params![instance, tx.now, part.last_visible_at, part.last_id];
    let mut rows = statement.query(behind)?;
    rows.next()?.map(read).transpose()
}

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
