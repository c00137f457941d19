//! The runtime under its public path.

use std::ops::Deref;
use std::sync::Arc;

use duroxide_core::runtime as core;

use super::check::StartupRefusal;
use super::{ActivityRegistry, OrchestrationRegistry, RuntimeOptions};
use crate::providers::Provider;

/// A running node: it fetches turns and activities from a store and runs them.
///
/// Dropping the last handle does not stop it; [`shutdown`](Self::shutdown) does.
/// [`DuroxideRuntime::builder`](super::DuroxideRuntime::builder) starts one and returns mistakes
/// as errors.
// A type of its own because `start` needs the bundled store, on which the core does not depend.
#[derive(Debug)]
pub struct Runtime {
    inner: Arc<core::Runtime>,
}

impl Runtime {
    /// Starts a node on a store in memory, which is lost when the process exits.
    ///
    /// # Panics
    /// When SQLite cannot create a database in memory.
    #[cfg(feature = "sqlite")]
    pub async fn start(
        activity_registry: ActivityRegistry,
        orchestration_registry: OrchestrationRegistry,
    ) -> Arc<Self> {
        let store = match crate::providers::sqlite::SqliteProvider::new_in_memory().await {
            Ok(store) => Arc::new(store),
            Err(error) => panic!("cannot create a store in memory: {error}"),
        };
        Self::start_with_store(store, activity_registry, orchestration_registry).await
    }

    /// Starts a node with default options.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use duroxide::providers::sqlite::SqliteProvider;
    /// use duroxide::runtime::Runtime;
    /// use duroxide::runtime::registry::{ActivityRegistry, OrchestrationRegistry};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// let store = Arc::new(SqliteProvider::new_in_memory().await?);
    /// let (activities, orchestrations) =
    ///     (ActivityRegistry::default(), OrchestrationRegistry::default());
    /// let runtime = Runtime::start_with_store(store, activities, orchestrations).await;
    /// runtime.shutdown(Some(0)).await;
    /// # Ok(())
    /// # })
    /// # }
    /// ```
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
    /// When the options contradict each other; [`RuntimeOptions::validate`] returns the reason.
    /// When functions are missing that registered orchestrations call. When the start-up check
    /// refuses, if the options ask for one that does.
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

    /// Starts a node, unless its start-up check refuses.
    ///
    /// # Errors
    /// Functions that registered orchestrations call and that are missing, or the report of the
    /// check.
    ///
    /// # Panics
    /// When the options contradict each other; [`RuntimeOptions::validate`] returns the reason.
    pub async fn try_start_with_options(
        history_store: Arc<dyn Provider>,
        activity_registry: ActivityRegistry,
        orchestration_registry: OrchestrationRegistry,
        options: RuntimeOptions,
    ) -> Result<Arc<Self>, StartupRefusal> {
        let started = core::Runtime::try_start_with_options(
            history_store,
            activity_registry,
            orchestration_registry,
            options,
        );
        Ok(Arc::new(Self { inner: started.await? }))
    }

    /// Stops the node: it claims no new work, lets running work complete within the grace period
    /// and aborts the rest. `None` means one second, `Some(0)` aborts at once. It may be
    /// called again.
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
