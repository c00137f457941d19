//! Nodes tell each other of changes by LISTEN and NOTIFY.
//!
//! One connection listens. What was changed here is told after it is durable, gathered while the
//! last telling was under way, and not within the transaction: the server lets only one transaction
//! that notifies commit at a time. A node that dies in between has told nobody; the slow looks of
//! the others find what it did. While nobody else is there, nothing is told at all.
//!
//! A node that begins to listen asks who is there. Whoever hears it tells from then on and answers;
//! the answer means that anything may have changed before. So nothing is lost in between.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use duroxide_core::providers::TagFilter;
use futures_util::StreamExt;
use futures_util::stream::poll_fn;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_postgres::{AsyncMessage, Client, Connection, NoTls};

use crate::connect::tls;
use crate::connect::url::SslMode;
use crate::error::describe;
use crate::notify::change::Changes;
use crate::queues::worker_queue::concerns;
use crate::store::{Store, pause};
use crate::{PostgresError, limits};

// The words of a message, each with what it is about.
const WHO_IS_THERE: &str = "?";
const I_AM: &str = "!";
const STILL_HERE: &str = "h";
const ORCHESTRATOR: &str = "o";
const WORKER: &str = "w";
const INSTANCE: &str = "i";
const STEP: &str = "t";
const EVERY_INSTANCE: &str = "I";
const START_LIMITS: &str = "s";
const WORK_LOCKS: &str = "l";

/// What other nodes have to be told, and who would want to hear of what.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    inner: Mutex<Inner>,
    /// There is something that others wait for.
    filled: Notify,
    /// There are steps of instances, which can wait a little.
    stepped: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    changes: Changes,
    words: Vec<&'static str>,
    /// When another node was last heard of.
    heard: Option<Instant>,
    /// What fetches of this node wait for.
    interests: HashMap<u64, TagFilter>,
    next_interest: u64,
}

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has other nodes told, if there are any.
    pub(crate) fn add(&self, changes: Changes) {
        let mut inner = self.lock();
        if inner.heard.is_none_or(|heard| heard.elapsed() > limits::HELLO_LASTS) {
            return;
        }
        let only_steps = changes.is_only_steps();
        inner.changes.merge(changes);
        drop(inner);
        if only_steps { self.stepped.notify_one() } else { self.filled.notify_one() }
    }

    /// Ends when there is something to be told.
    async fn wait(&self) {
        tokio::select! {
            () = self.filled.notified() => {}
            () = self.stepped.notified() => {
                let urgent = self.filled.notified();
                // Both ends are reasons to tell.
                tokio::time::timeout(limits::STEPS_GATHERED_FOR, urgent).await.unwrap_or_default();
            }
        }
    }

    fn say(&self, word: &'static str) {
        self.lock().words.push(word);
        self.filled.notify_one();
    }

    /// While the guard lives, changes that concern this filter wake the workers of this node.
    pub(crate) fn interest(&self, filter: &TagFilter) -> Interest<'_> {
        let mut inner = self.lock();
        let number = inner.next_interest;
        inner.next_interest += 1;
        inner.interests.insert(number, filter.clone());
        Interest { outbox: self, number }
    }

    /// What is to be told now, as payloads.
    fn take(&self, node: i64) -> Vec<String> {
        let mut inner = self.lock();
        let changes = std::mem::take(&mut inner.changes);
        let words = std::mem::take(&mut inner.words);
        drop(inner);
        payloads(node, &words, &changes)
    }
}

/// Keeps an interest alive.
#[derive(Debug)]
pub(crate) struct Interest<'a> {
    outbox: &'a Outbox,
    number: u64,
}

impl Drop for Interest<'_> {
    fn drop(&mut self) {
        self.outbox.lock().interests.remove(&self.number);
    }
}

fn payloads(node: i64, words: &[&str], changes: &Changes) -> Vec<String> {
    let mut all: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    if changes.orchestrator_queue {
        all.push(ORCHESTRATOR.to_owned());
    }
    all.extend(changes.routes.iter().map(|route| format!("{WORKER}{route}")));
    if changes.every_instance {
        all.push(EVERY_INSTANCE.to_owned());
    }
    if changes.start_limits {
        all.push(START_LIMITS.to_owned());
    }
    if changes.work_locks {
        all.push(WORK_LOCKS.to_owned());
    }
    all.extend(changes.instances.iter().map(|instance| format!("{INSTANCE}{instance}")));
    all.extend(changes.steps.iter().map(|instance| format!("{STEP}{instance}")));
    let mut payloads = Vec::new();
    let mut payload = start(node);
    for word in all {
        let mut text = quoted(&word);
        if text.len() > limits::PAYLOAD_BYTES_MAX / 2 {
            // A name that is too long to be told.
            text = quoted(if word.starts_with(WORKER) { "w*" } else { EVERY_INSTANCE });
        }
        if payload.len() + text.len() + 2 > limits::PAYLOAD_BYTES_MAX {
            payloads.push(payload + "]");
            payload = start(node);
        }
        payload = payload + "," + &text;
    }
    if payload.len() > start(node).len() {
        payloads.push(payload + "]");
    }
    payloads
}

