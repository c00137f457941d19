//! Starting and stopping a node.

use std::sync::Arc;
use std::time::Duration;

use tracing::{info, warn};
use uuid::Uuid;

use super::activities::Activities;
use super::background::Background;
use super::check::{self, StartupRefusal};
use super::fast_path::FastPath;
use super::handlers::Handlers;
use super::lease::Leases;
use super::node::{Node, fetch_filter, reports_of};
use super::start_facts::StartFacts;
use super::tasks::Tasks;
use super::turns::Turns;
use super::{
    ActivityRegistry, OrchestrationDescriptor, OrchestrationRegistry, RuntimeOptions, announcing,
    dispatchers, gauges, retention, suspended,
};
use crate::limits::{SHUTDOWN_CHECKPOINT_MAX, SHUTDOWN_GRACE_DEFAULT, SHUTDOWN_RELEASE_MAX};
use crate::model::event::build_version;
use crate::observability::{MetricsSnapshot, ObservabilityHandle};
use crate::providers::instrumented::InstrumentedProvider;
use crate::providers::{Provider, StoreHealth};

/// Digits of the id of a node in logs.
const RUNTIME_ID_DIGITS: usize = 4;

/// A running node: fetches turns and activities from a store and runs them.
///
/// Dropping the last handle does not stop it; [`shutdown`](Self::shutdown) does.
pub struct Runtime {
    node: Arc<Node>,
    turns: Arc<Turns>,
    fast_path: Arc<FastPath>,
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
    /// When the options contradict each other; [`RuntimeOptions::validate`] says how. When
    /// functions are missing that registered orchestrations call, or the start-up check refuses,
    /// if the options ask for one that does;
    /// [`try_start_with_options`](Self::try_start_with_options) returns that instead.
    pub async fn start_with_options(
        history_store: Arc<dyn Provider>,
        activity_registry: ActivityRegistry,
        orchestration_registry: OrchestrationRegistry,
        options: RuntimeOptions,
    ) -> Arc<Self> {
        let (activities, orchestrations) = (activity_registry, orchestration_registry);
        match Self::try_start_with_options(history_store, activities, orchestrations, options).await
        {
            Ok(runtime) => runtime,
            Err(refusal) => panic!("{refusal}"),
        }
    }

    /// Starts a node, unless its start-up check refuses.
    ///
    /// # Errors
    /// Functions that registered orchestrations call and that are missing, or the report of the
    /// check.
    ///
    /// # Panics
    /// When the options contradict each other; [`RuntimeOptions::validate`] says how.
    pub async fn try_start_with_options(
        history_store: Arc<dyn Provider>,
        activity_registry: ActivityRegistry,
        orchestration_registry: OrchestrationRegistry,
        options: RuntimeOptions,
    ) -> Result<Arc<Self>, StartupRefusal> {
        let code = (&activity_registry, &orchestration_registry);
        check::before_start(history_store.as_ref(), code, &options).await?;
        Ok(Self::start_checked(history_store, activity_registry, orchestration_registry, options))
    }

