//! Changes on their way to other nodes, by NOTIFY.
//!
//! A node sends its changes after they are durable, outside of the transaction: the server lets
//! only one notifying transaction commit at a time. Changes that arrive while it sends go with the
//! next notification. If the node dies in between, the safety polls of other nodes find what it
//! did. While it knows that no other node exists, it sends nothing.
//!
//! The server delivers every notification to every node, so that the deliveries would grow with the
//! square of the nodes. A node therefore pauses between two notifications for a time that grows
//! with the number of nodes: each of them receives a bounded number per second, however many there
//! are. A node that has sent nothing for that long sends at once. A node that has just asked which
//! others exist cannot know; it sends its first changes at once too, and others less and less often
//! until a response comes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use duroxide_core::providers::TagFilter;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use crate::error::JobError;
use crate::limits;
use crate::notify::change::Changes;
use crate::notify::payload::{self, Greeting};
use crate::queues::worker_queue::concerns;
use crate::statements::pause;
use crate::store::Store;

/// What other nodes must learn, and which activities workers of this node wait for.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    inner: Mutex<Inner>,
    /// Something arrived that waiters need at once.
    filled: Notify,
    /// Steps of instances arrived, which can wait a little.
    stepped: Notify,
    /// Held while payloads are on their way, so that a provider that closes waits for them.
    sending: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Inner {
    changes: Changes,
    greetings: Vec<Greeting>,
    /// When another node last sent something.
    received_at: Option<Instant>,
    /// The same for each of them.
    nodes: HashMap<i64, Instant>,
    /// When this node last asked which others exist, and how many notifications it has sent since.
    asked_at: Option<Instant>,
    unanswered: u32,
    /// When this node received its own question.
    echoed_at: Option<Instant>,
    /// What fetches of this node wait for.
    interests: HashMap<u64, TagFilter>,
    next_interest: u64,
}

