//! Messages for orchestrations: enqueueing, parking and un-parking.

use duroxide_core::providers::kit::{EncodedMessage, MessageKind};
use duroxide_core::providers::{ClientMessage, NeededCode, WorkItem};
use rusqlite::{Connection, params};

use crate::error::JobError;
use crate::queues::ready_messages;
use crate::schema::number::to_db;
use crate::schema::stored_text::stored_integer;
use crate::write::writer::Tx;

/// A message in its stored form.
#[derive(Debug)]
pub(crate) struct NewMessage {
    instance: String,
    text: String,
    /// Due time of a timer; other messages are visible at once.
    due: Option<i64>,
    /// 1 continues an instance, 2 starts one, -1 cancels one, 0 is any other message.
    start_rank: i8,
    /// The key of the code that a start requests.
    code: Option<String>,
}

impl NewMessage {
    /// Encodes a message; `None` if it does not belong to this queue.
    pub(crate) fn encode(item: &WorkItem) -> Result<Option<Self>, JobError> {
        Ok(EncodedMessage::encode(item)?.map(|message| Self::of(item, message)))
    }

    /// Encodes a message of this queue; refuses an activity.
    pub(crate) fn encode_message(item: &WorkItem) -> Result<Self, JobError> {
        Ok(Self::of(item, EncodedMessage::encode_message(item)?))
    }

    /// Encodes what completes an activity; refuses any other message.
    pub(crate) fn encode_completion(item: &WorkItem) -> Result<Self, JobError> {
        Ok(Self::of(item, EncodedMessage::encode_completion(item)?))
    }

    /// Encodes a message of a client; refuses an activity.
    pub(crate) fn encode_client_message(message: &ClientMessage) -> Result<Self, JobError> {
        Ok(Self::of(&message.item, EncodedMessage::encode_client_message(message)?))
    }

    fn of(item: &WorkItem, message: EncodedMessage<'_>) -> Self {
        let start_rank = match message.kind {
            MessageKind::Start if matches!(item, WorkItem::ContinueAsNew { .. }) => 1,
            MessageKind::Start => 2,
            MessageKind::Other if matches!(item, WorkItem::CancelInstance { .. }) => -1,
            MessageKind::Queue | MessageKind::Other => 0,
        };
        Self {
            instance: message.instance.to_owned(),
            text: message.text,
            due: message.due_ms.map(to_db),
            start_rank,
            code: NeededCode::of_message(item).map(|code| code.key()),
        }
    }

    /// Whether it is for this instance.
    pub(crate) fn is_for(&self, instance: &str) -> bool {
        self.instance == instance
    }

    /// Whether it starts or continues this instance.
    pub(crate) fn starts(&self, instance: &str) -> bool {
        self.start_rank > 0 && self.is_for(instance)
    }

    /// A timer that is due takes its place among other messages instead of coming before them.
    pub(crate) fn order_if_due(&mut self, now: i64) {
        self.due = self.due.filter(|due| *due > now);
    }

    /// When it becomes visible if it is enqueued at `now` without a delay.
    pub(crate) fn visible_at(&self, now: i64) -> i64 {
        self.due.unwrap_or(now)
    }
}

/// Adds a message, and lists it as ready unless an earlier one of its instance is in the queue. A
/// start makes the parked messages of its instance fetchable.
pub(crate) fn insert(
    tx: &mut Tx<'_>,
    message: &NewMessage,
    visible_at: i64,
) -> Result<(), JobError> {
    let instance = &message.instance;
    let is_behind = message.start_rank > 0 && has_messages(tx.conn, instance)?;
    let id = add(tx, message, visible_at)?;
    if is_behind {
        if unpark(tx.conn, instance)? {
            ready_messages::list_first(tx, instance)?;
        }
        ready_messages::route_new(tx.conn, instance, id)?;
        ready_messages::reroute(tx.conn, instance)?;
    }
    Ok(())
}

/// Adds the messages of a commit. The commit moves what was listed of its instance before, since a
/// continuation restores the route that the end of the execution has changed.
pub(crate) fn insert_all(
    tx: &mut Tx<'_>,
    instance: &str,
    messages: &[NewMessage],
) -> Result<(), JobError> {
    let mut first = None;
    for message in messages {
        let visible_at = message.visible_at(tx.now);
        if !message.is_for(instance) {
            insert(tx, message, visible_at)?;
            continue;
        }
        let has_others = message.starts(instance) && has_messages(tx.conn, instance)?;
        let id = add(tx, message, visible_at)?;
        let first = *first.get_or_insert(id);
        if has_others {
            unpark(tx.conn, instance)?;
            ready_messages::route_new(tx.conn, instance, first)?;
        }
    }
    Ok(())
}

/// Adds a message; returns its id.
fn add(tx: &mut Tx<'_>, message: &NewMessage, visible_at: i64) -> Result<i64, JobError> {
    tx.conn.prepare_cached(INSERT_SQL)?.execute(params![
        message.instance,
        message.text,
        visible_at,
        tx.now,
        message.start_rank,
        message.code
    ])?;
    tx.changes.orchestrator_queue();
    Ok(tx.conn.last_insert_rowid())
}

