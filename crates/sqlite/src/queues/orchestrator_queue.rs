//! Messages for orchestrations: enqueueing, parking and un-parking.

use duroxide_core::providers::{ProviderErrorKind, WorkItem};
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
        let due = match item {
            WorkItem::ActivityExecute { .. } => return Ok(None),
            WorkItem::TimerFired { fire_at_ms, .. } => Some(to_db(*fire_at_ms)),
            WorkItem::StartOrchestration { .. }
            | WorkItem::ActivityCompleted { .. }
            | WorkItem::ActivityFailed { .. }
            | WorkItem::ExternalRaised { .. }
            | WorkItem::SubOrchCompleted { .. }
            | WorkItem::SubOrchFailed { .. }
            | WorkItem::CancelInstance { .. }
            | WorkItem::ContinueAsNew { .. }
            | WorkItem::QueueMessage { .. } => None,
        };
        Ok(Some(Self {
            instance: item.target_instance().to_owned(),
            text: serde_json::to_string(item)?,
            due,
            is_start: item.is_start(),
        }))
    }

    /// Encodes a message of this queue; refuses an activity.
    pub(crate) fn encode_message(item: &WorkItem) -> Result<Self, JobError> {
        Self::encode(item)?.ok_or_else(|| {
            JobError::refused(
                ProviderErrorKind::Other,
                "Invalid work item type: ActivityExecute goes to the worker queue",
            )
        })
    }

    /// Encodes what an activity may end in; refuses any other message.
    pub(crate) fn encode_completion(item: &WorkItem) -> Result<Self, JobError> {
        if matches!(item, WorkItem::ActivityCompleted { .. } | WorkItem::ActivityFailed { .. }) {
            return Self::encode_message(item);
        }
        Err(JobError::refused(
            ProviderErrorKind::Other,
            "Invalid work item type: an activity ends in ActivityCompleted or ActivityFailed",
        ))
    }

    /// When it becomes visible if it is enqueued at `now` without a delay.
    pub(crate) fn visible_at(&self, now: i64) -> i64 {
        self.due.unwrap_or(now)
    }
}

/// Adds a message. A start wakes what was parked for its instance.
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
    // Looking is much cheaper than changing nothing, and there is hardly ever anything.
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

/// What is waiting and visible for an instance, in arrival order.
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

/// Parks a message whose instance id is no text: nobody can be meant by it.
pub(crate) fn park_unreadable(tx: &Tx<'_>, message: i64) -> Result<(), JobError> {
    tracing::error!(row = message, "parking a message whose instance id cannot be read");
    tx.conn
        .prepare_cached("UPDATE orchestrator_queue SET parked = 1 WHERE id = ?1")?
        .execute([message])?;
    Ok(())
}

/// Deals with messages whose instance does not exist and is not about to be started, so that they
/// are not met again by every fetch.
pub(crate) fn set_aside(
    tx: &mut Tx<'_>,
    instance: &str,
    messages: &[(i64, String)],
) -> Result<(), JobError> {
    if let Some(start_visible_at) = hidden_start(tx.conn, instance, tx.now)? {
        // The start was given back with a delay; its messages wait with it.
        return update_each(tx.conn, messages, start_visible_at, 0);
    }
    let only_queue_messages = messages
        .iter()
        .all(|(_, text)| matches!(serde_json::from_str(text), Ok(WorkItem::QueueMessage { .. })));
    if only_queue_messages {
        tracing::warn!(
            instance,
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
        instance,
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