    fn start_checked(
        history_store: Arc<dyn Provider>,
        activity_registry: ActivityRegistry,
        orchestration_registry: OrchestrationRegistry,
        mut options: RuntimeOptions,
    ) -> Arc<Self> {
        if let Err(contradiction) = options.validate() {
            panic!("{contradiction}");
        }
        // Each replay starts from the whole history.
        options.warm_cache.enabled &= !options.replay_every_turn;
        let observability = match ObservabilityHandle::init(&options.observability) {
            Ok(handle) => handle,
            Err(error) => panic!("observability: {error}"),
        };
        let metrics = Arc::clone(observability.metrics_provider());
        let unique_id = Uuid::new_v4().simple().to_string();
        let clock = history_store.clock();
        let provider = InstrumentedProvider::new(history_store, Some(metrics));
        let trouble = Arc::clone(provider.trouble());
        let provider: Arc<dyn Provider> = Arc::new(provider);
        let background = Arc::new(Background::start());
        let leases = Leases::new(Arc::clone(&provider), Arc::clone(&background));
        provider.add_lease_holder(leases.holder());
        let reports = reports_of(provider.as_ref());
        let mut handlers = Handlers::new(clock, orchestration_registry, activity_registry);
        if let Some(policy) = &options.retention {
            handlers = handlers.with_builtin(retention::registries(policy));
        }
        let node = Arc::new(Node {
            leases,
            background,
            trouble,
            provider,
            observability,
            reports,
            tasks: Tasks::default(),
            id: unique_id.chars().take(RUNTIME_ID_DIGITS).collect(),
            unique_id,
            filter: fetch_filter(&options, &handlers),
            handlers,
            options,
        });
        let turns = Arc::new(Turns::new(Arc::clone(&node)));
        let activities = Arc::new(Activities::new(Arc::clone(&node), turns.known_starts()));
        let fast_path = Arc::new(FastPath::new(Arc::clone(&turns), Arc::clone(&activities)));
        log_start(&turns);
        gauges::start(&node);
        dispatchers::orchestration::start(&fast_path);
        dispatchers::worker::start(&activities, &fast_path);
        dispatchers::worker::start_sweeping(&activities, &fast_path);
        announcing::start(&fast_path);
        suspended::start(&node);
        retention::start(&node);
        Arc::new(Self { node, turns, fast_path })
    }

    /// Stops the node. It fetches no more work, completes running work within the grace period and
    /// aborts the rest. `None` means one second, `Some(0)` aborts at once. May be called again.
    pub async fn shutdown(self: Arc<Self>, timeout_ms: Option<u64>) {
        let grace = timeout_ms.map_or(SHUTDOWN_GRACE_DEFAULT, Duration::from_millis);
        self.node.tasks.drain(grace).await;
        // Work that is aborted from here on goes to other nodes at once.
        self.node.leases.collect_dropped();
        self.node.tasks.abort().await;
        self.release_work().await;
        self.node.leases.stop();
        self.node.background.stop().await;
        self.turns.warm.clear();
        self.checkpoint().await;
    }

    /// Releases the work that was aborted. A store that does not respond must not hold up the
    /// shutdown.
    async fn release_work(&self) {
        let (background, fast_path) = (&self.node.background, Arc::clone(&self.fast_path));
        let releasing = async move {
            let node = &fast_path.turns().node;
            let released = node.background.call(fast_path.release_all());
            if tokio::time::timeout(SHUTDOWN_RELEASE_MAX, released).await.is_err() {
                warn!(
                    target: "duroxide::runtime",
                    "could not release aborted work in time; its leases will expire"
                );
            }
        };
        background.run(releasing).await;
    }

    /// Leaves complete files behind: after a shutdown people copy them.
    async fn checkpoint(&self) {
        let checkpoint = self.node.provider.checkpoint();
        // A store that does not respond must not hold up the shutdown. Outside of a tokio context
        // there is no timer.
        let outcome = match tokio::runtime::Handle::try_current() {
            Ok(_) => tokio::time::timeout(SHUTDOWN_CHECKPOINT_MAX, checkpoint).await,
            Err(_) => Ok(checkpoint.await),
        };
        let reason = match outcome {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_elapsed) => "the store did not respond in time".to_owned(),
        };
        info!(
            target: "duroxide::runtime",
            reason,
            "the store could not be checkpointed; copy its log files together with it"
        );
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

    /// Whether the store works, as far as the calls of this node show: if not, since when, and
    /// which operation failed last with which error. Work waits until the trouble is over.
    pub fn store_health(&self) -> StoreHealth {
        self.node.trouble.health()
    }

    /// The counters of this node.
    pub fn metrics_snapshot(&self) -> Option<MetricsSnapshot> {
        Some(self.node.observability.metrics_snapshot())
    }

    /// The counters themselves.
    pub fn observability_handle(&self) -> Option<&ObservabilityHandle> {
        Some(&self.node.observability)
    }
}

fn log_start(turns: &Turns) {
    let provider = &turns.node.provider;
    info!(
        target: "duroxide::runtime",
        "duroxide runtime ({}) starting with provider {} ({})",
        build_version(),
        provider.name(),
        provider.version()
    );
    info!(
        target: "duroxide::runtime",
        supported_range = turns.supported_range(),
        "Orchestration dispatcher capability filter configured"
    );
}
