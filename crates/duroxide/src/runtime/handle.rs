//! The runtime under its public name.

use std::ops::Deref;
use std::sync::Arc;

use duroxide_core::runtime as core;

use super::{ActivityRegistry, OrchestrationRegistry, RuntimeOptions};
use crate::providers::Provider;

/// A running node: fetches turns and activities from a store and runs them.
///
/// Dropping the last handle does not stop it; [`shutdown`](Self::shutdown) does.
// A type of its own because `start` needs a bundled store, which the core does not know.
#[derive(Debug)]
pub struct Runtime {
    inner: Arc<core::Runtime>,
}

impl Runtime {
    /// Starts a node on a store in memory, which is gone with the process.
    ///
    /// # Panics
    /// When SQLite cannot make a database in memory.
    #[cfg(feature = "sqlite")]
    pub async fn start(
        activity_registry: ActivityRegistry,
        orchestration_registry: OrchestrationRegistry,
    ) -> Arc<Self> {
        let store = match crate::providers::sqlite::SqliteProvider::new_in_memory().await {
            Ok(store) => Arc::new(store),
            Err(error) => panic!("a store in memory: {error}"),
        };
        Self::start_with_store(store, activity_registry, orchestration_registry).await
    }

    /// Starts a node with default options.
    pub async fn start_with_store(
        history_store: Arc<dyn Provider>,
        activity_registry: ActivityRegistry,
        orchestration_registry: OrchestrationRegistry,
    ) -> Arc<Self> {
        let options = RuntimeOptions::default();
        Self::start_with_options(history_store, activity_registry, orchestration_registry, options)
            .await
    }

    /// Starts a node.
    ///
    /// # Panics
    /// When the options contradict each other; [`RuntimeOptions::validate`] says how.
    pub async fn start_with_options(
        history_store: Arc<dyn Provider>,
        activity_registry: ActivityRegistry,
        orchestration_registry: OrchestrationRegistry,
        options: RuntimeOptions,
    ) -> Arc<Self> {
        let started = core::Runtime::start_with_options(
            history_store,
            activity_registry,
            orchestration_registry,
            options,
        );
        Arc::new(Self { inner: started.await })
    }

    /// Stops the node: no new work is taken, work in hand is finished within the grace and aborted
    /// after it. `None` means one second, `Some(0)` aborts at once. May be called again.
    pub async fn shutdown(self: Arc<Self>, timeout_ms: Option<u64>) {
        Arc::clone(&self.inner).shutdown(timeout_ms).await;
    }
}

impl Deref for Runtime {
    type Target = core::Runtime;

    fn deref(&self) -> &core::Runtime {
        &self.inner
    }
}
