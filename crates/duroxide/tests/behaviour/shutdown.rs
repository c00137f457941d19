//! Stopping a node.

use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

use duroxide::providers::Provider;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::Runtime;
use duroxide::runtime::registry::ActivityRegistryBuilder;
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationStatus};
use tokio::sync::Notify;

use crate::support::{
    DEFAULT_MODE, Journal, Mode, Node, activities, in_every_mode, memory, memory_with_clock,
    orchestrations, within,
};

/// A grace period that no test uses up.
const LONG_MS: u64 = 60_000;

async fn works(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ctx.schedule_activity("Work", "").await
}

/// An activity that completes when the test releases it.
fn held_work(journal: &Journal, go: &Arc<Notify>) -> ActivityRegistryBuilder {
    let (journal, go) = (journal.clone(), go.clone());
    activities().register("Work", move |ctx: ActivityContext, _: String| {
        let (journal, go) = (journal.clone(), go.clone());
        async move {
            journal.write("started");
            go.notified().await;
            Ok(format!("cancelled: {}", ctx.is_cancelled()))
        }
    })
}

async fn an_idle_node_stops_at_once_and_releases_the_store(mode: Mode) {
    let store = memory().await;
    let registry = orchestrations().register("Work", works);
    let node = Node::on(&store, mode.options(), registry, activities()).await;
    let start = Instant::now();
    node.runtime.clone().shutdown(Some(LONG_MS)).await;
    assert!(start.elapsed() < Duration::from_secs(5), "took {:?}", start.elapsed());
    // The runtime, the client and the helper each hold a handle until the node is dropped.
    drop(node);
    assert_eq!(Arc::strong_count(&store), 1);
}

async fn running_work_completes_within_the_grace_period(mode: Mode) {
    let (journal, go) = (Journal::default(), Arc::new(Notify::new()));
    let store = memory().await;
    let registry = || orchestrations().register("Work", works);
    let node = Node::on(&store, mode.options(), registry(), held_work(&journal, &go)).await;
    node.start_instance("order", "Work", "").await;
    assert_eq!(journal.next().await, "started");
    let stopping = tokio::spawn(node.runtime.clone().shutdown(Some(LONG_MS)));
    // The node claims no new work.
    go.notify_one();
    within(stopping).await.unwrap();
    let node = Node::on(&store, mode.options(), registry(), held_work(&journal, &go)).await;
    assert_eq!(node.output("order").await, "cancelled: false");
    assert!(
        journal.unread().is_empty(),
        "the result was stored and the activity did not run again"
    );
    node.stop().await;
}

async fn aborted_work_is_redelivered_when_its_lease_expires(mode: Mode) {
    let (journal, go) = (Journal::default(), Arc::new(Notify::new()));
    let (store, clock) = memory_with_clock().await;
    let registry = || orchestrations().register("Work", works);
    for grace in [Some(0), Some(20)] {
        let node = Node::on(&store, mode.options(), registry(), held_work(&journal, &go)).await;
        node.start_instance("order", "Work", "").await;
        assert_eq!(journal.next().await, "started");
        within(node.runtime.shutdown(grace)).await;
        clock.advance(Duration::from_secs(30));
    }
    let node = Node::on(&store, mode.options(), registry(), held_work(&journal, &go)).await;
    assert_eq!(journal.next().await, "started");
    go.notify_one();
    assert_eq!(node.output("order").await, "cancelled: false");
    node.stop().await;
}

in_every_mode! {
    an_idle_node_stops_at_once_and_releases_the_store,
    running_work_completes_within_the_grace_period,
    aborted_work_is_redelivered_when_its_lease_expires,
}

#[tokio::test]
async fn an_abort_releases_the_store() {
    let store: Arc<dyn Provider> = Arc::new(SqliteProvider::new_in_memory().await.unwrap());
    let (journal, go) = (Journal::default(), Arc::new(Notify::new()));
    let registry = orchestrations().register("Work", works);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry, held_work(&journal, &go)).await;
    node.start_instance("order", "Work", "").await;
    assert_eq!(journal.next().await, "started");
    let Node { runtime, client, store: other } = node;
    drop((client, other));
    runtime.shutdown(Some(0)).await;
    assert_eq!(Arc::strong_count(&store), 1);
}

#[tokio::test]
async fn shutdown_may_be_called_repeatedly_and_concurrently() {
    let (journal, go) = (Journal::default(), Arc::new(Notify::new()));
    let registry = orchestrations().register("Work", works);
    let node = Node::start(DEFAULT_MODE, registry, held_work(&journal, &go)).await;
    node.start_instance("order", "Work", "").await;
    assert_eq!(journal.next().await, "started");
    let long = tokio::spawn(node.runtime.clone().shutdown(Some(LONG_MS)));
    let other = tokio::spawn(node.runtime.clone().shutdown(Some(LONG_MS)));
    // Dropping a call does not cancel the shutdown.
    let dropped = tokio::time::timeout(
        Duration::from_millis(5),
        node.runtime.clone().shutdown(Some(LONG_MS)),
    );
    assert!(dropped.await.is_err());
    // A shorter grace period ends the wait of all callers.
    node.runtime.clone().shutdown(Some(10)).await;
    within(long).await.unwrap();
    within(other).await.unwrap();
    node.runtime.clone().shutdown(None).await;
}

#[tokio::test]
async fn a_stopped_node_claims_nothing_and_dropping_a_handle_does_not_stop_the_node() {
    async fn echo(_: OrchestrationContext, input: String) -> Result<String, String> {
        Ok(input)
    }
    let store = memory().await;
    let registry = || orchestrations().register("Echo", echo);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry(), activities()).await;
    node.runtime.clone().shutdown(None).await;
    node.start_instance("later", "Echo", "x").await;
    let status = node.client.get_orchestration_status("later").await.unwrap();
    assert_eq!(status, OrchestrationStatus::NotFound);
    assert_eq!(node.client.get_queue_depths().await.unwrap().orchestrator_queue, 1);
    let handle = Node::on(&store, DEFAULT_MODE.options(), registry(), activities()).await.runtime;
    drop(handle);
    assert_eq!(node.output("later").await, "x");
}

#[test]
fn an_abort_does_not_need_a_tokio_context() {
    let tokio = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (runtime, store) = tokio.block_on(async {
        let store = memory().await;
        let registry = orchestrations().register("Work", works).build();
        let runtime =
            Runtime::start_with_store(store.clone(), activities().build(), registry).await;
        Client::new(store.clone()).start_orchestration("order", "Work", "").await.unwrap();
        (runtime, store)
    });
    block_on(runtime.shutdown(Some(0)));
    assert_eq!(Arc::strong_count(&store), 1);
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future without a runtime.
fn block_on(future: impl Future<Output = ()>) {
    let mut future = std::pin::pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    while future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
        std::thread::park_timeout(Duration::from_secs(5));
    }
}
