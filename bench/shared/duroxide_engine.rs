//! The Duroxide engine: a node and a client. The same source is compiled against this project
//! and against the published 0.1.32.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bench_harness::{Engine, Failure, Job};
use duroxide::Client;
use duroxide::providers::Provider;
use duroxide::runtime::{OrchestrationStatus, Runtime, RuntimeOptions};

use crate::workflows::{INBOX, activities, orchestrations};

/// Longest wait for an instance: longer than any workload needs.
const WAIT_MAX: Duration = Duration::from_secs(600);
/// Poll interval of versions that poll for status changes.
const STATUS_POLL: Duration = Duration::from_millis(20);
const SHUTDOWN_MS: u64 = 5_000;

/// A node and a client on one store.
pub(crate) struct DuroxideEngine {
    client: Client,
    runtime: Arc<Runtime>,
    statements: Option<fn() -> u64>,
}

impl DuroxideEngine {
    /// Starts a node.
    pub(crate) async fn start(store: Arc<dyn Provider>, options: RuntimeOptions) -> Self {
        let node = Arc::clone(&store);
        let runtime =
            Runtime::start_with_options(node, activities(), orchestrations(), options).await;
        Self { client: Client::new(store), runtime, statements: None }
    }

    /// Sets the function that reads the statement counter of the store.
    #[allow(dead_code, reason = "only one of the two engines counts")]
    pub(crate) fn counting(mut self, statements: fn() -> u64) -> Self {
        self.statements = Some(statements);
        self
    }
}

#[async_trait]
impl Engine for DuroxideEngine {
    async fn start(&self, id: &str, job: &Job) -> Result<(), Failure> {
        let started = self.client.start_orchestration(id, job.name(), job.input()).await;
        started.map_err(|error| format!("{id}: {error}"))
    }

    async fn finish(&self, id: &str) -> Result<String, Failure> {
        let status = self.client.wait_for_orchestration(id, WAIT_MAX).await;
        match status.map_err(|error| format!("{id}: {error}"))? {
            OrchestrationStatus::Completed { output, .. } => Ok(output),
            other => Err(format!("{id}: {other:?}")),
        }
    }

    async fn signal(&self, id: &str, value: u64) -> Result<(), Failure> {
        let sent = self.client.enqueue_event(id, INBOX, value.to_string()).await;
        sent.map_err(|error| format!("{id}: {error}"))
    }

    async fn wait_until_idle(&self, id: &str) -> Result<(), Failure> {
        let changed = self.client.wait_for_status_change(id, 0, STATUS_POLL, WAIT_MAX).await;
        changed.map(drop).map_err(|error| format!("{id}: {error}"))
    }

    fn statements(&self) -> Option<u64> {
        self.statements.map(|count| count())
    }

    async fn stop(&self) -> Result<(), Failure> {
        Arc::clone(&self.runtime).shutdown(Some(SHUTDOWN_MS)).await;
        Ok(())
    }
}