fn start(node: i64) -> String {
    format!("[\"{node:x}\"")
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Tells other nodes what was changed here, until it is aborted.
pub(crate) async fn tell(store: Arc<Store>) {
    let mut failed = 0;
    loop {
        let due = tokio::time::timeout(limits::HELLO_INTERVAL, store.outbox.wait());
        if due.await.is_err() {
            store.outbox.say(STILL_HERE);
        }
        let payloads = store.outbox.take(store.node);
        if payloads.is_empty() {
            continue;
        }
        let channel = store.schema.channel();
        // A telling need not survive a crash, so it does not wait for the disk.
        let told = store.query(TELL_SQL, &[&channel, &payloads]).await;
        match told {
            Ok(_) => failed = 0,
            Err(error) => {
                failed += 1;
                tracing::warn!(%error, "other nodes cannot be told of changes; they will look");
                // They may have missed anything.
                store.outbox.add(Changes::everything());
                tokio::time::sleep(pause(failed, limits::LISTEN_PAUSE)).await;
            }
        }
    }
}

const TELL_SQL: &str = "SELECT pg_notify($1, payload)
     FROM (SELECT set_config('synchronous_commit', 'off', true)) AS lazily,
         unnest($2::TEXT[]) AS payload";

/// Listens to other nodes, until it is aborted. A broken connection is made anew.
pub(crate) async fn listen(store: Arc<Store>) {
    let mut failed = 0;
    loop {
        let begun = Instant::now();
        let error = listen_once(&store).await;
        failed = if begun.elapsed() > limits::RETRY_PAUSE_MAX { 1 } else { failed + 1 };
        tracing::debug!(%error, "the listening connection broke and is made anew");
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
    let ended = PostgresError::CannotConnect { reason: "the connection ended".to_owned() };
    outcome.err().unwrap_or(ended)
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
            begun = &mut listen, if !listening => {
                begun?;
                listening = true;
                // Whatever happened while nobody listened.
                store.hub.notify_all();
                store.outbox.say(WHO_IS_THERE);
            }
            message = messages.next() => match message {
                Some(Ok(AsyncMessage::Notification(told))) => hear(store, told.payload()),
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    tracing::debug!(error = describe(&error), "the listening connection broke");
                    return Err(error.into());
                }
                None => return Ok(()),
            }
        }
    }
}

/// Wakes those on this node who can use what another node told.
fn hear(store: &Store, payload: &str) {
    let Ok(words) = serde_json::from_str::<Vec<String>>(payload) else {
        tracing::warn!(payload, "a notification cannot be understood");
        store.hub.notify_all();
        return;
    };
    let mut words = words.iter().map(String::as_str);
    if words.next() == Some(format!("{:x}", store.node).as_str()) {
        return;
    }
    let mut changes = Changes::default();
    let mut asked = false;
    for word in words {
        match word {
            WHO_IS_THERE => asked = true,
            I_AM => changes = Changes::everything(),
            STILL_HERE => {}
            ORCHESTRATOR => changes.orchestrator_queue(),
            EVERY_INSTANCE => changes.every_instance = true,
            START_LIMITS => changes.start_limits(),
            WORK_LOCKS => changes.work_locks(),
            other => {
                if let Some(instance) = other.strip_prefix(INSTANCE) {
                    changes.instance(instance);
                } else if let Some(instance) = other.strip_prefix(STEP) {
                    changes.step(instance);
                } else if let Some(route) = other.strip_prefix(WORKER) {
                    changes.worker_queue(route);
                }
            }
        }
    }
    let mut inner = store.outbox.lock();
    inner.heard = Some(Instant::now());
    // Work that nobody here takes wakes nobody here.
    if !inner.interests.values().any(|filter| concerns(filter, &changes.routes)) {
        changes.routes.clear();
    }
    drop(inner);
    if asked {
        store.outbox.say(I_AM);
    }
    store.publish_here(&changes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(payload: &str) -> Vec<String> {
        serde_json::from_str(payload).unwrap()
    }

    #[test]
    fn changes_are_named() {
        let mut changes = Changes::default();
        changes.orchestrator_queue();
        changes.worker_queue("=gpu");
        changes.instance("order \"1\"");
        let told = payloads(255, &[STILL_HERE], &changes);
        assert_eq!(told.len(), 1);
        assert_eq!(words(&told[0]), ["ff", "h", "o", "w=gpu", "iorder \"1\""]);
        assert!(payloads(1, &[], &Changes::default()).is_empty());
    }

    #[test]
    fn no_payload_is_too_long_for_the_server() {
        let mut changes = Changes::default();
        for number in 0..900 {
            changes.instance(&format!("a rather long name of an instance {number}"));
        }
        changes.instance(&"x".repeat(10_000));
        changes.worker_queue(&"y".repeat(10_000));
        let told = payloads(-1, &[], &changes);
        assert!(told.len() > 1);
        assert!(told.iter().all(|payload| payload.len() < 8000));
        let all: Vec<String> = told.iter().flat_map(|payload| words(payload)).collect();
        assert!(all.contains(&EVERY_INSTANCE.to_owned()) && all.contains(&"w*".to_owned()));
        assert_eq!(all.iter().filter(|word| word.starts_with("ia rather")).count(), 900);
    }
}
