//! Wakes waiters once changes are durable.

use std::sync::atomic::{AtomicU64, Ordering};

use duroxide_core::providers::{ChangeHub, ChangeScope};

use crate::notify::change::Changes;
use crate::notify::outbox::Outbox;

/// Wakes waiters on this node and, through the outbox, on others.
#[derive(Debug, Default)]
pub(crate) struct Notifier {
    pub(crate) hub: ChangeHub,
    pub(crate) outbox: Outbox,
    /// Counts the reasons to believe that messages have become fetchable.
    queue_changes: AtomicU64,
}

impl Notifier {
    /// Notifies waiters of durable changes, here and on other nodes.
    pub(crate) fn publish(&self, changes: Changes) {
        if changes.is_empty() {
            return;
        }
        self.publish_here(&changes);
        self.outbox.add(changes.for_others());
    }

    /// Notifies waiters on this node.
    pub(crate) fn publish_here(&self, changes: &Changes) {
        if changes.orchestrator_queue {
            self.queue_changes.fetch_add(1, Ordering::SeqCst);
        }
        changes.publish(&self.hub);
    }

    /// Messages became fetchable because their time came, which no call announces.
    pub(crate) fn messages_became_due(&self) {
        self.queue_changes.fetch_add(1, Ordering::SeqCst);
    }

    /// A state to compare with in [`turns_committed`](Self::turns_committed).
    pub(crate) fn queue_changes(&self) -> u64 {
        self.queue_changes.load(Ordering::SeqCst)
    }

    /// Makes dispatchers poll again after a transaction that committed turns, if messages may have
    /// become fetchable since it started. A fetch during the transaction passed over the locked
    /// instances, and the transaction may not have seen the messages.
    ///
    /// `since` is the state when the transaction started; `None` if that is not known. The wake-up
    /// does not count as a change, or two committing nodes would wake each other for ever.
    pub(crate) fn turns_committed(&self, since: Option<u64>) {
        if since != Some(self.queue_changes()) {
            self.hub.notify(ChangeScope::OrchestratorQueue);
        }
    }
}
