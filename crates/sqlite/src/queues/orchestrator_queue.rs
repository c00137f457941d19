//! Messages for orchestrations: enqueueing, parking and un-parking.

use duroxide_core::providers::WorkItem;
use duroxide_core::providers::kit::{EncodedMessage, MessageKind};
use rusqlite::{Connection, params};

use crate::error::JobError;
use crate::schema::number::to_db;
use crate::schema::stored_text::{stored_integer, stored_text};
use crate::write::writer::Tx;

/// A message in its stored form.
#[derive(Debug)]
pub(crate) struct NewMessage {
    instance: String,
    text: String,
    /// Due time of a timer; other messages are visible at once.
    due: Option<i64>,
    is_start: bool,
}

impl NewMessage {
    /// Encodes a message; `None` if it does not belong to this queue.
    pub(crate) fn encode(item: &WorkItem) -> Result<Option<Self>, JobError> {
        Ok(EncodedMessage::encode(item)?.map(Self::of))
    }

    /// Encodes a message of this queue; refuses an activity.
    pub(crate) fn encode_message(item: &WorkItem) -> Result<Self, JobError> {
        Ok(Self::of(EncodedMessage::encode_message(item)?))
    }

    /// Encodes what completes an activity; refuses any other message.
    pub(crate) fn encode_completion(item: &WorkItem) -> Result<Self, JobError> {
        Ok(Self::of(EncodedMessage::encode_completion(item)?))
    }

    fn of(message: EncodedMessage<'_>) -> Self {
        Self {
            instance: message.instance.to_owned(),
            text: message.text,
            due: message.due_ms.map(to_db),
            is_start: message.kind == MessageKind::Start,
        }
    }

    /// When it becomes visible if it is enqueued at `now` without a delay.
    pub(crate) fn visible_at(&self, now: i64) -> i64 {
        self.due.unwrap_or(now)
    }
}

/// Adds a message. A start makes the parked messages of its instance fetchable.
pub(crate) fn insert(
    tx: &mut Tx<'_>,
    message: &NewMessage,
    visible_at: i64,
) -> Result<(), JobError> {
    tx.conn
        .prepare_cached(
            "INSERT INTO orchestrator_queue (instance_id, work_item, visible_at, created_at)
             VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![message.instance, message.text, visible_at, tx.now])?;
    if message.is_start {
        unpark(tx.conn, &message.instance)?;
    }
    tx.changes.orchestrator_queue();
    Ok(())
}

/// Makes the parked messages of an instance fetchable.
pub(crate) fn unpark(conn: &Connection, instance: &str) -> Result<(), JobError> {
    // A read is much cheaper than an update that changes nothing, and hardly any message is parked.
    let has_parked = conn
        .prepare_cached("SELECT 1 FROM orchestrator_queue WHERE instance_id = ?1 AND parked = 1")?
        .exists([instance])?;
    if has_parked {
        conn.prepare_cached(
            "UPDATE orchestrator_queue SET parked = 0 WHERE instance_id = ?1 AND parked = 1",
        )?
        .execute([instance])?;
    }
    Ok(())
}

/// The visible messages of an instance, in arrival order.
pub(crate) fn visible(
    conn: &Connection,
    instance: &str,
    now: i64,
) -> Result<Vec<(i64, String)>, JobError> {
    let mut rows = conn
        .prepare_cached(
            "SELECT id, work_item FROM orchestrator_queue
             WHERE instance_id = ?1 AND visible_at <= ?2 AND parked = 0",
        )?
        .query_map(params![instance, now], |row| Ok((row.get(0)?, stored_text(row, 1)?)))?
        .collect::<Result<Vec<(i64, String)>, _>>()?;
    rows.sort_unstable_by_key(|(id, _)| *id);
    Ok(rows)
}

/// Parks a message whose instance id is not text: no instance can have it.
pub(crate) fn park_unreadable(tx: &Tx<'_>, message: i64) -> Result<(), JobError> {
    tracing::error!(
        target: "duroxide::providers::sqlite",
        row = message,
        "the instance id of a message cannot be read; parking the message"
    );
    tx.conn
        .prepare_cached("UPDATE orchestrator_queue SET parked = 1 WHERE id = ?1")?
        .execute([message])?;
    Ok(())
}

/// Drops or parks messages whose instance does not exist and is not about to start, so that the
/// next fetch does not find them again.
pub(crate) fn set_aside(
    tx: &mut Tx<'_>,
    instance: &str,
    messages: &[(i64, String)],
) -> Result<(), JobError> {
    if let Some(start_visible_at) = hidden_start(tx.conn, instance, tx.now)? {
        // The start was released with a delay; the messages become visible together with it.
        return update_each(tx.conn, messages, start_visible_at, 0);
    }
    let only_queue_messages = messages
        .iter()
        .all(|(_, text)| matches!(serde_json::from_str(text), Ok(WorkItem::QueueMessage { .. })));
    if only_queue_messages {
        tracing::warn!(
            target: "duroxide::providers::sqlite",
            instance_id = instance,
            count = messages.len(),
            "Dropping orphan queue messages: the instance does not exist"
        );
        for (id, _) in messages {
            tx.conn
                .prepare_cached("DELETE FROM orchestrator_queue WHERE id = ?1")?
                .execute([id])?;
        }
        return Ok(());
    }
    tracing::warn!(
        target: "duroxide::providers::sqlite",
        instance_id = instance,
        count = messages.len(),
        "parking messages for an instance that does not exist"
    );
    update_each(tx.conn, messages, tx.now, 1)
}

fn update_each(
    conn: &Connection,
    messages: &[(i64, String)],
    visible_at: i64,
    parked: i64,
) -> Result<(), JobError> {
    for (id, _) in messages {
        conn.prepare_cached(
            "UPDATE orchestrator_queue SET parked = ?3, visible_at = ?2, lock_token = NULL
             WHERE id = ?1",
        )?
        .execute(params![id, visible_at, parked])?;
    }
    Ok(())
}

/// When a start that is still hidden becomes visible.
fn hidden_start(conn: &Connection, instance: &str, now: i64) -> Result<Option<i64>, JobError> {
    let mut statement = conn.prepare_cached(
        "SELECT visible_at, work_item FROM orchestrator_queue
         WHERE instance_id = ?1 AND visible_at > ?2 ORDER BY visible_at",
    )?;
    let mut rows = statement.query(params![instance, now])?;
    while let Some(row) = rows.next()? {
        let text = stored_text(row, 1)?;
        if serde_json::from_str::<WorkItem>(&text).is_ok_and(|item| item.is_start()) {
            return Ok(stored_integer(row, 0)?);
        }
    }
    Ok(None)
}
