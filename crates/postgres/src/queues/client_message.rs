//! Messages of clients: each id has one effect, and an instance may have to exist.

use duroxide_core::clock::millis;
use duroxide_core::providers::{ClientMessage, Delivery, MESSAGE_ID_WINDOW, ProviderError};

use crate::PostgresProvider;
use crate::error::{During, JobError};
use crate::notify::change::Changes;
use crate::queues::orchestrator_queue::NewMessage;
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
    let encoded = NewMessage::encode_message(&message.item).during(OPERATION)?;
    send_encoded(provider.store(), &encoded, &message).await.during(OPERATION)
}

async fn send_encoded(
    store: &Store,
    encoded: &NewMessage,
    message: &ClientMessage,
) -> Result<Delivery, JobError> {
    let id = message.id.as_deref().map(stored);
    let arguments: [Argument<'_>; 7] = [
        ("p_now", &store.now()),
        ("p_instance", &encoded.instance),
        ("p_item", &encoded.text),
        ("p_kind", &codes::message_kind(encoded.kind)),
        ("p_id", &id),
        ("p_window", &to_db(millis(MESSAGE_ID_WINDOW))),
        ("p_existing_only", &message.existing_only),
    ];
    // Only an id lets the store recognise a message whose response was lost.
    let rows = match id {
        Some(_) => store.call_repeatable("send_message", &arguments).await?,
        None => store.call("send_message", &arguments).await?,
    };
    let Some(row) = rows.first() else {
        return Err(JobError::Broken("send_message returned no row".to_owned()));
    };
    Ok(match (row.get("o_found"), row.get("o_enqueued")) {
        (false, _) => Delivery::NotFound,
        (true, false) => Delivery::Repeated,
        (true, true) => {
            let mut changes = Changes::default();
            changes.orchestrator_queue();
            store.publish(changes);
            Delivery::Enqueued
        }
    })
}
