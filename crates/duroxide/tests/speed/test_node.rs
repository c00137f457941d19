//! Shared parts of the measurements. They run one at a time, because they would disturb each other.

use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::Runtime;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{
    ActivityContext, Client, OrchestrationContext, OrchestrationRegistry, OrchestrationStatus,
};
use tokio::sync::{Mutex, MutexGuard};

pub(crate) const TIMEOUT: Duration = Duration::from_secs(120);

static MEASURING: Mutex<()> = Mutex::const_new(());

/// Waits until no other measurement runs.
pub(crate) async fn exclusive() -> MutexGuard<'static, ()> {
    MEASURING.lock().await
}

/// A node and a client on one store.
pub(crate) struct TestNode {
    pub(crate) client: Client,
    pub(crate) runtime: Arc<Runtime>,
}

impl TestNode {
    pub(crate) async fn on(store: SqliteProvider) -> Self {
        let store = Arc::new(store);
        let runtime =
            Runtime::start_with_store(store.clone(), activities(), orchestrations()).await;
        Self { client: Client::new(store), runtime }
    }

    /// On a store in memory, so that the disk does not affect the result.
    pub(crate) async fn in_memory() -> Self {
        Self::on(SqliteProvider::new_in_memory().await.unwrap()).await
    }

    pub(crate) async fn run(&self, instance: &str, name: &str, input: &str) -> String {
        self.client.start_orchestration(instance, name, input).await.unwrap();
        self.output(instance).await
    }

    pub(crate) async fn output(&self, instance: &str) -> String {
        match self.client.wait_for_orchestration(instance, TIMEOUT).await.unwrap() {
            OrchestrationStatus::Completed { output, .. } => output,
            other => panic!("{instance}: {other:?}"),
        }
    }

    pub(crate) async fn stop(self) {
        self.runtime.shutdown(None).await;
    }
}

fn activities() -> ActivityRegistry {
    ActivityRegistry::builder()
        .register("Echo", |_ctx: ActivityContext, input: String| async move { Ok(input) })
        .build()
}

fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("One", |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_activity("Echo", input).await
        })
        .register("Chain", |ctx: OrchestrationContext, count: String| async move {
            let count: u32 = count.parse().map_err(|error| format!("{error}"))?;
            for step in 0..count {
                ctx.schedule_activity("Echo", step.to_string()).await?;
            }
            Ok(count.to_string())
        })
        .register("FanOut", |ctx: OrchestrationContext, count: String| async move {
            let count: u32 = count.parse().map_err(|error| format!("{error}"))?;
            let calls = (0..count).map(|call| ctx.schedule_activity("Echo", call.to_string()));
            let results = ctx.join(calls.collect()).await;
            let sum: u64 = results.into_iter().flatten().flat_map(|r| r.parse::<u64>()).sum();
            Ok(sum.to_string())
        })
        .register("Wait", |ctx: OrchestrationContext, _input: String| async move {
            Ok(ctx.schedule_wait("go").await)
        })
        .build()
}

/// The median.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
