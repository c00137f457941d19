//! Renews leases while their work runs.
//!
//! Most work completes long before half its lease has passed. A new lease is therefore only added
//! to a list; a task on the node's own thread watches the list and starts a task for a lease that
//! must be renewed.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::background::Background;
use super::options::lease_renewal_interval;
use super::storage_retry::log_unreleased;
use super::tasks::AbortOnDrop;
use crate::limits::{RETURNED_AT_ONCE_MAX, VOUCHED_AFTER};
use crate::providers::{LeaseHolder, Provider, ProviderError, ProviderErrorKind};

/// Longer than any node runs.
const AGES: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// What is leased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leased {
    Turn,
    Activity,
}

/// A new lease.
pub(crate) struct NewLease {
    pub(crate) leased: Leased,
    pub(crate) token: String,
    pub(crate) length: Duration,
    /// When it began; `None` means now.
    pub(crate) since: Option<Instant>,
    /// Fires when the lease is lost.
    pub(crate) lost: CancellationToken,
    /// Renew at once, because the lease may be lost already.
    pub(crate) doubtful: bool,
}

/// A lease that is renewed until this is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    held: Arc<HeldLease>,
    key: (Instant, u64),
    list: Arc<List>,
}

impl Lease {
    /// Fires when the lease is lost: another node holds the work, or the work is cancelled.
    pub(crate) fn lost(&self) -> &CancellationToken {
        &self.held.lost
    }

    /// Extends the lease although it has expired, if no other node has claimed the work since.
    /// `factor` multiplies its length: a store that took too long once may do so again.
    pub(crate) async fn reclaim(&self, factor: u32) -> Result<(), ProviderError> {
        self.held.reclaim(self.held.length.saturating_mul(factor)).await
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let (_due, number) = self.key;
        let mut state = self.list.lock();
        let dropped = (state.written.remove(&self.key), state.renewed.remove(&number));
        if let Some(collected) = &mut state.dropped {
            collected.push(Arc::clone(&self.held));
        }
        drop(state);
        // Outside the lock: this may drop the last handle of the store.
        drop(dropped);
    }
}

/// The leases of one node.
pub(crate) struct Leases {
    list: Arc<List>,
    provider: Arc<dyn Provider>,
    background: Arc<Background>,
}

#[derive(Debug, Default)]
struct List {
    state: Mutex<State>,
    changed: Arc<Notify>,
}

#[derive(Debug, Default)]
struct State {
    /// Leases that need no renewal yet, by the time of their first renewal and a unique number.
    written: BTreeMap<(Instant, u64), Arc<HeldLease>>,
    /// Leases that a task renews, by number.
    renewed: HashMap<u64, RenewedLease>,
    number_next: u64,
    /// When the task that watches wakes by itself; `None` while it waits for a notification.
    wakes_at: Option<Instant>,
    /// The task that watches, from the first lease on.
    watch: Option<AbortOnDrop>,
    stopped: bool,
    /// The leases that were dropped since the node began to abort its work.
    dropped: Option<Vec<Arc<HeldLease>>>,
}

impl List {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a task for each lease that is due; returns when the next one will be.
    fn renew_due(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut state = self.lock();
        state.wakes_at = None;
        while let Some(first) = state.written.first_entry() {
            let (due, number) = *first.key();
            if due > now {
                state.wakes_at = Some(due);
                break;
            }
            let renewed = first.remove().renew_in_task();
            state.renewed.insert(number, renewed);
        }
        state.wakes_at
    }
}

impl LeaseHolder for List {
    fn holds(&self, token: &str) -> bool {
        let state = self.lock();
        let renewed = state.renewed.values().map(|renewed| &renewed.held);
        let mut held = state.written.values().chain(renewed);
        // A lost lease is no longer renewed.
        held.any(|held| held.token == token && !held.lost.is_cancelled())
    }

    fn holds_any(&self) -> bool {
        let state = self.lock();
        !state.written.is_empty() || !state.renewed.is_empty()
    }
}

impl Leases {
    /// These leases, as the store sees them.
    pub(crate) fn holder(&self) -> Weak<dyn LeaseHolder> {
        let list: Weak<List> = Arc::downgrade(&self.list);
        list
    }

    pub(crate) fn new(provider: Arc<dyn Provider>, background: Arc<Background>) -> Self {
        Self { list: Arc::default(), provider, background }
    }

    /// Renews a lease until the result is dropped.
    pub(crate) fn keep(&self, lease: NewLease) -> Lease {
        let since = lease.since.unwrap_or_else(Instant::now);
        // A time beyond the range of `Instant` means never.
        let renewed_at =
            since.checked_add(lease_renewal_interval(lease.length)).unwrap_or(since + AGES);
        let due = match lease.leased {
            Leased::Turn => renewed_at,
            Leased::Activity => renewed_at.min(since + VOUCHED_AFTER),
        };
        let held = Arc::new(HeldLease {
            provider: Arc::clone(&self.provider),
            background: Arc::clone(&self.background),
            leased: lease.leased,
            token: lease.token,
            length: lease.length,
            renewed_at: if lease.doubtful { since } else { renewed_at },
            lost: lease.lost,
        });
        let mut state = self.list.lock();
        let key = (due, state.number_next);
        state.number_next += 1;
        if state.stopped {
            // The node is stopping; nothing is renewed any more.
        } else if lease.doubtful {
            state.renewed.insert(key.1, Arc::clone(&held).renew_in_task());
        } else {
            state.written.insert(key, Arc::clone(&held));
            if state.watch.is_none() {
                state.watch = Some(self.watch());
            } else if state.wakes_at.is_none_or(|wakes_at| due < wakes_at) {
                self.list.changed.notify_one();
            }
        }
        drop(state);
        Lease { held, key, list: Arc::clone(&self.list) }
    }

