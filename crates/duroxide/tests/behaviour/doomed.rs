//! A node that dies without a word, as by `kill -9`.

use std::sync::Arc;

use duroxide::providers::Provider;
use duroxide::runtime::registry::{ActivityRegistryBuilder, OrchestrationRegistryBuilder};
use duroxide::runtime::{Runtime, RuntimeOptions};

use crate::support::PATIENCE;

/// A node with threads of its own.
pub(crate) struct Doomed {
    threads: tokio::runtime::Runtime,
}

impl Doomed {
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

    /// Ends it, and returns when nothing of it runs any more. What it holds stays held until that
    /// runs out.
    pub(crate) async fn die(self) {
        let threads = self.threads;
        let ending = tokio::task::spawn_blocking(|| threads.shutdown_timeout(PATIENCE));
        ending.await.unwrap();
    }
}
