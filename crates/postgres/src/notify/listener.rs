//! Receives the notifications of other nodes, by LISTEN on a connection of its own.
//!
//! A node that starts to listen asks which others exist. Each of them notifies it from then on and
//! responds. The response means that anything may have changed before, so that nothing is lost in
//! between.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::poll_fn;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use tokio_postgres::{AsyncMessage, Client, Connection, NoTls};

use crate::connect::tls;
use crate::connect::url::SslMode;
use crate::error::describe;
use crate::notify::payload::{self, Greeting};
use crate::store::{Store, pause};
use crate::{PostgresError, limits};

/// Listens until the task is aborted. Replaces a broken connection.
pub(crate) async fn listen(store: Arc<Store>) {
    let mut failed = 0;
    loop {
        let started = Instant::now();
        let error = listen_once(&store).await;
        failed = if started.elapsed() > limits::RETRY_PAUSE_MAX { 1 } else { failed + 1 };
        tracing::debug!(
            target: "duroxide::providers::postgres",
            %error,
            "the listening connection broke; reconnecting"
        );
        tokio::time::sleep(pause(failed, limits::LISTEN_PAUSE)).await;
    }
}

async fn listen_once(store: &Store) -> PostgresError {
    let location = store.connections.location();
    let outcome = if location.tls.mode == SslMode::Disable {
        match location.config.connect(NoTls).await {
            Ok((client, connection)) => drive(store, &client, connection).await,
            Err(error) => Err(error.into()),
        }
    } else {
        match tls::connector(&location.tls) {
            Ok(tls) => match location.config.connect(tls).await {
                Ok((client, connection)) => drive(store, &client, connection).await,
                Err(error) => Err(error.into()),
            },
            Err(error) => Err(error),
        }
    };
    outcome.err().unwrap_or_else(|| PostgresError::cannot_connect("the connection ended"))
}

async fn drive<S, T>(
    store: &Store,
    client: &Client,
    mut connection: Connection<S, T>,
) -> Result<(), PostgresError>
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    let mut messages = poll_fn(move |cx| connection.poll_message(cx));
    let sql = format!("LISTEN {}", store.schema.channel());
    let listen = client.batch_execute(&sql);
    tokio::pin!(listen);
    let mut listening = false;
    loop {
        tokio::select! {
            started = &mut listen, if !listening => {
                started?;
                listening = true;
                // Anything may have happened before this node listened.
                store.notifier.hub.notify_all();
                store.notifier.outbox.greet(Greeting::WhoIsThere);
            }
            message = messages.next() => match message {
                Some(Ok(AsyncMessage::Notification(sent))) => receive(store, sent.payload()),
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    tracing::debug!(
                        target: "duroxide::providers::postgres",
                        error = describe(&error),
                        "the listening connection broke"
                    );
                    return Err(error.into());
                }
                None => return Ok(()),
            }
        }
    }
}

/// Wakes the waiters of this node that a change on another node concerns.
fn receive(store: &Store, payload: &str) {
    let received = match payload::read(store.node, payload) {
        Ok(Some(received)) => received,
        Ok(None) => return,
        Err(error) => {
            tracing::warn!(
                target: "duroxide::providers::postgres",
                payload,
                %error,
                "could not read a notification; waking every waiter"
            );
            store.notifier.hub.notify_all();
            return;
        }
    };
    let mut changes = received.changes;
    store.notifier.outbox.heard(&mut changes);
    if received.asks {
        store.notifier.outbox.greet(Greeting::Here);
    }
    store.notifier.publish_here(&changes);
}