// The route of a new message, as in `ready_messages::route_of`. If other messages come before a
// start, `ready_messages::route_new` corrects it.
const INSERT_SQL: &str = "INSERT INTO orchestrator_queue
         (instance_id, work_item, visible_at, created_at, start_rank, code, route)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, CASE WHEN EXISTS (
         SELECT 1 FROM orchestrator_queue q INDEXED BY idx_orch_instance
         WHERE q.instance_id = ?1 AND q.parked = 0 AND q.visible_at <= ?3)
     THEN NULL ELSE coalesce((
         SELECT CASE
             WHEN e.status = 'Running' AND typeof(i.orchestration_name) = 'text'
                 AND typeof(i.orchestration_version) = 'text' THEN
                 i.orchestration_name || '\u{1}' || i.orchestration_version || '\u{1}'
             WHEN e.status = 'ContinuedAsNew' THEN coalesce(iif(?5 = 1, ?6, NULL), (
                 SELECT s.code FROM orchestrator_queue s INDEXED BY idx_orch_start
                 WHERE s.instance_id = ?1 AND s.start_rank = 1 AND s.start_rank > 0
                 ORDER BY s.id LIMIT 1), '\u{1}\u{1}')
             ELSE '\u{1}\u{1}' END
         || iif(typeof(e.duroxide_version) = 'text'
                 AND e.status NOT IN ('Completed', 'Failed'), e.duroxide_version, '')
         FROM instances i JOIN executions e
             ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
         WHERE i.instance_id = ?1), ?6, (
         SELECT f.code FROM orchestrator_queue f WHERE f.id = (
             SELECT min(s.id) FROM orchestrator_queue s INDEXED BY idx_orch_start
             WHERE s.instance_id = ?1 AND s.start_rank > 0)),
         '\u{1}\u{1}') END)";

fn has_messages(conn: &Connection, instance: &str) -> Result<bool, JobError> {
    Ok(conn
        .prepare_cached(
            "SELECT 1 FROM orchestrator_queue INDEXED BY idx_orch_instance
             WHERE instance_id = ?1 LIMIT 1",
        )?
        .exists([instance])?)
}

/// Makes the parked messages of an instance fetchable, once the caller has listed the first of all;
/// false if there are none.
pub(crate) fn unpark(conn: &Connection, instance: &str) -> Result<bool, JobError> {
    // A read is much cheaper than an update that changes nothing, and hardly any message is parked.
    let has_parked = conn
        .prepare_cached("SELECT 1 FROM orchestrator_queue WHERE instance_id = ?1 AND parked = 1")?
        .exists([instance])?;
    if has_parked {
        conn.prepare_cached(
            "UPDATE orchestrator_queue SET parked = 0 WHERE instance_id = ?1 AND parked = 1",
        )?
        .execute([instance])?;
        // They may come before the listed one.
        ready_messages::unlist_all(conn, instance)?;
    }
    Ok(has_parked)
}

/// Parks a message whose instance id is not text: no instance can have it.
pub(crate) fn park_unreadable(tx: &Tx<'_>, message: i64) -> Result<(), JobError> {
    tracing::error!(
        target: "duroxide::providers::sqlite",
        row = message,
        "the instance id of a message cannot be read; parking the message"
    );
    tx.conn
        .prepare_cached("UPDATE orchestrator_queue SET parked = 1, route = NULL WHERE id = ?1")?
        .execute([message])?;
    Ok(())
}

/// Sets the visible messages of an instance aside that does not exist and is not about to start, so
/// that the next fetch does not find them again. Queue messages are lossless and wait for their
/// instance; any other message is dropped, because it could only harm an instance that is started
/// later.
pub(crate) fn set_aside(tx: &mut Tx<'_>, instance: &str) -> Result<(), JobError> {
    set_visible_aside(tx, instance)?;
    // Others that are not visible yet may have stood behind these.
    ready_messages::list_first(tx, instance)?;
    Ok(())
}

fn set_visible_aside(tx: &mut Tx<'_>, instance: &str) -> Result<(), JobError> {
    if let Some(start_visible_at) = hidden_start(tx.conn, instance, tx.now)? {
        // The start was released with a delay; the messages become visible together with it.
        update_visible(tx, instance, start_visible_at, 0)?;
        return Ok(());
    }
    // What cannot be read is kept and listed.
    let dropped = tx
        .conn
        .prepare_cached(
            "DELETE FROM orchestrator_queue
             WHERE instance_id = ?1 AND visible_at <= ?2 AND parked = 0
                 AND json_valid(work_item) AND work_item NOT LIKE '{_QueueMessage_%'",
        )?
        .execute(params![instance, tx.now])?;
    if dropped > 0 {
        tracing::warn!(
            target: "duroxide::providers::sqlite",
            instance_id = instance,
            count = dropped,
            "dropping messages for an instance that does not exist"
        );
    }
    let parked = update_visible(tx, instance, tx.now, 1)?;
    if parked > 0 {
        tracing::warn!(
            target: "duroxide::providers::sqlite",
            instance_id = instance,
            count = parked,
            "parking queue messages for an instance that does not exist"
        );
    }
    Ok(())
}

fn update_visible(
    tx: &Tx<'_>,
    instance: &str,
    visible_at: i64,
    parked: i64,
) -> Result<usize, JobError> {
    Ok(tx
        .conn
        .prepare_cached(
            "UPDATE orchestrator_queue
             SET parked = ?4, visible_at = ?3, lock_token = NULL, route = NULL
             WHERE instance_id = ?1 AND visible_at <= ?2 AND parked = 0",
        )?
        .execute(params![instance, tx.now, visible_at, parked])?)
}

/// When a start that is still hidden becomes visible.
fn hidden_start(conn: &Connection, instance: &str, now: i64) -> Result<Option<i64>, JobError> {
    Ok(conn
        .prepare_cached(
            "SELECT min(visible_at) FROM orchestrator_queue INDEXED BY idx_orch_start
             WHERE instance_id = ?1 AND start_rank > 0 AND visible_at > ?2",
        )?
        .query_row(params![instance, now], |row| stored_integer(row, 0))?)
}