impl Inner {
    /// Whether another node may need notifications. A node that has just started does not know yet.
    fn others_may_exist(&self) -> bool {
        let recent = |at: Instant| at.elapsed() <= limits::GREETING_LASTS;
        let waits = |at: Instant| at.elapsed() <= limits::RESPONSES_WITHIN;
        let echoed = |at: Instant| at.elapsed() > limits::RESPONSES_AFTER_ECHO;
        self.received_at.is_some_and(recent)
            || self.asked_at.is_none_or(waits) && !self.echoed_at.is_some_and(echoed)
    }
}

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifies other nodes of changes, if there are other nodes.
    pub(crate) fn add(&self, changes: Changes) {
        let mut inner = self.lock();
        if !inner.others_may_exist() {
            return;
        }
        let only_steps = changes.is_only_steps();
        inner.changes.merge(changes);
        drop(inner);
        if only_steps { self.stepped.notify_one() } else { self.filled.notify_one() }
    }

    /// Greets other nodes.
    pub(crate) fn greet(&self, greeting: Greeting) {
        let mut inner = self.lock();
        if greeting == Greeting::WhoIsThere {
            inner.asked_at = Some(Instant::now());
            inner.unanswered = 0;
            inner.echoed_at = None;
        }
        inner.greetings.push(greeting);
        drop(inner);
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

    /// Another node exists and reports `changes`. Removes activities that no worker of this node
    /// waits for.
    pub(crate) fn received_from(&self, sender: i64, changes: &mut Changes) {
        let mut inner = self.lock();
        if !inner.others_may_exist() {
            // This node has sent nothing since it believed to be alone.
            inner.changes.merge(Changes::everything());
            self.filled.notify_one();
        }
        let now = Instant::now();
        inner.received_at = Some(now);
        inner.nodes.insert(sender, now);
        if !inner.interests.values().any(|filter| concerns(filter, &changes.routes)) {
            changes.routes.clear();
        }
    }

    /// This node has received a notification of its own.
    pub(crate) fn received_own(&self) {
        let mut inner = self.lock();
        if inner.unanswered > 0 && inner.echoed_at.is_none() {
            inner.echoed_at = Some(Instant::now());
        }
    }

    /// The pause between two notifications.
    fn spacing(&self) -> Duration {
        let mut inner = self.lock();
        inner.nodes.retain(|_, received_at| received_at.elapsed() <= limits::GREETING_LASTS);
        let others = match inner.nodes.len() {
            0 => inner.unanswered,
            others => u32::try_from(others).unwrap_or(u32::MAX),
        };
        limits::NOTIFICATION_SPACING.saturating_mul(others).min(limits::NOTIFICATION_SPACING_MAX)
    }

    /// Returns when there is something to send.
    async fn wait(&self) {
        tokio::select! {
            () = self.filled.notified() => {}
            () = self.stepped.notified() => {
                let urgent = self.filled.notified();
                // Either way it is time to send.
                tokio::time::timeout(limits::STEPS_GATHERED_FOR, urgent).await.unwrap_or_default();
            }
        }
    }

    /// Removes everything that waits, as payloads.
    fn drain(&self, node: i64) -> Vec<String> {
        let mut inner = self.lock();
        let changes = std::mem::take(&mut inner.changes);
        let greetings = std::mem::take(&mut inner.greetings);
        let payloads = payload::write(node, &greetings, &changes);
        if inner.asked_at.is_some() && !payloads.is_empty() {
            inner.unanswered = (inner.unanswered + 1).min(limits::UNANSWERED_MAX);
        }
        payloads
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

/// Sends what waits, once, for a provider that closes.
pub(crate) async fn flush(store: &Store) {
    if timeout(limits::LAST_NOTIFICATION_WAIT, send_now(store)).await.is_err() {
        tracing::debug!(
            target: "duroxide::providers::postgres",
            "could not notify other nodes at the end; their safety polls find the changes"
        );
    }
}

/// Sends what waits; false if there is nothing.
async fn send_now(store: &Store) -> Result<bool, JobError> {
    let _sending = store.notifier.outbox.sending.lock().await;
    let payloads = store.notifier.outbox.drain(store.node);
    if payloads.is_empty() {
        return Ok(false);
    }
    store.query(NOTIFY_SQL, &[&store.channel, &payloads]).await?;
    Ok(true)
}

/// Sends notifications to other nodes, until the task is aborted.
pub(crate) async fn send(store: Arc<Store>) {
    let outbox = &store.notifier.outbox;
    let mut failed = 0;
    let mut sent_at = Instant::now();
    loop {
        let greeting_at = sent_at + store.settings.greeting_interval;
        if timeout_at(greeting_at, outbox.wait()).await.is_err() {
            outbox.greet(Greeting::StillHere);
        }
        sleep_until(sent_at + outbox.spacing()).await;
        let started = Instant::now();
        match send_now(&store).await {
            Ok(false) => {}
            Ok(true) => (failed, sent_at) = (0, started),
            Err(error) => {
                sent_at = started;
                failed += 1;
                tracing::warn!(
                    target: "duroxide::providers::postgres",
                    %error,
                    "could not notify other nodes; their safety polls find the changes"
                );
                // They may have missed any change.
                outbox.add(Changes::everything());
                tokio::time::sleep(pause(failed, limits::LISTEN_PAUSE, limits::RETRY_PAUSE_MAX))
                    .await;
            }
        }
    }
}

// A notification need not survive a crash, so it does not wait for the disk.
const NOTIFY_SQL: &str = "SELECT pg_notify($1, payload)
     FROM (SELECT set_config('synchronous_commit', 'off', true)) AS lazily,
         unnest($2::TEXT[]) AS payload";

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_pause_between_notifications_grows_with_the_live_nodes() {
        let outbox = Outbox::default();
        assert_eq!(outbox.spacing(), Duration::ZERO);
        for round in 0..2 {
            for node in 0..30 {
                outbox.received_from(node, &mut Changes::default());
            }
            assert_eq!(outbox.spacing(), limits::NOTIFICATION_SPACING * 30, "round {round}");
        }
        tokio::time::advance(limits::GREETING_LASTS + Duration::from_secs(1)).await;
        outbox.received_from(7, &mut Changes::default());
        assert_eq!(outbox.spacing(), limits::NOTIFICATION_SPACING);
        for node in 0..100_000 {
            outbox.received_from(node, &mut Changes::default());
        }
        assert_eq!(outbox.spacing(), limits::NOTIFICATION_SPACING_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_that_received_its_own_question_soon_knows_that_it_is_alone() {
        let outbox = Outbox::default();
        let change = || {
            let mut changes = Changes::default();
            changes.orchestrator_queue();
            outbox.add(changes);
            outbox.drain(1).len()
        };
        outbox.greet(Greeting::WhoIsThere);
        // An earlier notification: the question is not sent yet.
        outbox.received_own();
        tokio::time::advance(limits::RESPONSES_AFTER_ECHO + Duration::from_millis(1)).await;
        assert_eq!(change(), 1);
        outbox.received_own();
        assert_eq!(change(), 1);
        tokio::time::advance(limits::RESPONSES_AFTER_ECHO + Duration::from_millis(1)).await;
        assert_eq!(change(), 0);
        // One that responds late may have missed anything.
        outbox.received_from(2, &mut Changes::default());
        assert_eq!(outbox.drain(1).len(), 1);
        assert_eq!(change(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_without_responses_notifies_less_and_less_often() {
        let outbox = Outbox::default();
        let change = || {
            let mut changes = Changes::default();
            changes.orchestrator_queue();
            outbox.add(changes);
            outbox.drain(1).len()
        };
        // A node that cannot listen gets no response from others.
        assert_eq!((change(), outbox.spacing()), (1, Duration::ZERO));
        outbox.greet(Greeting::WhoIsThere);
        assert_eq!(outbox.spacing(), Duration::ZERO);
        for sent in 1..=3 {
            assert_eq!((change(), outbox.spacing()), (1, limits::NOTIFICATION_SPACING * sent));
        }
        for _ in 0..limits::UNANSWERED_MAX {
            assert_eq!(change(), 1);
        }
        assert_eq!(outbox.spacing(), limits::NOTIFICATION_SPACING * limits::UNANSWERED_MAX);
        outbox.received_from(2, &mut Changes::default());
        assert_eq!(outbox.spacing(), limits::NOTIFICATION_SPACING);
        tokio::time::advance(limits::GREETING_LASTS + Duration::from_secs(1)).await;
        assert_eq!(change(), 0);
    }
}