    /// Starts the task that watches the list.
    fn watch(&self) -> AbortOnDrop {
        let (list, changed) = (Arc::downgrade(&self.list), Arc::clone(&self.list.changed));
        self.background.spawn(watch(list, changed))
    }

    /// Remembers leases that are dropped from now on: their work is aborted.
    pub(crate) fn collect_dropped(&self) {
        self.list.lock().dropped.get_or_insert_default();
    }

    /// Releases the collected leases, without counting an attempt. If their work was committed
    /// after all, the store refuses, and that is well.
    pub(crate) async fn release_dropped(&self) {
        let dropped = self.list.lock().dropped.take().unwrap_or_default();
        for some in dropped.chunks(RETURNED_AT_ONCE_MAX) {
            join_all(some.iter().map(|held| held.release())).await;
        }
    }

    /// Stops all renewals.
    pub(crate) fn stop(&self) {
        let dropped = {
            let mut state = self.list.lock();
            state.stopped = true;
            (
                std::mem::take(&mut state.written),
                std::mem::take(&mut state.renewed),
                state.watch.take(),
            )
        };
        drop(dropped);
    }
}

impl Drop for Leases {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn watch(list: Weak<List>, changed: Arc<Notify>) {
    while let Some(next) = list.upgrade().map(|list| list.renew_due()) {
        match next {
            Some(due) => {
                tokio::select! {
                    () = changed.notified() => {}
                    () = tokio::time::sleep_until(due.into()) => {}
                }
            }
            None => changed.notified().await,
        }
    }
}

/// A lease that a task renews.
#[derive(Debug)]
struct RenewedLease {
    held: Arc<HeldLease>,
    _task: AbortOnDrop,
}

/// A lease of this node in the store.
struct HeldLease {
    provider: Arc<dyn Provider>,
    background: Arc<Background>,
    leased: Leased,
    token: String,
    length: Duration,
    /// When it is renewed first.
    renewed_at: Instant,
    lost: CancellationToken,
}

impl std::fmt::Debug for HeldLease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeldLease").field("leased", &self.leased).finish_non_exhaustive()
    }
}

impl HeldLease {
    /// Renews in a task of its own.
    fn renew_in_task(self: Arc<Self>) -> RenewedLease {
        let held = Arc::clone(&self);
        let task = held.background.spawn(async move {
            if Instant::now() < self.renewed_at {
                self.vouch().await;
                tokio::time::sleep_until(self.renewed_at.into()).await;
            }
            self.renew_until_lost().await;
            self.lost.cancel();
        });
        RenewedLease { held, _task: task }
    }

    /// States that the activity has not ended its node so far. Once for each lease, so a call
    /// without a response is not repeated.
    async fn vouch(&self) {
        let vouched = self.provider.vouch_for_work_item(&self.token, 1);
        if let Err(error) = self.background.call(vouched).await {
            debug!(target: "duroxide::runtime", %error, "could not vouch for an activity");
        }
    }

    /// Renews at once, and then whenever half the lease has passed, until the store refuses.
    ///
    /// Only a refusal means that the lease is lost: while the store cannot be reached, no other
    /// node can claim the work either, or it has claimed it and the store will say so.
    async fn renew_until_lost(&self) {
        let interval = lease_renewal_interval(self.length);
        loop {
            let pause = match self.background.call(self.renew()).await {
                Ok(()) => interval,
                Err(error) if error.is_retryable() => {
                    warn!(
                        target: "duroxide::runtime",
                        leased = ?self.leased, %error,
                        "could not renew a lease; retrying"
                    );
                    (interval / 4).max(Duration::from_millis(1))
                }
                Err(error) => {
                    let leased = self.leased;
                    debug!(target: "duroxide::runtime", ?leased, %error, "lease lost");
                    return;
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Extends the lease, also if it has expired and no other node has claimed the work since.
    async fn renew(&self) -> Result<(), ProviderError> {
        let (token, length) = (&self.token, self.length);
        let renewed = match self.leased {
            Leased::Turn => self.provider.renew_orchestration_item_lock(token, length).await,
            Leased::Activity => self.provider.renew_work_item_lock(token, length).await,
        };
        match renewed {
            Err(error) if error.kind == ProviderErrorKind::LostLease => self.reclaim(length).await,
            renewed => renewed,
        }
    }

    async fn release(&self) {
        let (token, provider) = (&self.token, &self.provider);
        let released = match self.leased {
            Leased::Turn => provider.abandon_orchestration_item(token, None, true).await,
            Leased::Activity => provider.abandon_work_item(token, None, true).await,
        };
        log_unreleased("aborted work", released);
    }

    async fn reclaim(&self, length: Duration) -> Result<(), ProviderError> {
        match self.leased {
            Leased::Turn => {
                self.provider.reclaim_orchestration_item_lock(&self.token, length).await
            }
            Leased::Activity => self.provider.reclaim_work_item_lock(&self.token, length).await,
        }
    }
}
