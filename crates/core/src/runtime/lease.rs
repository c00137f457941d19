//! Renews leases while their work runs.
//!
//! Most work completes long before half its lease has passed. A new lease is therefore only added
//! to a list; a thread watches the list and starts a task for a lease that must be renewed. It is a
//! thread because user code that blocks the executor also blocks its timers, and that is just when
//! a lease must be renewed.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::options::lease_renewal_interval;
use super::tasks::{AbortOnDrop, Tasks};
use crate::providers::{Provider, ProviderError};

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
    /// Fires when the lease is lost.
    pub(crate) lost: CancellationToken,
    /// Renew at once, because the lease may be lost already.
    pub(crate) doubtful: bool,
}

/// A lease that is renewed until this is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    lost: CancellationToken,
    key: (Instant, u64),
    list: Arc<List>,
}

impl Lease {
    /// Fires when the lease is lost: another node holds the work, or the work is cancelled.
    pub(crate) fn lost(&self) -> &CancellationToken {
        &self.lost
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let (_due, number) = self.key;
        let mut state = self.list.lock();
        let dropped = (state.written.remove(&self.key), state.renewed.remove(&number));
        drop(state);
        // Outside the lock: this may drop the last handle of the store.
        drop(dropped);
    }
}

/// The leases of one node.
#[derive(Debug)]
pub(crate) struct Leases {
    list: Arc<List>,
}

#[derive(Debug, Default)]
struct List {
    state: Mutex<State>,
    changed: Condvar,
}

impl List {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
struct State {
    /// Leases that need no renewal yet, by the time of their first renewal and a unique number.
    written: BTreeMap<(Instant, u64), Keeper>,
    /// Leases that a task renews, by number.
    renewed: HashMap<u64, AbortOnDrop>,
    number_next: u64,
    /// When the thread wakes by itself; `None` while it waits for a notification.
    wakes_at: Option<Instant>,
    has_thread: bool,
    stopped: bool,
}

impl Leases {
    pub(crate) fn new() -> Self {
        Self { list: Arc::default() }
    }

    /// Renews a lease until the result is dropped. Must be called within the executor.
    pub(crate) fn keep(
        &self,
        lease: NewLease,
        provider: &Arc<dyn Provider>,
        tasks: &Tasks,
    ) -> Lease {
        let started = Instant::now();
        let lost = lease.lost;
        let interval = lease_renewal_interval(lease.length);
        let keeper = Keeper {
            provider: Arc::clone(provider),
            tasks: tasks.clone(),
            executor: Handle::current(),
            leased: lease.leased,
            token: lease.token,
            length: lease.length,
            started,
            lost: lost.clone(),
        };
        // A time beyond the range of `Instant` means never.
        let due = started.checked_add(interval).unwrap_or(started + AGES);
        let mut state = self.list.lock();
        let key = (due, state.number_next);
        state.number_next += 1;
        if lease.doubtful {
            state.renewed.insert(key.1, keeper.start());
        } else {
            state.written.insert(key, keeper);
            self.ensure_thread(&mut state);
            if state.wakes_at.is_none_or(|wakes_at| due < wakes_at) {
                self.list.changed.notify_one();
            }
        }
        drop(state);
        Lease { lost, key, list: Arc::clone(&self.list) }
    }

    fn ensure_thread(&self, state: &mut State) {
        if state.has_thread || state.stopped {
            return;
        }
        let list = Arc::downgrade(&self.list);
        let thread = std::thread::Builder::new().name("duroxide-leases".to_owned());
        match thread.spawn(move || watch(&list)) {
            Ok(_runs_until_stopped) => state.has_thread = true,
            Err(error) => warn!(
                target: "duroxide::runtime",
                %error,
                "could not start the thread that renews leases; other nodes will claim work that \
                 takes longer than its lease"
            ),
        }
    }

    /// Stops all renewals.
    pub(crate) fn stop(&self) {
        let dropped = {
            let mut state = self.list.lock();
            state.stopped = true;
            (std::mem::take(&mut state.written), std::mem::take(&mut state.renewed))
        };
        self.list.changed.notify_one();
        drop(dropped);
    }
}

impl Drop for Leases {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Starts a task for each lease that is due, until the list is dropped.
fn watch(list: &Weak<List>) {
    while let Some(list) = list.upgrade() {
        let state = list.lock();
        if state.stopped {
            return;
        }
        wait_and_renew(&list, state);
    }
}

fn wait_and_renew(list: &List, mut state: MutexGuard<'_, State>) {
    let now = Instant::now();
    let Some(first) = state.written.first_entry() else {
        state.wakes_at = None;
        drop(list.changed.wait(state));
        return;
    };
    let (due, number) = *first.key();
    if due <= now {
        let keeper = first.remove().start();
        state.renewed.insert(number, keeper);
        return;
    }
    state.wakes_at = Some(due);
    drop(list.changed.wait_timeout(state, due - now));
}

/// What renewing needs.
struct Keeper {
    provider: Arc<dyn Provider>,
    tasks: Tasks,
    executor: Handle,
    leased: Leased,
    token: String,
    length: Duration,
    started: Instant,
    lost: CancellationToken,
}

impl std::fmt::Debug for Keeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keeper").field("leased", &self.leased).finish_non_exhaustive()
    }
}

impl Keeper {
    /// Renews in a task of its own.
    fn start(self) -> AbortOnDrop {
        let executor = self.executor.clone();
        let _within = executor.enter();
        let tasks = self.tasks.clone();
        let handle = tasks.spawn(async move {
            self.renew_until_lost().await;
            self.lost.cancel();
        });
        AbortOnDrop::new(&handle)
    }

    /// Renews at once, and then whenever half the lease has passed.
    async fn renew_until_lost(&self) {
        let interval = lease_renewal_interval(self.length);
        // `None` if the lease expires beyond the range of `Instant`.
        let mut expires = self.started.checked_add(self.length);
        loop {
            let requested = Instant::now();
            let pause = match self.renew().await {
                Ok(()) => {
                    expires = requested.checked_add(self.length);
                    interval
                }
                // Only a permanent error means that the lease is lost. A retryable one does not,
                // until the lease has expired.
                Err(error)
                    if error.is_retryable()
                        && expires.is_none_or(|expires| Instant::now() < expires) =>
                {
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

    async fn renew(&self) -> Result<(), ProviderError> {
        match self.leased {
            Leased::Turn => {
                self.provider.renew_orchestration_item_lock(&self.token, self.length).await
            }
            Leased::Activity => self.provider.renew_work_item_lock(&self.token, self.length).await,
        }
    }
}
