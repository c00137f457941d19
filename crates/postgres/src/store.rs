//! What all parts of a provider share: connections, schema, clock, notifications.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use duroxide_core::clock::Clock;
use duroxide_core::providers::LeaseHolders;
use tokio::sync::{Notify, OnceCell};
use tokio::time::Instant;
use tokio_postgres::Row;

use crate::clock::DatabaseClock;
use crate::connect::connection::{Connections, Params, Pool, PooledSession};
use crate::connect::options::Settings;
use crate::connect::own_thread::OwnThread;
use crate::error::JobError;
use crate::fast_path::switch::FastPath;
use crate::fetch::empty_poll::EmptyPoll;
use crate::fetch::isolation::SetAside;
use crate::fetch::undo::DroppedFetches;
use crate::limits;
use crate::notify::change::Changes;
use crate::notify::notifier::Notifier;
use crate::schema::call::Argument;
use crate::schema::namespace::Schema;
use crate::schema::number::{from_db, lease_length, to_db};
use crate::statements::Statements;

/// The shared part of a provider.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) connections: Connections,
    pub(crate) own_thread: OwnThread,
    /// The first connection of that thread was opened.
    pub(crate) own_opened: OnceCell<()>,
    pub(crate) schema: Schema,
    pub(crate) settings: Settings,
    /// A random number that distinguishes this node from others.
    pub(crate) node: i64,
    pub(crate) notifier: Notifier,
    /// The channel on which nodes notify each other of changes.
    pub(crate) channel: String,
    /// Nodes of this process, whose expired leases are extended.
    pub(crate) holders: LeaseHolders,
    pub(crate) dropped_fetches: DroppedFetches,
    pub(crate) empty_poll: EmptyPoll,
    pub(crate) set_aside: SetAside,
    pub(crate) fast_path: FastPath,
    /// Follows the server's time in every response that carries it.
    pub(crate) database_clock: Arc<DatabaseClock>,
    /// The latest time of a clock that the program has set.
    pub(crate) latest_now: AtomicI64,
    /// The clock of this store's times was set back.
    pub(crate) clock_set_back: Notify,
    /// A caller waits for changes of other nodes.
    pub(crate) listening_wanted: Notify,
}

impl Store {
    /// The time to run a statement at; `None` if the server's own time counts.
    pub(crate) fn now(&self) -> Option<i64> {
        self.settings.clock.as_ref().map(|clock| to_db(clock.now_ms()))
    }

    /// The clock of this store's times.
    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        match &self.settings.clock {
            Some(clock) => Arc::clone(clock),
            None => Arc::clone(&self.database_clock) as _,
        }
    }

    /// The response to a request carried the server's time.
    pub(crate) fn observe_server_time(&self, requested: Instant, now: i64) {
        let is_set_back = match &self.settings.clock {
            None => self.database_clock.observe(requested, from_db(now)),
            Some(_) => {
                let latest = self.latest_now.fetch_max(now, Ordering::Relaxed);
                let is_set_back =
                    now.saturating_add(lease_length(limits::OWN_CLOCK_DRIFT_MAX)) < latest;
                if is_set_back {
                    self.latest_now.store(now, Ordering::Relaxed);
                }
                is_set_back
            }
        };
        if is_set_back {
            self.clock_set_back.notify_one();
        }
    }

    /// Whether the time of this store has surely come, so that a poll finds what is due.
    pub(crate) fn is_reached(&self, due: u64) -> bool {
        let now = match &self.settings.clock {
            Some(clock) => clock.now_ms(),
            None => self.database_clock.surely_ms(),
        };
        due <= now
    }

    /// Notifies waiters of durable changes, here and on other nodes.
    pub(crate) fn publish(&self, changes: Changes) {
        self.notifier.publish(changes);
    }

    /// A connection for fetches and reads.
    pub(crate) async fn session(&self) -> Result<PooledSession, JobError> {
        Ok(self.connections.pool.get().await?)
    }

    /// Statements on the connections for fetches and reads.
    fn shared(&self) -> Statements<'_> {
        self.on(&self.connections.pool)
    }

    /// Statements on the connections of the store's own thread, for calls that run there.
    pub(crate) fn own(&self) -> Statements<'_> {
        self.on(&self.connections.own)
    }

    fn on<'a>(&'a self, pool: &'a Pool) -> Statements<'a> {
        Statements { pool, schema: &self.schema, settings: &self.settings }
    }

    /// Statements that no call waits for. They leave the connections of `shared`, whose plans are
    /// made, to fetches and reads.
    pub(crate) fn background(&self) -> Statements<'_> {
        self.on(&self.connections.single_writers)
    }

    /// Runs a call on the store's own thread, where user code cannot block it.
    pub(crate) async fn on_own_thread<T, F>(
        self: &Arc<Self>,
        call: impl FnOnce(Arc<Self>) -> F,
    ) -> Result<T, JobError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, JobError>> + Send + 'static,
    {
        let store = Arc::clone(self);
        let call = call(Arc::clone(self));
        let run = async move {
            store.open_own_connection().await;
            call.await
        };
        self.own_thread.run(run).await
    }

    /// Opens a connection for renewals, so that the first one need not wait for it.
    pub(crate) fn prepare_renewals(self: &Arc<Self>) {
        let store = Arc::clone(self);
        self.own_thread.start(async move { store.open_own_connection().await });
    }

    /// The first calls wait for one connection; otherwise each would open its own.
    async fn open_own_connection(&self) {
        let open = || async {
            // Trouble is reported by the call that meets it.
            drop(self.connections.own.get().await);
        };
        self.own_opened.get_or_init(open).await;
    }

    /// Runs a statement that may be repeated.
    pub(crate) async fn query(
        &self,
        template: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, JobError> {
        self.shared().query(template, params).await
    }

    /// Calls a function that may be repeated.
    pub(crate) async fn call_repeatable(
        &self,
        function: &'static str,
        arguments: &[Argument<'_>],
    ) -> Result<Vec<Row>, JobError> {
        self.shared().call_repeatable(function, arguments).await
    }

    /// Runs a statement that must not be repeated once it may have run.
    pub(crate) async fn change(
        &self,
        template: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, JobError> {
        self.shared().change(template, params).await
    }

    /// Calls a function that must not be repeated once it may have run.
    pub(crate) async fn call(
        &self,
        function: &'static str,
        arguments: &[Argument<'_>],
    ) -> Result<Vec<Row>, JobError> {
        self.shared().call(function, arguments).await
    }
}
