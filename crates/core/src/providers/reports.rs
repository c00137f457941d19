//! Reports of a node that a client of the same process must not overtake.
//!
//! A node counts what is stored, and therefore after the commit; a client that waits for the end of
//! an instance may see the commit earlier than the node does. So a node announces a report before
//! the commit, and the wait of a client ends when no report of its instance is pending. Both find
//! the list of their store through its [`ChangeHub`](super::ChangeHub).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use tokio::sync::Notify;

use crate::limits::{REPORT_SLOTS, REPORT_WAIT_MAX};

/// The pending reports of a store.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reports {
    pending: Arc<Pending>,
}

#[derive(Debug)]
struct Pending {
    /// How many reports are pending. Instances that share a slot wait for each other's reports: a
    /// number costs less than a list of names.
    slots: Box<[AtomicU32]>,
    waiters: AtomicUsize,
    settled: Notify,
}

impl Default for Pending {
    fn default() -> Self {
        let slots = (0..REPORT_SLOTS).map(|_| AtomicU32::new(0)).collect();
        Self { slots, waiters: AtomicUsize::new(0), settled: Notify::new() }
    }
}

impl Pending {
    fn slot(&self, instance: &str) -> &AtomicU32 {
        let mut hasher = DefaultHasher::new();
        instance.hash(&mut hasher);
        let slots = self.slots.len() as u64;
        let index = usize::try_from(hasher.finish() % slots).expect("an index of a slice");
        &self.slots[index]
    }
}

impl Reports {
    /// Announces a report about an instance, until the result is dropped.
    pub(crate) fn announce(&self, instance: &str) -> PendingReport<'_> {
        let slot = self.pending.slot(instance);
        slot.fetch_add(1, Ordering::SeqCst);
        PendingReport { pending: &self.pending, slot }
    }

    /// Returns when no report about the instance is pending. A commit that takes long holds nothing
    /// up: it is of another instance, or follows the end of this one.
    pub(crate) async fn settled(&self, instance: &str) {
        let slot = self.pending.slot(instance);
        if slot.load(Ordering::SeqCst) == 0 {
            return;
        }
        let _waiter = Waiter::new(&self.pending.waiters);
        let settled = async {
            loop {
                // Made before the check, so that it sees every later drop.
                let dropped = self.pending.settled.notified();
                if slot.load(Ordering::SeqCst) == 0 {
                    return;
                }
                dropped.await;
            }
        };
        drop(tokio::time::timeout(REPORT_WAIT_MAX, settled).await);
    }
}

/// A report that is announced and not yet made.
pub(crate) struct PendingReport<'a> {
    pending: &'a Pending,
    slot: &'a AtomicU32,
}

impl Drop for PendingReport<'_> {
    fn drop(&mut self) {
        self.slot.fetch_sub(1, Ordering::SeqCst);
        if self.pending.waiters.load(Ordering::SeqCst) > 0 {
            self.pending.settled.notify_waiters();
        }
    }
}

struct Waiter<'a>(&'a AtomicUsize);

impl<'a> Waiter<'a> {
    fn new(waiters: &'a AtomicUsize) -> Self {
        waiters.fetch_add(1, Ordering::SeqCst);
        Self(waiters)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn is_over(wait: std::pin::Pin<&mut impl Future<Output = ()>>) -> bool {
        wait.poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
    }

    #[tokio::test]
    async fn a_wait_is_over_when_the_last_report_of_its_instance_is_made() {
        let reports = Reports::default();
        assert!(is_over(pin!(reports.settled("a"))));
        let (first, second) = (reports.announce("a"), reports.announce("a"));
        let mut wait = pin!(reports.settled("a"));
        assert!(!is_over(wait.as_mut()));
        assert!(is_over(pin!(reports.settled("b"))), "another instance waits for nothing");
        drop(first);
        assert!(!is_over(wait.as_mut()));
        drop(second);
        assert!(is_over(wait.as_mut()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_report_that_is_never_made_holds_up_a_wait_only_for_a_while() {
        let reports = Reports::default();
        let _never = reports.announce("a");
        let started = tokio::time::Instant::now();
        reports.settled("a").await;
        assert_eq!(started.elapsed(), REPORT_WAIT_MAX);
    }
}
