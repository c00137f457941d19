//! What all parts of a provider share: connections, schema, clock, notifications.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::clock::Clock;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_postgres::Row;

use crate::clock::DatabaseClock;
use crate::connect::connection::{Connections, Params, PooledSession};
use crate::connect::options::Settings;
use crate::error::JobError;
use crate::fast_path::switch::FastPath;
use crate::fetch::empty_poll::EmptyPoll;
use crate::fetch::undo::DroppedFetches;
use crate::limits;
use crate::notify::change::Changes;
use crate::notify::notifier::Notifier;
use crate::schema::call::{Argument, Call};
use crate::schema::namespace::Schema;
use crate::schema::number::{from_db, to_db};

/// The shared part of a provider.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) connections: Connections,
    pub(crate) schema: Schema,
    pub(crate) settings: Settings,
    /// A random number that distinguishes this node from others.
    pub(crate) node: i64,
    pub(crate) notifier: Notifier,
    /// The channel on which nodes notify each other of changes.
    pub(crate) channel: String,
    pub(crate) dropped_fetches: DroppedFetches,
    pub(crate) empty_poll: EmptyPoll,
    pub(crate) fast_path: FastPath,
    /// Follows the server's time in every response that carries it.
    pub(crate) database_clock: Arc<DatabaseClock>,
    /// The server's clock was set back.
    pub(crate) clock_set_back: Notify,
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
        if self.settings.clock.is_none() && self.database_clock.observe(requested, from_db(now)) {
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
        let mut attempts = Attempts::new(&self.settings);
        loop {
            match self.query_once(sql, params).await {
                Err(error) if error.is_unavailable() || error.is_uncertain() => {
                    attempts.pause_or_fail(error).await?;
                }
                answer => return answer,
            }
        }
    }

    /// Runs a statement that must not be repeated once it may have run.
    pub(crate) async fn change(
        &self,
        template: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, JobError> {
        self.change_text(&self.schema.sql(template), params).await
    }

    async fn change_text(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, JobError> {
        let mut attempts = Attempts::new(&self.settings);
        loop {
            match self.query_once(sql, params).await {
                Err(error) if error.is_unavailable() => attempts.pause_or_fail(error).await?,
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
        self.session().await?.query(sql, params).await
    }
}

/// Counts failed attempts and waits between them.
#[derive(Debug)]
pub(crate) struct Attempts {
    failed: u32,
    locked: u32,
    /// Until then, a locked row does not count as a failure: its holder ends sooner or later.
    patient_until: Instant,
    /// After this there is no other attempt.
    until: Instant,
}

impl Attempts {
    /// No attempt so far. A call that got no response is repeated once, in case only its connection
    /// was stuck; after a second one the server is.
    pub(crate) fn new(settings: &Settings) -> Self {
        let now = Instant::now();
        let after = |wait| now.checked_add(wait).unwrap_or(now);
        Self {
            failed: 0,
            locked: 0,
            patient_until: after(settings.statement_timeout),
            until: after(settings.response_within().saturating_mul(2)),
        }
    }

    /// Waits before the next attempt, or returns the error after the last one.
    pub(crate) async fn pause_or_fail(&mut self, error: JobError) -> Result<(), JobError> {
        let waits_for_lock = error.is_locked() && Instant::now() < self.patient_until;
        let pause = if waits_for_lock {
            self.locked += 1;
            pause(self.locked, limits::RETRY_PAUSE).min(limits::LOCKED_PAUSE_MAX)
        } else {
            self.failed += 1;
            pause(self.failed, limits::RETRY_PAUSE)
        };
        if self.failed >= limits::ATTEMPTS_MAX || Instant::now() >= self.until {
            return Err(error);
        }
        tracing::debug!(
            target: "duroxide::providers::postgres",
            %error,
            attempt_count = self.failed + self.locked,
            "storage operation failed; retrying"
        );
        tokio::time::sleep(pause).await;
        Ok(())
    }
}

/// A pause that doubles with each failure.
pub(crate) fn pause(failed: u32, first: Duration) -> Duration {
    let factor = 2_u32.saturating_pow(failed.saturating_sub(1).min(16));
    first.saturating_mul(factor).min(limits::RETRY_PAUSE_MAX)
}
