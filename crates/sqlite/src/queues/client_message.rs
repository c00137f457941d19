//! Messages of clients: each id has one effect, and an instance may have to exist.

use duroxide_core::clock::millis;
use duroxide_core::providers::{
    ClientMessage, Delivery, MESSAGE_ID_WINDOW, ProviderError, WorkItem,
};
use rusqlite::{Connection, params};

use crate::SqliteProvider;
use crate::error::{During, JobError};
use crate::queues::orchestrator_queue::{self, NewMessage};
use crate::schema::number::to_db;
use crate::write::writer::Tx;

/// Enqueues a message of a client.
pub(crate) async fn send(
    provider: &SqliteProvider,
    message: ClientMessage,
) -> Result<Delivery, ProviderError> {
    const OPERATION: &str = "send_message";
    let encoded = NewMessage::encode_client_message(&message).during(OPERATION)?;
    let instance = message.item.target_instance().to_owned();
    let (id, existing_only) = (message.id, message.existing_only);
    let starts = matches!(message.item, WorkItem::StartOrchestration { .. });
    let send = move |tx: &mut Tx<'_>| {
        let is_known = (existing_only || starts) && is_known(tx.conn, &instance)?;
        if existing_only && !is_known {
            return Ok(Delivery::NotFound);
        }
        if let Some(id) = &id
            && is_remembered(tx.conn, &instance, id)?
        {
            return Ok(Delivery::Repeated);
        }
        if starts && is_known {
            return Ok(Delivery::Existing);
        }
        if let Some(id) = &id {
            remember(tx, &instance, id)?;
        }
        orchestrator_queue::insert(tx, &encoded, tx.now)?;
        Ok(Delivery::Enqueued)
    };
    provider.writer().run(OPERATION, send).await
}

/// Whether an instance exists or its start is queued. One that is being deleted does not exist.
pub(crate) fn is_known(conn: &Connection, instance: &str) -> Result<bool, JobError> {
    let is_stored = conn
        .prepare_cached(
            "SELECT 1 FROM instances WHERE instance_id = ?1
             UNION ALL SELECT 1 FROM history WHERE instance_id = ?1 AND NOT EXISTS (
                 SELECT 1 FROM deletions WHERE instance_id = ?1 AND execution_id IS NULL)",
        )?
        .exists([instance])?;
    if is_stored {
        return Ok(true);
    }
    Ok(conn
        .prepare_cached(
            "SELECT 1 FROM orchestrator_queue INDEXED BY idx_orch_start
             WHERE instance_id = ?1 AND start_rank > 0 AND id > coalesce((
                 SELECT max(last_message) FROM deletions
                 WHERE instance_id = ?1 AND execution_id IS NULL), 0)",
        )?
        .exists([instance])?)
}

/// Whether the id of a message was used before.
fn is_remembered(conn: &Connection, instance: &str, id: &str) -> Result<bool, JobError> {
    Ok(conn
        .prepare_cached("SELECT 1 FROM message_ids WHERE instance_id = ?1 AND message_id = ?2")?
        .exists([instance, id])?)
}

/// Remembers the id of a message.
fn remember(tx: &Tx<'_>, instance: &str, id: &str) -> Result<(), JobError> {
    let expires_at = tx.now.saturating_add(to_db(millis(MESSAGE_ID_WINDOW)));
    tx.conn
        .prepare_cached(
            "INSERT INTO message_ids (instance_id, message_id, expires_at) VALUES (?1, ?2, ?3)",
        )?
        .execute(params![instance, id, expires_at])?;
    // Each message removes more than it adds, so that the table stays as small as the window.
    tx.conn
        .prepare_cached(
            "DELETE FROM message_ids WHERE (instance_id, message_id) IN (
                 SELECT instance_id, message_id FROM message_ids
                 WHERE expires_at <= ?1 ORDER BY expires_at LIMIT 4)",
        )?
        .execute([tx.now])?;
    Ok(())
}
