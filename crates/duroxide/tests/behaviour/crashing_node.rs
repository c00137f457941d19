//! A node that crashes without cleanup, as after `kill -9`.

use std::sync::Arc;

use duroxide::providers::Provider;
use duroxide::runtime::registry::{ActivityRegistryBuilder, OrchestrationRegistryBuilder};
use duroxide::runtime::{Runtime, RuntimeOptions};

use crate::support::TIMEOUT;

/// A node with threads of its own.
pub(crate) struct CrashingNode {
    threads: tokio::runtime::Runtime,
}

impl CrashingNode {
    /// Starts a node on a store.
    pub(crate) async fn on(
        store: &Arc<dyn Provider>,
        options: RuntimeOptions,
        orchestrations: OrchestrationRegistryBuilder,
        activities: ActivityRegistryBuilder,
    ) -> Self {
        let threads =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let threads = threads.unwrap();
        let starting = threads.spawn(Runtime::start_with_options(
            Arc::clone(store),
            activities.build_result().unwrap(),
            orchestrations.build_result().unwrap(),
            options,
        ));
        drop(starting.await.unwrap());
        Self { threads }
    }

    /// Stops all tasks of the node, and returns when none runs any more. Its leases stay until they
    /// expire.
    pub(crate) async fn crash(self) {
        let threads = self.threads;
        let stopping = tokio::task::spawn_blocking(|| threads.shutdown_timeout(TIMEOUT));
        stopping.await.unwrap();
    }
}
