//! Messages of clients: each id has one effect, and an instance may have to exist.

use duroxide_core::clock::millis;
use duroxide_core::providers::{
    ClientMessage, Delivery, MESSAGE_ID_WINDOW, ProviderError, WorkItem,
};
use uuid::Uuid;

use crate::PostgresProvider;
use crate::error::{During, JobError};
use crate::queues::orchestrator_queue::{self, NewMessage};
use crate::schema::call::Argument;
use crate::schema::codes;
use crate::schema::number::to_db;
use crate::schema::stored_text::stored;
use crate::store::Store;

/// Enqueues a message of a client.
pub(crate) async fn send(
    provider: &PostgresProvider,
    message: ClientMessage,
) -> Result<Delivery, ProviderError> {
    const OPERATION: &str = "send_message";
    let encoded = NewMessage::encode_client_message(&message).during(OPERATION)?;
    send_encoded(provider.store(), &encoded, &message).await.during(OPERATION)
}

async fn send_encoded(
    store: &Store,
    encoded: &NewMessage,
    message: &ClientMessage,
) -> Result<Delivery, JobError> {
    // The id lets the store recognise a message whose response was lost. A message without one gets
    // an id of this call.
    let id = match &message.id {
        Some(id) => stored(id),
        None => Uuid::new_v4().to_string(),
    };
    let starts = matches!(message.item, WorkItem::StartOrchestration { .. });
    if starts {
        // This node may be about to store another start of the instance.
        store.fast_path.wait_for_other_starts(&encoded.instance).await;
    }
    let arguments: [Argument<'_>; 9] = [
        ("p_now", &store.now()),
        ("p_instance", &encoded.instance),
        ("p_item", &encoded.text),
        ("p_kind", &codes::message_kind(encoded.kind)),
        ("p_code", &encoded.code_key()),
        ("p_id", &id),
        ("p_window", &to_db(millis(MESSAGE_ID_WINDOW))),
        ("p_existing_only", &message.existing_only),
        ("p_start", &starts),
    ];
    let rows = store.call_repeatable("send_message", &arguments).await?;
    let Some(row) = rows.first() else {
        return Err(JobError::Broken("send_message returned no row".to_owned()));
    };
    let is_id_known = row.get("o_known");
    Ok(match (row.get("o_enqueued"), row.get("o_found")) {
        (true, _) => enqueued(store),
        (false, _) if is_id_known && message.id.is_some() => Delivery::Repeated,
        // An earlier attempt of this call has added it.
        (false, _) if is_id_known => enqueued(store),
        (false, true) => Delivery::Existing,
        (false, false) => Delivery::NotFound,
    })
}

fn enqueued(store: &Store) -> Delivery {
    store.publish(orchestrator_queue::added());
    Delivery::Enqueued
}
