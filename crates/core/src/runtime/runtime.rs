//! Starting and stopping a node.

use std::sync::Arc;
use std::time::Duration;

use tracing::info;
use uuid::Uuid;

use super::dispatchers::worker::{Ahead, FinishedWork, Pace, RunningActivities, SessionCount};
use super::lease::Leases;
use super::node::{Node, capabilities};
use super::slots::Slots;
use super::start_facts::StartFacts;
use super::tasks::Tasks;
use super::warm_cache::WarmCache;
use super::{
    ActivityRegistry, OrchestrationDescriptor, OrchestrationRegistry, RuntimeOptions, announcing,
    dispatchers, gauges,
};
use crate::limits::SHUTDOWN_GRACE_DEFAULT;
use crate::model::event::BUILD_VERSION;
use crate::observability::{MetricsSnapshot, ObservabilityHandle};
use crate::providers::Provider;
use crate::providers::instrumented::InstrumentedProvider;

/// Digits by which logs tell nodes apart.
const RUNTIME_ID_DIGITS: usize = 4;

/// A running node: fetches turns and activities from a store and runs them.
///
/// Dropping the last handle does not stop it; [`shutdown`](Self::shutdown) does.
pub struct Runtime {
    node: Arc<Node>,
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").field("id", &self.node.id).finish_non_exhaustive()
    }
}

impl Runtime {
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
        if let Err(contradiction) = options.validate() {
            panic!("{contradiction}");
        }
        let observability = match ObservabilityHandle::init(&options.observability) {
            Ok(handle) => handle,
            Err(error) => panic!("observability: {error}"),
        };
        let metrics = Arc::clone(observability.metrics_provider());
        let unique_id = Uuid::new_v4().simple().to_string();
        let node = Arc::new(Node {
            clock: history_store.clock(),
            provider: Arc::new(InstrumentedProvider::new(history_store, Some(metrics))),
            orchestrations: orchestration_registry,
            activities: activity_registry,
            observability,
            capabilities: capabilities(&options),
            warm: Arc::new(WarmCache::new(options.warm_cache.clone())),
            running: RunningActivities::default(),
            worker_slots: Slots::new(options.worker_concurrency),
            ahead: Ahead::default(),
            pace: Pace::default(),
            finished: FinishedWork::default(),
            sessions: SessionCount::new(options.max_sessions_per_runtime),
            leases: Leases::new(),
            tasks: Tasks::default(),
            id: unique_id.chars().take(RUNTIME_ID_DIGITS).collect(),
            unique_id,
            options,
        });
        log_start(&node);
        gauges::start(&node).await;
        dispatchers::orchestration::start(&node);
        dispatchers::worker::start(&node);
        dispatchers::worker::start_sweeping(&node);
        announcing::start(&node);
        Arc::new(Self { node })
    }

    /// Stops the node: no new work is taken, work in hand is finished within the grace and aborted
    /// after it. `None` means one second, `Some(0)` aborts at once. May be called again.
    pub async fn shutdown(self: Arc<Self>, timeout_ms: Option<u64>) {
        let grace = timeout_ms.map_or(SHUTDOWN_GRACE_DEFAULT, Duration::from_millis);
        self.node.tasks.shutdown(grace).await;
        self.node.leases.stop();
        self.node.warm.clear();
    }

    /// Name, version and parent of an instance; `None` if it is unknown or cannot be read.
    pub async fn get_orchestration_descriptor(
        &self,
        instance: &str,
    ) -> Option<OrchestrationDescriptor> {
        let start = self.node.provider.read_start_event(instance).await.ok().flatten()?;
        let facts = StartFacts::of(&start)?;
        Some(OrchestrationDescriptor {
            name: facts.name,
            version: facts.version,
            parent_id: facts.parent.as_ref().map(|parent| parent.id),
            parent_instance: facts.parent.map(|parent| parent.instance),
        })
    }

    /// What this node has counted so far.
    pub fn metrics_snapshot(&self) -> Option<MetricsSnapshot> {
        Some(self.node.observability.metrics_snapshot())
    }

    /// The counters themselves.
    pub fn observability_handle(&self) -> Option<&ObservabilityHandle> {
        Some(&self.node.observability)
    }
}

fn log_start(node: &Node) {
    info!(
        target: "duroxide::runtime",
        "duroxide runtime ({BUILD_VERSION}) starting with provider {} ({})",
        node.provider.name(),
        node.provider.version()
    );
    info!(
        target: "duroxide::runtime",
        supported_range = node.supported_range(),
        "Orchestration dispatcher capability filter configured"
    );
}
