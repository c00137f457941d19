//! Stopping a node (24.1 to 24.5).

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
    Diary, Mode, Node, USUAL, activities, in_every_mode, memory, memory_with_clock, orchestrations,
    within,
};

/// A grace that no test waits for.
const LONG_MS: u64 = 60_000;

async fn works(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ctx.schedule_activity("Work", "").await
}

/// An activity that ends when it is let go.
fn held_work(diary: &Diary, go: &Arc<Notify>) -> ActivityRegistryBuilder {
    let (diary, go) = (diary.clone(), go.clone());
    activities().register("Work", move |ctx: ActivityContext, _: String| {
        let (diary, go) = (diary.clone(), go.clone());
        async move {
            diary.write("began");
            go.notified().await;
            Ok(format!("cancelled: {}", ctx.is_cancelled()))
        }
    })
}

async fn an_idle_node_stops_at_once_and_leaves_the_store_alone(mode: Mode) {
    let store = memory().await;
    let registry = orchestrations().register("Work", works);
    let node = Node::on(&store, mode.options(), registry, activities()).await;
    let asked = Instant::now();
    node.runtime.clone().shutdown(Some(LONG_MS)).await;
    assert!(asked.elapsed() < Duration::from_secs(5), "took {:?}", asked.elapsed());
    // One handle is ours, one the client's, one the helper's; the runtime handle holds one more.
    drop(node);
    assert_eq!(Arc::strong_count(&store), 1);
}

async fn work_in_hand_is_finished_within_the_grace(mode: Mode) {
    let (diary, go) = (Diary::default(), Arc::new(Notify::new()));
    let store = memory().await;
    let registry = || orchestrations().register("Work", works);
    let node = Node::on(&store, mode.options(), registry(), held_work(&diary, &go)).await;
    node.begin("order", "Work", "").await;
    assert_eq!(diary.next().await, "began");
    let stopping = tokio::spawn(node.runtime.clone().shutdown(Some(LONG_MS)));
    // New work is not taken any more.
    go.notify_one();
    within(stopping).await.unwrap();
    let node = Node::on(&store, mode.options(), registry(), held_work(&diary, &go)).await;
    assert_eq!(node.output("order").await, "cancelled: false");
    assert!(diary.unread().is_empty(), "the result was stored: it did not run again");
    node.stop().await;
}

async fn aborted_work_is_redelivered_when_its_lease_runs_out(mode: Mode) {
    let (diary, go) = (Diary::default(), Arc::new(Notify::new()));
    let (store, clock) = memory_with_clock().await;
    let registry = || orchestrations().register("Work", works);
    for grace in [Some(0), Some(20)] {
        let node = Node::on(&store, mode.options(), registry(), held_work(&diary, &go)).await;
        node.begin("order", "Work", "").await;
        assert_eq!(diary.next().await, "began");
        within(node.runtime.shutdown(grace)).await;
        clock.advance(Duration::from_secs(30));
    }
    let node = Node::on(&store, mode.options(), registry(), held_work(&diary, &go)).await;
    assert_eq!(diary.next().await, "began");
    go.notify_one();
    assert_eq!(node.output("order").await, "cancelled: false");
    node.stop().await;
}

in_every_mode! {
    an_idle_node_stops_at_once_and_leaves_the_store_alone,
    work_in_hand_is_finished_within_the_grace,
    aborted_work_is_redelivered_when_its_lease_runs_out,
}

#[tokio::test]
async fn nothing_holds_the_store_after_work_was_aborted() {
    let store: Arc<dyn Provider> = Arc::new(SqliteProvider::new_in_memory().await.unwrap());
    let (diary, go) = (Diary::default(), Arc::new(Notify::new()));
    let registry = orchestrations().register("Work", works);
    let node = Node::on(&store, USUAL.options(), registry, held_work(&diary, &go)).await;
    node.begin("order", "Work", "").await;
    assert_eq!(diary.next().await, "began");
    let Node { runtime, client, store: other } = node;
    drop((client, other));
    runtime.shutdown(Some(0)).await;
    assert_eq!(Arc::strong_count(&store), 1);
}

#[tokio::test]
async fn a_node_can_be_stopped_twice_and_by_many() {
    let (diary, go) = (Diary::default(), Arc::new(Notify::new()));
    let registry = orchestrations().register("Work", works);
    let node = Node::start(USUAL, registry, held_work(&diary, &go)).await;
    node.begin("order", "Work", "").await;
    assert_eq!(diary.next().await, "began");
    let long = tokio::spawn(node.runtime.clone().shutdown(Some(LONG_MS)));
    let other = tokio::spawn(node.runtime.clone().shutdown(Some(LONG_MS)));
    // A dropped call loses nothing.
    let dropped = tokio::time::timeout(
        Duration::from_millis(5),
        node.runtime.clone().shutdown(Some(LONG_MS)),
    );
    assert!(dropped.await.is_err());
    // A shorter grace ends the wait of all.
    node.runtime.clone().shutdown(Some(10)).await;
    within(long).await.unwrap();
    within(other).await.unwrap();
    node.runtime.clone().shutdown(None).await;
}

#[tokio::test]
async fn a_stopped_node_takes_nothing_and_a_dropped_handle_stops_nothing() {
    async fn echo(_: OrchestrationContext, input: String) -> Result<String, String> {
        Ok(input)
    }
    let store = memory().await;
    let registry = || orchestrations().register("Echo", echo);
    let node = Node::on(&store, USUAL.options(), registry(), activities()).await;
    node.runtime.clone().shutdown(None).await;
    node.begin("later", "Echo", "x").await;
    let status = node.client.get_orchestration_status("later").await.unwrap();
    assert_eq!(status, OrchestrationStatus::NotFound);
    assert_eq!(node.client.get_queue_depths().await.unwrap().orchestrator_queue, 1);
    let handle = Node::on(&store, USUAL.options(), registry(), activities()).await.runtime;
    drop(handle);
    assert_eq!(node.output("later").await, "x");
}

#[test]
fn an_abort_needs_no_tokio_context() {
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
