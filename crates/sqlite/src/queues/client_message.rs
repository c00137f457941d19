//! Messages of clients: each id has one effect, and an instance may have to exist.

use duroxide_core::clock::millis;
use duroxide_core::providers::{ClientMessage, Delivery, MESSAGE_ID_WINDOW, ProviderError};
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
    let encoded = NewMessage::encode_message(&message.item).during(OPERATION)?;
    let instance = message.item.target_instance().to_owned();
    let (id, existing_only) = (message.id, message.existing_only);
    let send = move |tx: &mut Tx<'_>| {
        if existing_only && !is_known(tx.conn, &instance)? {
            return Ok(Delivery::NotFound);
        }
        if let Some(id) = &id
            && !remember(tx, &instance, id)?
        {
            return Ok(Delivery::Repeated);
        }
        orchestrator_queue::insert(tx, &encoded, tx.now)?;
        Ok(Delivery::Enqueued)
    };
    provider.writer().run(OPERATION, send).await
}

/// Whether an instance exists or its start is queued.
fn is_known(conn: &Connection, instance: &str) -> Result<bool, JobError> {
    Ok(conn
        .prepare_cached(
            "SELECT 1 FROM instances WHERE instance_id = ?1
             UNION ALL SELECT 1 FROM history WHERE instance_id = ?1
             UNION ALL SELECT 1 FROM orchestrator_queue
             WHERE instance_id = ?1 AND substr(work_item, 1, 21) = '{\"StartOrchestration\"'",
        )?
        .exists([instance])?)
}

/// Remembers the id of a message; false if it is known.
fn remember(tx: &Tx<'_>, instance: &str, id: &str) -> Result<bool, JobError> {
    let expires_at = tx.now.saturating_add(to_db(millis(MESSAGE_ID_WINDOW)));
    let added = tx
        .conn
        .prepare_cached(
            "INSERT OR IGNORE INTO message_ids (instance_id, message_id, expires_at)
             VALUES (?1, ?2, ?3)",
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
    Ok(added > 0)
}
