//! Stopping a node.

use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

use duroxide::providers::Provider;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::registry::ActivityRegistryBuilder;
use duroxide::runtime::{Runtime, RuntimeOptions};
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationStatus};
use tokio::sync::Notify;

use crate::faulty::Faulty;
use crate::support::{
    DEFAULT_MODE, Journal, Mode, Node, activities, eventually, in_every_mode, memory,
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

/// Aborted activities waited for the end of their leases, and each abort counted as an attempt.
async fn aborted_activities_are_released_at_once(mode: Mode) {
    let journal = Journal::default();
    let store = memory().await;
    let written = journal.clone();
    let handlers = move |goes_on: bool| {
        let journal = written.clone();
        activities().register("Work", move |ctx: ActivityContext, _: String| {
            journal.write(format!("attempt {}", ctx.attempt()));
            async move {
                if !goes_on {
                    std::future::pending::<()>().await;
                }
                Ok("done".to_owned())
            }
        })
    };
    let registry = || {
        orchestrations().register("Work", works).register(
            "Bound",
            |ctx: OrchestrationContext, _: String| async move {
                ctx.schedule_activity_on_session("Work", "", "session").await
            },
        )
    };
    for orchestration in ["Work", "Bound"] {
        for grace in [Some(0), Some(20), Some(0)] {
            let node = Node::on(&store, long_leases(mode), registry(), handlers(false)).await;
            node.start_instance(orchestration, orchestration, "").await;
            assert_eq!(journal.next().await, "attempt 1");
            within(node.runtime.shutdown(grace)).await;
        }
        let node = Node::on(&store, long_leases(mode), registry(), handlers(true)).await;
        assert_eq!(journal.next().await, "attempt 1");
        assert_eq!(node.output(orchestration).await, "done");
        node.stop().await;
    }
}

/// Leases that outlast the test: only their release makes the work available.
fn long_leases(mode: Mode) -> RuntimeOptions {
    let lease = Duration::from_secs(3600);
    RuntimeOptions {
        orchestrator_lock_timeout: lease,
        worker_lock_timeout: lease,
        worker_lock_renewal_buffer: lease - Duration::from_secs(1),
        session_lock_timeout: lease,
        ..mode.options()
    }
}

in_every_mode! {
    an_idle_node_stops_at_once_and_releases_the_store,
    running_work_completes_within_the_grace_period,
    aborted_activities_are_released_at_once,
}

#[tokio::test]
async fn an_aborted_turn_is_released_at_once() {
    let store = memory().await;
    let faulty = Faulty::new(Arc::clone(&store));
    let broken: Arc<dyn Provider> = faulty.clone();
    let registry = || {
        orchestrations().register("Order", |_: OrchestrationContext, _: String| async move {
            Ok("done".into())
        })
    };
    let options = long_leases(DEFAULT_MODE);
    let node = Node::on(&broken, options.clone(), registry(), activities()).await;
    faulty.hiccup("commit_turn", u32::MAX);
    node.start_instance("order", "Order", "").await;
    eventually(|| faulty.calls("commit_turn") > 0).await;
    within(node.runtime.shutdown(Some(0))).await;
    let node = Node::on(&store, options, registry(), activities()).await;
    assert_eq!(node.output("order").await, "done");
    node.stop().await;
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
