//! One connection of a pool. Every call on it returns: with a response, with an error, or at its
//! deadline.
//!
//! A stopped server sends neither a response nor an error. After the deadline the connection is
//! dropped, and whether the call ran is unknown.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Row, Statement};

use crate::connect::connection::Params;
use crate::connect::dial::{Connected, Dialer, Messages};
use crate::error::{JobError, describe};
use crate::schema::call::{Argument, Call};
use crate::schema::namespace::Schema;

/// A connection and the statements that are prepared on it.
#[derive(Debug)]
pub(crate) struct Session {
    client: Client,
    /// By their text.
    statements: Mutex<HashMap<String, Statement>>,
    /// Reads and writes the socket.
    driver: AbortHandle,
    dialer: Arc<Dialer>,
    server: Arc<str>,
    /// How long a call may take.
    response_within: Duration,
    /// Must not be used again.
    retired: AtomicBool,
}

impl Session {
    pub(crate) fn new(
        connected: Connected,
        dialer: Arc<Dialer>,
        response_within: Duration,
    ) -> Self {
        let Connected { client, messages, server } = connected;
        Self {
            client,
            statements: Mutex::default(),
            driver: tokio::spawn(drive(messages, Arc::clone(&server))).abort_handle(),
            dialer,
            server,
            response_within,
            retired: AtomicBool::new(false),
        }
    }

    /// Whether the next caller can use it.
    pub(crate) fn is_usable(&self) -> bool {
        !self.retired.load(Ordering::SeqCst) && !self.client.is_closed()
    }

    /// Runs a statement, prepared once for each connection.
    pub(crate) async fn query(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, JobError> {
        let statement = self.prepared(sql).await?;
        self.within(self.client.query(&statement, params)).await
    }

    /// Calls a function of this build.
    pub(crate) async fn call(
        &self,
        schema: &Schema,
        function: &'static str,
        arguments: &[Argument<'_>],
    ) -> Result<Vec<Row>, JobError> {
        let call = Call::new(schema, function, arguments)?;
        self.query(&call.sql, &call.values).await
    }

    /// Prepares a statement, so that the next [`query`](Self::query) is one round trip.
    pub(crate) async fn prepare(&self, sql: &str) -> Result<(), JobError> {
        self.prepared(sql).await.map(drop)
    }

    /// Runs statements that return no rows.
    pub(crate) async fn execute(&self, sql: &str) -> Result<(), JobError> {
        self.within(self.client.batch_execute(sql)).await
    }

    /// The host and port, for errors.
    pub(crate) fn server(&self) -> Arc<str> {
        Arc::clone(&self.server)
    }

    /// The driver's client. Its calls have no deadline.
    pub(crate) fn client_mut(&mut self) -> &mut Client {
        &mut self.client
    }

    async fn prepared(&self, sql: &str) -> Result<Statement, JobError> {
        let known = self.lock().get(sql).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        // Preparing changes nothing, whatever became of it.
        let prepared = self.within(self.client.prepare(sql)).await;
        let statement = prepared.map_err(JobError::without_effect)?;
        self.lock().insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Statement>> {
        self.statements.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn within<T>(
        &self,
        call: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, JobError> {
        match timeout(self.response_within, call).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => {
                self.retire_after(&error);
                Err(JobError::from(error).at(&self.server))
            }
            Err(_) => {
                self.retired.store(true, Ordering::SeqCst);
                self.driver.abort();
                Err(JobError::no_response(self.response_within).at(&self.server))
            }
        }
    }

    /// Some errors come from what the session remembers, and a new one does not have them.
    fn retire_after(&self, error: &tokio_postgres::Error) {
        let Some(state) = error.code() else { return };
        if *state == SqlState::READ_ONLY_SQL_TRANSACTION {
            self.dialer.prefer_another_host();
        }
        // Read-only since it was opened, or a transaction left open; a lost prepared statement; a
        // cached plan that no longer fits its table; anything the server did not expect.
        if matches!(state.code().get(..2), Some("25" | "26" | "0A" | "XX")) {
            self.retired.store(true, Ordering::SeqCst);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

async fn drive(mut messages: Messages, server: Arc<str>) {
    while let Some(message) = messages.next().await {
        if let Err(error) = message {
            tracing::debug!(
                target: "duroxide::providers::postgres",
                error = describe(&error),
                %server,
                "a connection broke"
            );
            return;
        }
    }
}
