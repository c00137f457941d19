//! A node on a store that tests can corrupt, and a client that checks whether it still works.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::Provider;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{Runtime, UnregisteredBackoffConfig};
use duroxide::{
    ActivityContext, Client, ClientError, OrchestrationContext, OrchestrationRegistry,
    OrchestrationStatus, RuntimeOptions,
};

use tokio::sync::watch;

use crate::logs;

pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);
/// Pause between two polls of a condition without a notification.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A node and a client on one store.
pub(crate) struct TestNode {
    pub(crate) client: Client,
    pub(crate) runtime: Arc<Runtime>,
    /// Activities that are called "Gate" return once this is true. Each has a receiver meanwhile.
    pub(crate) gate: watch::Sender<bool>,
}

impl TestNode {
    pub(crate) async fn on(store: Arc<dyn Provider>) -> Self {
        Self::with(store, options()).await
    }

    pub(crate) async fn with(store: Arc<dyn Provider>, options: RuntimeOptions) -> Self {
        logs::collect();
        let gate = watch::Sender::new(false);
        let runtime = Runtime::start_with_options(
            Arc::clone(&store),
            activities(&gate),
            orchestrations(),
            options,
        )
        .await;
        Self { client: Client::new(store), runtime, gate }
    }

    /// Asserts that an ordinary workflow completes.
    pub(crate) async fn assert_works(&self, instance: &str) {
        self.client.start_orchestration(instance, "One", "fine").await.unwrap();
        assert_eq!(self.output(instance).await, "fine", "{instance}");
    }

    pub(crate) async fn final_status(&self, instance: &str) -> OrchestrationStatus {
        self.client.wait_for_orchestration(instance, TIMEOUT).await.unwrap()
    }

    pub(crate) async fn output(&self, instance: &str) -> String {
        match self.final_status(instance).await {
            OrchestrationStatus::Completed { output, .. } => output,
            other => panic!("{instance}: {other:?}"),
        }
    }

    pub(crate) async fn failure(&self, instance: &str) -> String {
        // While the history cannot be decoded, reading the status is an error as well.
        let mut status = self.client.wait_for_orchestration(instance, TIMEOUT).await;
        while matches!(&status, Err(error) if error.to_string().contains("deserialization failed"))
        {
            tokio::time::sleep(POLL_INTERVAL).await;
            status = self.client.wait_for_orchestration(instance, TIMEOUT).await;
        }
        match status.unwrap() {
            OrchestrationStatus::Failed { details, .. } => details.display_message(),
            other => panic!("{instance}: {other:?}"),
        }
    }

    /// Waits until an instance has committed its first turn.
    pub(crate) async fn wait_until_started(&self, instance: &str) {
        while self.client.get_orchestration_status(instance).await.unwrap()
            == OrchestrationStatus::NotFound
        {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    pub(crate) async fn stop(self) {
        self.runtime.shutdown(None).await;
    }
}

/// Few attempts and short leases, so that work becomes poison soon.
pub(crate) fn options() -> RuntimeOptions {
    RuntimeOptions {
        max_attempts: 2,
        orchestrator_lock_timeout: Duration::from_secs(1),
        worker_lock_timeout: Duration::from_secs(1),
        unregistered_backoff: UnregisteredBackoffConfig {
            base_delay: Duration::from_millis(20),
            max_delay: Duration::from_millis(40),
        },
        ..RuntimeOptions::default()
    }
}

fn activities(gate: &watch::Sender<bool>) -> ActivityRegistry {
    let gate = gate.clone();
    let wait = move |_ctx: ActivityContext, input: String| {
        let mut opened = gate.subscribe();
        async move {
            opened.wait_for(|opened| *opened).await.map_err(|error| error.to_string())?;
            Ok(input)
        }
    };
    ActivityRegistry::builder()
        .register("Echo", |_ctx: ActivityContext, input: String| async move { Ok(input) })
        .register("Gate", wait)
        .build()
}

pub(crate) fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("One", |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_activity("Echo", input).await
        })
        .register("Wait", |ctx: OrchestrationContext, _input: String| async move {
            let data = ctx.schedule_wait("go").await;
            ctx.schedule_activity("Echo", data).await
        })
        .register("Bulky", |ctx: OrchestrationContext, _input: String| async move {
            let data = ctx.schedule_wait("go").await;
            ctx.schedule_activity("Echo", "z".repeat(50_000)).await?;
            Ok(data)
        })
        .register("Gated", |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_activity("Gate", input).await
        })
        .register("Parent", |ctx: OrchestrationContext, child: String| async move {
            ctx.schedule_sub_orchestration_with_id("Wait", child, "").await
        })
        .register("Chain", |ctx: OrchestrationContext, count: String| async move {
            let steps: u32 = count.parse().map_err(|error| format!("{error}"))?;
            for step in 0..steps {
                ctx.schedule_activity("Echo", step.to_string()).await?;
            }
            Ok(count)
        })
        .register("Unserved", |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_activity("NotRegistered", input).await
        })
        .register("Steps", |ctx: OrchestrationContext, input: String| async move {
            let calls = (0..3).map(|call| ctx.schedule_activity("Echo", format!("{input}{call}")));
            let joined: Result<Vec<String>, String> =
                ctx.join(calls.collect()).await.into_iter().collect();
            ctx.schedule_timer(Duration::from_millis(20)).await;
            let last = ctx.schedule_activity("Echo", "end").await?;
            Ok(format!("{} {last}", joined?.join(" ")))
        })
        .build()
}

/// A database file that is deleted when this value is dropped.
pub(crate) struct TempStore {
    pub(crate) folder: tempfile::TempDir,
}

impl TempStore {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("store.db")
    }

    pub(crate) async fn open(&self) -> Arc<SqliteProvider> {
        Arc::new(SqliteProvider::new(text(&self.file()), None).await.unwrap())
    }

    /// Opens another connection to the file of the provider.
    pub(crate) fn connection(&self) -> rusqlite::Connection {
        let connection = rusqlite::Connection::open(self.file()).unwrap();
        connection.busy_timeout(TIMEOUT).unwrap();
        connection
    }

    /// Changes exactly one row without the provider.
    pub(crate) fn corrupt_row(&self, sql: &str) {
        assert_eq!(self.connection().execute(sql, []).unwrap(), 1, "{sql}");
    }
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Repeats a call that fails with a retryable error, as a program would.
pub(crate) async fn retry<T, F>(mut call: impl FnMut() -> F) -> T
where
    F: Future<Output = Result<T, ClientError>>,
{
    for _ in 0..10_000 {
        match call().await {
            Ok(done) => return done,
            Err(error) if error.is_retryable() => tokio::time::sleep(POLL_INTERVAL).await,
            Err(error) => panic!("{error}"),
        }
    }
    panic!("every attempt failed with a retryable error");
}

/// Waits for a condition without a notification.
pub(crate) async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let wait = async {
        while !condition() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    assert!(tokio::time::timeout(TIMEOUT, wait).await.is_ok(), "timed out: {what}");
}
