//! The durare engine on SQLite.

use std::collections::HashMap;
use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bench_harness::{Engine, Failure, Job, Opener};
use durare::{DurableEngine, SqliteProvider, WorkflowHandle, WorkflowOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

use crate::durare_workflows::{STATUS, TOPIC, register};

const WAIT_MAX: Duration = Duration::from_secs(600);
const SHUTDOWN: Duration = Duration::from_secs(1);
/// The values that its own `connect` uses.
const CONNECTIONS: u32 = 5;
const BUSY: Duration = Duration::from_secs(5);

/// durare with its SQLite provider.
pub(crate) struct DurareSqlite {
    pub(crate) name: &'static str,
    pub(crate) full: bool,
}

#[async_trait]
impl Opener for DurareSqlite {
    fn name(&self) -> &'static str {
        self.name
    }

    fn durability(&self) -> &'static str {
        if self.full { "SQLite WAL, synchronous=FULL" } else { "SQLite WAL, synchronous=NORMAL" }
    }

    fn supports(&self, job: &Job) -> bool {
        !matches!(job, Job::Loop { .. } | Job::Waits { .. })
    }

    // The same pool as its own `connect` creates, except for the durability level.
    async fn open(&self, folder: &Path) -> Result<Box<dyn Engine>, Failure> {
        let url = format!("sqlite://{}", folder.join("bench.db").display());
        let level = if self.full { SqliteSynchronous::Full } else { SqliteSynchronous::Normal };
        let options = SqliteConnectOptions::from_str(&url).map_err(text)?;
        let options = options
            .create_if_missing(true)
            .foreign_keys(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(level)
            .busy_timeout(BUSY);
        let pool = SqlitePoolOptions::new().max_connections(CONNECTIONS);
        let pool = pool.connect_with(options).await.map_err(text)?;
        let provider = Arc::new(SqliteProvider::from_pool(pool));
        let mut engine = DurableEngine::new(provider).await.map_err(text)?;
        register(&mut engine);
        engine.launch().await.map_err(text)?;
        engine.recover().await.map_err(text)?;
        Ok(Box::new(Durare { engine, handles: Mutex::default() }))
    }
}

struct Durare {
    engine: DurableEngine,
    /// A handle observes the completion of its workflow without a query.
    handles: Mutex<HashMap<String, WorkflowHandle<String>>>,
}

#[async_trait]
impl Engine for Durare {
    async fn start(&self, id: &str, job: &Job) -> Result<(), Failure> {
        let options = WorkflowOptions::with_id(id);
        let handle = self.engine.start(job.name(), job.input(), options).await.map_err(text)?;
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        handles.insert(id.to_owned(), handle);
        Ok(())
    }

    async fn finish(&self, id: &str) -> Result<String, Failure> {
        let kept = self.handles.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        let handle = match kept {
            Some(handle) => handle,
            None => self.engine.retrieve_workflow(id).await.map_err(text)?,
        };
        handle.result().await.map_err(|error| format!("{id}: {error}"))
    }

    async fn signal(&self, id: &str, value: u64) -> Result<(), Failure> {
        self.engine.send(id, value, TOPIC).await.map_err(text)
    }

    async fn wait_until_idle(&self, id: &str) -> Result<(), Failure> {
        let status: Option<String> =
            self.engine.get_event(id, STATUS, WAIT_MAX).await.map_err(text)?;
        status.map(drop).ok_or_else(|| format!("{id} never waited"))
    }

    async fn stop(&self) -> Result<(), Failure> {
        self.engine.shutdown(SHUTDOWN).await.map_err(text)
    }
}

fn text(error: impl std::fmt::Display) -> Failure {
    error.to_string()
}
