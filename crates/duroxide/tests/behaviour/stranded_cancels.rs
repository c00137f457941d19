//! Which cancelled instances a node leaves to others, although it cannot find a node for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use duroxide::providers::{
    AnnouncedTurns, HeldInstance, InstanceOutcome, Provider, ProviderAdmin, ProviderError,
    RegisteredOrchestrations, SemverRange, WorkerAnnouncement,
};
use duroxide::{OrchestrationContext, current_build_version};
use semver::Version;

use crate::support::{DEFAULT_MODE, Node, activities, eventually, memory, orchestrations};

const HOUR: Duration = Duration::from_secs(3600);

async fn waits(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    Ok(ctx.schedule_wait("go").await)
}

async fn calls(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ctx.schedule_sub_orchestration_with_id("Order", "order", "").await
}

/// Counts the instances that are held and released. With `comes_up`, a node that can run orders
/// comes up as soon as one is held.
struct Watched {
    inner: Arc<dyn Provider>,
    comes_up: AtomicBool,
    held: AtomicUsize,
    released: AtomicUsize,
}

impl Watched {
    fn new(inner: &Arc<dyn Provider>, comes_up: bool) -> Arc<Self> {
        Arc::new(Self {
            inner: Arc::clone(inner),
            comes_up: AtomicBool::new(comes_up),
            held: AtomicUsize::new(0),
            released: AtomicUsize::new(0),
        })
    }

    fn admin(&self) -> &dyn ProviderAdmin {
        self.inner.as_management_capability().expect("the store has a management side")
    }

    /// Waits until a node has held an instance and released it.
    async fn until_released(&self) {
        eventually(|| self.released.load(Ordering::SeqCst) > 0).await;
    }
}

#[async_trait]
impl Provider for Watched {
    fn inner(&self) -> Option<&dyn Provider> {
        Some(self.inner.as_ref())
    }

    fn as_management_capability(&self) -> Option<&dyn ProviderAdmin> {
        Some(self)
    }

    async fn abandon_orchestration_item(
        &self,
        lock_token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        self.inner.abandon_orchestration_item(lock_token, delay, ignore_attempt).await?;
        self.released.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    duroxide::providers::forward_provider! { this => this.inner;
        fetch_orchestration_item, ack_orchestration_item, read, read_with_execution,
        append_with_execution, enqueue_for_worker, fetch_work_item, ack_work_item,
        renew_work_item_lock, renew_session_lock, cleanup_orphaned_sessions, abandon_work_item,
        renew_orchestration_item_lock, enqueue_for_orchestrator, get_custom_status, get_kv_value,
        get_kv_all_values, get_instance_stats,
    }
}

#[async_trait]
impl ProviderAdmin for Watched {
    fn inner_admin(&self) -> Option<&dyn ProviderAdmin> {
        Some(self.admin())
    }

    async fn hold_instance(
        &self,
        instance: &str,
        lock_timeout: Duration,
    ) -> Result<HeldInstance, ProviderError> {
        let held = self.admin().hold_instance(instance, lock_timeout).await?;
        self.held.fetch_add(1, Ordering::SeqCst);
        if self.comes_up.load(Ordering::SeqCst) {
            let registered = RegisteredOrchestrations::new([("Order", Version::new(1, 0, 0))]);
            let able = AnnouncedTurns::none(current_build_version())
                .with_replays(vec![SemverRange::default_for_current_build()])
                .with_orchestrations(registered);
            let announcement = WorkerAnnouncement::new("able", HOUR).with_turns(able);
            self.inner.announce_worker(&announcement).await?;
        }
        Ok(held)
    }

    duroxide::providers::forward_provider_admin! { this => this.admin();
        list_instances, list_instances_by_status, list_executions, read_history_with_execution_id,
        read_history, latest_execution_id, get_instance_info, get_execution_info,
        get_system_metrics, get_queue_depths, list_children, get_parent_id,
        delete_instances_atomic, delete_instance_bulk, prune_executions, prune_executions_bulk,
    }
}

/// A store with an order that waits, and no node that can run it.
async fn store_with_an_order() -> Arc<dyn Provider> {
    let store = memory().await;
    let registry = orchestrations().register("Order", waits);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry, activities()).await;
    node.start_instance("order", "Order", "").await;
    node.wait_for_event("order", "ExternalSubscribed").await;
    node.stop().await;
    store
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_comes_up_in_the_last_moment_gets_the_cancellation() {
    let store = store_with_an_order().await;
    let watched = Watched::new(&store, true);
    let decorated: Arc<dyn Provider> = Arc::clone(&watched) as _;
    duroxide::Client::new(Arc::clone(&store)).cancel_instance("order", "why").await.unwrap();
    let other = orchestrations().register("Mine", waits);
    let node = Node::on(&decorated, DEFAULT_MODE.options(), other, activities()).await;
    watched.until_released().await;
    let outcome = store.read_outcome("order").await.unwrap();
    assert_eq!(outcome, InstanceOutcome::Running, "it is left to the node that has its code");
    node.stop().await;
    let registry = orchestrations().register("Order", waits);
    let able = Node::on(&store, DEFAULT_MODE.options(), registry, activities()).await;
    assert_eq!(able.failure_text("order").await, "canceled: why");
    able.stop().await;
}

/// A parent names its child by an id that belongs to another instance.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cancellation_of_another_parent_ends_nothing() {
    let store = store_with_an_order().await;
    let watched = Watched::new(&store, false);
    let parent = orchestrations().register("Caller", calls);
    let node = Node::on(&store, DEFAULT_MODE.options(), parent, activities()).await;
    node.start_instance("caller", "Caller", "").await;
    node.wait_for_event("caller", "SubOrchestrationScheduled").await;
    node.client.cancel_instance("caller", "why").await.unwrap();
    assert_eq!(node.failure_text("caller").await, "canceled: why");
    node.stop().await;
    let decorated: Arc<dyn Provider> = Arc::clone(&watched) as _;
    let other = orchestrations().register("Mine", waits);
    let node = Node::on(&decorated, DEFAULT_MODE.options(), other, activities()).await;
    watched.until_released().await;
    assert_eq!(store.read_outcome("order").await.unwrap(), InstanceOutcome::Running);
    node.stop().await;
    let registry = orchestrations().register("Order", waits);
    let able = Node::on(&store, DEFAULT_MODE.options(), registry, activities()).await;
    able.client.raise_event("order", "go", "unharmed").await.unwrap();
    assert_eq!(able.output("order").await, "unharmed");
    able.stop().await;
}

/// Without a cancellation, nothing is held.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stranded_work_without_a_cancellation_is_left_alone() {
    let store = store_with_an_order().await;
    let watched = Watched::new(&store, false);
    let client = duroxide::Client::new(Arc::clone(&store));
    client.raise_event("order", "go", "went").await.unwrap();
    client.start_orchestration("new", "Nowhere", "").await.unwrap();
    client.cancel_instance("new", "why").await.unwrap();
    let decorated: Arc<dyn Provider> = Arc::clone(&watched) as _;
    let other = orchestrations().register("Mine", waits);
    let node = Node::on(&decorated, DEFAULT_MODE.options(), other, activities()).await;
    assert_eq!(node.failure_text("new").await, "canceled: why");
    assert_eq!(watched.held.load(Ordering::SeqCst), 1, "only the cancelled one is held");
    let counts = node.stop_and_count().await;
    assert_eq!(counts.orch_application_errors, 1, "a cancellation is counted as any other");
    assert_eq!(store.read_outcome("order").await.unwrap(), InstanceOutcome::Running);
}
