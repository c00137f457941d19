//! Statements on the connections of one pool, repeated while their errors pass.

use std::time::Duration;

use tokio::time::Instant;
use tokio_postgres::Row;

use crate::connect::connection::{Params, Pool};
use crate::connect::options::Settings;
use crate::error::JobError;
use crate::limits;
use crate::schema::call::{Argument, Call};
use crate::schema::namespace::Schema;

/// Runs statements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Statements<'a> {
    pub(crate) pool: &'a Pool,
    pub(crate) schema: &'a Schema,
    pub(crate) settings: &'a Settings,
}

impl Statements<'_> {
    /// Runs a statement that may be repeated.
    pub(crate) async fn query(
        self,
        template: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, JobError> {
        self.query_text(&self.schema.sql(template), params).await
    }

    /// Calls a function that may be repeated.
    pub(crate) async fn call_repeatable(
        self,
        function: &'static str,
        arguments: &[Argument<'_>],
    ) -> Result<Vec<Row>, JobError> {
        let call = Call::new(self.schema, function, arguments)?;
        self.query_text(&call.sql, &call.values).await
    }

    async fn query_text(self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, JobError> {
        let mut attempts = Attempts::new(self.settings);
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
        self,
        template: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, JobError> {
        self.change_text(&self.schema.sql(template), params).await
    }

    /// Calls a function that must not be repeated once it may have run.
    pub(crate) async fn call(
        self,
        function: &'static str,
        arguments: &[Argument<'_>],
    ) -> Result<Vec<Row>, JobError> {
        let call = Call::new(self.schema, function, arguments)?;
        self.change_text(&call.sql, &call.values).await
    }

    async fn change_text(self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, JobError> {
        let mut attempts = Attempts::new(self.settings);
        loop {
            match self.query_once(sql, params).await {
                Err(error) if error.is_unavailable() => attempts.pause_or_fail(error).await?,
                answer => return answer,
            }
        }
    }

    async fn query_once(self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, JobError> {
        self.pool.get().await?.query(sql, params).await
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
            pause(self.locked, limits::RETRY_PAUSE, limits::LOCKED_PAUSE_MAX)
        } else {
            self.failed += 1;
            pause(self.failed, limits::RETRY_PAUSE, limits::RETRY_PAUSE_MAX)
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
pub(crate) fn pause(failed: u32, first: Duration, longest: Duration) -> Duration {
    let factor = 2_u32.saturating_pow(failed.saturating_sub(1).min(16));
    first.saturating_mul(factor).min(longest)
}
