//! What all parts of a provider share: connections, schema, clock, changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use deadpool_postgres::Object;
use duroxide_core::clock::Clock;
use duroxide_core::providers::{ChangeHub, ChangeScope};
use tokio_postgres::Row;

use crate::clock::DatabaseClock;
use crate::connect::connection::{self, Connections, Params};
use crate::connect::options::Settings;
use crate::error::JobError;
use crate::fast_path::starts::Starts;
use crate::fetch::empty_poll::EmptyPoll;
use crate::fetch::undo::Returning;
use crate::limits;
use crate::notify::change::Changes;
use crate::notify::channel::Outbox;
use crate::schema::call::{Argument, Call};
use crate::schema::namespace::Schema;
use crate::schema::number::{from_db, to_db};

/// The shared part of a provider.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) connections: Connections,
    pub(crate) schema: Schema,
    pub(crate) settings: Settings,
    /// A random number that tells this node from others.
    pub(crate) node: i64,
    pub(crate) hub: ChangeHub,
    pub(crate) outbox: Outbox,
    pub(crate) returning: Returning,
    pub(crate) empty_poll: EmptyPoll,
    pub(crate) starts: Arc<Starts>,
    /// How often there was a reason to believe that messages have become fetchable.
    pub(crate) queue_news: AtomicU64,
    /// Told the time by every answer that holds it.
    pub(crate) database_clock: Arc<DatabaseClock>,
}

impl Store {
    /// The time that a statement is run at, if it is not the database that says it.
    pub(crate) fn now(&self) -> Option<i64> {
        self.settings.clock.as_ref().map(|clock| to_db(clock.now_ms()))
    }

    /// The clock that callers go by.
    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        match &self.settings.clock {
            Some(clock) => Arc::clone(clock),
            None => Arc::clone(&self.database_clock) as _,
        }
    }

    /// An answer said what time it is.
    pub(crate) fn observe_server_time(&self, now: i64) {
        if self.settings.clock.is_none() {
            self.database_clock.tell(from_db(now));
        }
    }

    /// Tells waiters of durable changes, here and on other nodes.
    pub(crate) fn publish(&self, changes: Changes) {
        if changes.is_empty() {
            return;
        }
        self.publish_here(&changes);
        self.outbox.add(changes.for_others());
    }

    /// Tells waiters on this node.
    pub(crate) fn publish_here(&self, changes: &Changes) {
        if changes.orchestrator_queue {
            self.queue_news.fetch_add(1, Ordering::SeqCst);
        }
        changes.publish(&self.hub);
    }

    /// The time of something has come, which nobody tells.
    pub(crate) fn time_has_come(&self) {
        self.queue_news.fetch_add(1, Ordering::SeqCst);
    }

    /// What is to be compared after turns are committed: see [`look_again`](Self::look_again).
    pub(crate) fn queue_news(&self) -> u64 {
        self.queue_news.load(Ordering::SeqCst)
    }

    /// Turns were committed by a transaction that was begun at this state of the news, or at a time
    /// that nobody knows. Whoever has looked since passed their instances over, and the transaction
    /// may not have seen what was looked for. This is no news by itself, or two who commit would
    /// wake each other for ever.
    pub(crate) fn look_again(&self, since: Option<u64>) {
        if since != Some(self.queue_news()) {
            self.hub.notify(ChangeScope::OrchestratorQueue);
        }
    }

    /// A connection for fetches and reads.
    pub(crate) async fn client(&self) -> Result<Object, JobError> {
        Ok(self.connections.pool.get().await?)
    }

    /// Runs a statement that may be repeated.
    pub(crate) async fn query(
        &self,
        template: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, JobError> {
        self.query_text(&self.schema.sql(template), params).await
    }

    /// Calls a function that may be repeated.
    pub(crate) async fn call_repeatable(
        &self,
        function: &'static str,
        arguments: &[Argument<'_>],
    ) -> Result<Vec<Row>, JobError> {
        let call = Call::new(&self.schema, function, arguments)?;
        self.query_text(&call.sql, &call.values).await
    }

    async fn query_text(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, JobError> {
        let mut tries = Tries::default();
        loop {
            match self.query_once(sql, params).await {
                Err(error) if error.is_unavailable() || error.is_uncertain() => {
                    tries.pause_or_give_up(error).await?;
                }
                answer => return answer,
            }
        }
    }

    /// Runs a statement that must not be repeated once it may have been done.
    pub(crate) async fn change(
        &self,
        template: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, JobError> {
        self.change_text(&self.schema.sql(template), params).await
    }

    async fn change_text(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, JobError> {
        let mut tries = Tries::default();
        loop {
            match self.query_once(sql, params).await {
                Err(error) if error.is_unavailable() => tries.pause_or_give_up(error).await?,
                answer => return answer,
            }
        }
    }

    /// Calls a function that must not be repeated once it may have run.
    pub(crate) async fn call(
        &self,
        function: &'static str,
        arguments: &[Argument<'_>],
    ) -> Result<Vec<Row>, JobError> {
        let call = Call::new(&self.schema, function, arguments)?;
        self.change_text(&call.sql, &call.values).await
    }

    async fn query_once(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, JobError> {
        let client = self.client().await?;
        connection::query(&client, sql, params).await
    }
}

/// Counts tries and says how long to wait before the next.
#[derive(Debug, Default)]
pub(crate) struct Tries {
    failed: u32,
}

impl Tries {
    /// Waits before the next try, or gives the error back if there were enough.
    pub(crate) async fn pause_or_give_up(&mut self, error: JobError) -> Result<(), JobError> {
        self.failed += 1;
        if self.failed >= limits::TRIES_MAX {
            return Err(error);
        }
        tracing::debug!(%error, tries = self.failed, "a storage call is tried again");
        tokio::time::sleep(pause(self.failed, limits::RETRY_PAUSE)).await;
        Ok(())
    }
}

/// A pause that doubles with each failure.
pub(crate) fn pause(failed: u32, first: Duration) -> Duration {
    let factor = 2_u32.saturating_pow(failed.saturating_sub(1).min(16));
    first.saturating_mul(factor).min(limits::RETRY_PAUSE_MAX)
}
