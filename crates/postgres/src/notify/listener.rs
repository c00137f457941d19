//! Receives the notifications of other nodes, by LISTEN on a connection of its own.
//!
//! A node that starts to listen asks which others exist. Each of them notifies it from then on and
//! responds. The response means that anything may have changed before, so that nothing is lost in
//! between.
//!
//! A connection can be up and deliver nothing: behind a pooler, or with a stopped backend. A node
//! therefore expects its own greetings and replaces a connection that does not deliver them.

use std::sync::Arc;

use futures_util::StreamExt;
use tokio::time::{Instant, sleep_until};
use tokio_postgres::AsyncMessage;

use crate::connect::dial::Connected;
use crate::error::JobError;
use crate::notify::change::Changes;
use crate::notify::payload::{self, Greeting};
use crate::schema::namespace::quoted;
use crate::statements::pause;
use crate::store::Store;
use crate::{PostgresError, limits};

/// Listens from the first time that it is wanted until the task is aborted. Replaces a broken
/// connection.
pub(crate) async fn listen(store: Arc<Store>) {
    store.listening_wanted.notified().await;
    let mut failed = 0;
    loop {
        let started = Instant::now();
        if let Err(error) = listen_once(&store).await {
            tracing::debug!(
                target: "duroxide::providers::postgres",
                %error,
                "the listening connection broke; reconnecting"
            );
        }
        failed = if started.elapsed() > limits::RETRY_PAUSE_MAX { 1 } else { failed + 1 };
        tokio::time::sleep(pause(failed, limits::LISTEN_PAUSE, limits::RETRY_PAUSE_MAX)).await;
    }
}

/// Listens until the connection breaks or receives nothing any more.
async fn listen_once(store: &Store) -> Result<(), PostgresError> {
    let Connected { client, mut messages, server } = store.connections.dialer.dial().await?;
    let at_server = |error| JobError::from(error).at(&server);
    let sql = format!("LISTEN {}", quoted(&store.channel));
    let listen = client.batch_execute(&sql);
    tokio::pin!(listen);
    let mut listening = false;
    let deaf_after = store.settings.deaf_after();
    let mut own_greeting_at = Instant::now();
    loop {
        tokio::select! {
            started = &mut listen, if !listening => {
                started.map_err(at_server)?;
                listening = true;
                // Anything may have happened before this node listened.
                store.notifier.hub.notify_all();
                store.notifier.outbox.greet(Greeting::WhoIsThere);
            }
            message = messages.next() => match message {
                Some(Ok(AsyncMessage::Notification(sent))) => {
                    if receive(store, sent.payload()) == Sender::Itself {
                        store.notifier.outbox.received_own();
                        own_greeting_at = Instant::now();
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(at_server(error).into()),
                None => return Ok(()),
            },
            () = sleep_until(own_greeting_at + deaf_after) => {
                tracing::warn!(
                    target: "duroxide::providers::postgres",
                    %server,
                    "this node did not receive its own greeting within {deaf_after:?}; its \
                     listening connection is replaced"
                );
                return Ok(());
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sender {
    Itself,
    Another,
}

/// Wakes the waiters of this node that a change on another node concerns.
fn receive(store: &Store, payload: &str) -> Sender {
    let received = match payload::read(store.node, payload) {
        Ok(Some(received)) => received,
        Ok(None) => return Sender::Itself,
        Err(error) => {
            tracing::warn!(
                target: "duroxide::providers::postgres",
                payload,
                %error,
                "could not read a notification; waking every waiter"
            );
            store.notifier.hub.notify_all();
            return Sender::Another;
        }
    };
    // A node that starts to listen may have changed anything before.
    let mut changes = if received.asks { Changes::everything() } else { received.changes };
    store.notifier.outbox.received_from(received.sender, &mut changes);
    if received.asks {
        store.notifier.outbox.greet(Greeting::Here);
    }
    store.notifier.publish_here(&changes);
    Sender::Another
}
