//! User code that blocks the executor of its program does not stop renewals.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use duroxide_core::client::Client;
use duroxide_core::providers::Provider;
use duroxide_core::runtime::{
    ActivityRegistry, OrchestrationRegistry, OrchestrationStatus, Runtime, RuntimeOptions,
};
use duroxide_core::{ActivityContext, OrchestrationContext};
use tokio::sync::Barrier;

use crate::support::*;

const THREADS: usize = 2;

/// Long enough for a busy machine to renew it in time.
const SHORT_LEASE: Duration = Duration::from_secs(3);

fn executor() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(THREADS).enable_all().build().unwrap()
}

fn orchestrations() -> OrchestrationRegistry {
    let call = |ctx: OrchestrationContext, session: String| async move {
        match session.as_str() {
            "" => ctx.schedule_activity("Block", "").await,
            session => ctx.schedule_activity_on_session("Block", "", session).await,
        }
    };
    OrchestrationRegistry::builder().register("Call", call).build()
}

async fn start_node(
    name: &str,
    store: Arc<dyn Provider>,
    activities: ActivityRegistry,
) -> Arc<Runtime> {
    let options = RuntimeOptions {
        worker_lock_timeout: SHORT_LEASE,
        worker_lock_renewal_buffer: Duration::ZERO,
        session_lock_timeout: SHORT_LEASE,
        session_lock_renewal_buffer: Duration::ZERO,
        worker_concurrency: 2 * THREADS,
        // A session belongs to the node and not to one of its slots.
        worker_node_id: Some(name.to_owned()),
        ..RuntimeOptions::default()
    };
    Runtime::start_with_options(store, activities, orchestrations(), options).await
}

/// The tasks of the connections ran on the executor of the program. Activities that blocked all its
/// threads lost their leases to another node and ran again.
#[test]
fn activities_that_block_every_thread_keep_their_leases() {
    let store = Store::live();
    let (blocked, other) = (executor(), executor());
    let (started, starts) = mpsc::channel();
    let (open, opened) = mpsc::channel::<()>();
    let gate = Arc::new(Mutex::new(opened));
    let all_started = Arc::new(Barrier::new(THREADS));
    let activities = |node: &'static str| {
        let (started, gate) = (started.clone(), Arc::clone(&gate));
        let all_started = Arc::clone(&all_started);
        let block = move |ctx: ActivityContext, _: String| {
            let (started, gate) = (started.clone(), Arc::clone(&gate));
            let all_started = Arc::clone(&all_started);
            async move {
                started.send((node, ctx.instance_id().to_owned(), ctx.attempt())).unwrap();
                all_started.wait().await;
                // The tasks that this thread has woken must not wait for it.
                tokio::task::yield_now().await;
                gate.lock().unwrap().recv_timeout(PATIENCE).unwrap();
                Ok("blocked".to_owned())
            }
        };
        ActivityRegistry::builder().register("Block", block).build()
    };
    let provider = blocked.block_on(store.node());
    let node =
        blocked.block_on(start_node("blocked", Arc::clone(&provider) as _, activities("blocked")));
    blocked.block_on(async {
        let client = Client::new(Arc::clone(&provider) as Arc<dyn Provider>);
        client.start_orchestration("free", "Call", "").await.unwrap();
        client.start_orchestration("bound", "Call", "session").await.unwrap();
    });
    for _thread in 0..THREADS {
        let (node, _instance, attempt) = starts.recv_timeout(PATIENCE).unwrap();
        assert_eq!((node, attempt), ("blocked", 1));
    }
    let rival = other.block_on(store.node());
    let rival_node =
        other.block_on(start_node("other", Arc::clone(&rival) as _, activities("other")));
    other.block_on(async {
        let sql = store.sql().await;
        let first_until = sql.count("SELECT max(locked_until) FROM $.worker_queue").await;
        let start = Instant::now();
        let now = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::BIGINT";
        while sql.count(now).await <= first_until {
            assert!(start.elapsed() < PATIENCE);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    for _thread in 0..THREADS {
        open.send(()).unwrap();
    }
    other.block_on(async {
        let client = Client::new(Arc::clone(&rival) as Arc<dyn Provider>);
        for instance in ["free", "bound"] {
            let status = client.wait_for_orchestration(instance, PATIENCE).await.unwrap();
            let OrchestrationStatus::Completed { output, .. } = status else {
                panic!("{status:?}");
            };
            assert_eq!(output, "blocked");
        }
    });
    assert_eq!(starts.try_iter().collect::<Vec<_>>(), [], "each ran once");
    other.block_on(rival_node.shutdown(None));
    blocked.block_on(node.shutdown(None));
}

/// The thread that renews must end without blocking or panicking whatever drops the store.
#[tokio::test]
async fn a_store_that_renewed_leases_leaves_no_connection() {
    let store = Store::new();
    let sql = store.sql().await;
    for closed in [false, true] {
        let name = format!("drops-{}-{closed}", store.schema);
        let url = format!("{}?application_name={name}", store.url);
        let node = Store { url, schema: store.schema.clone(), clock: store.clock.clone() };
        let node = node.node().await;
        node.enqueue_for_worker(activity("a", 1)).await.unwrap();
        let tags = duroxide_core::providers::TagFilter::Any;
        let fetched = node.fetch_work_item(LEASE, NOW, None, &tags).await.unwrap();
        let (_, token, _) = fetched.unwrap();
        node.renew_work_item_lock(&token, LEASE).await.unwrap();
        node.ack_work_item(&token, None).await.unwrap();
        if closed {
            node.close().await;
            let error = node.renew_work_item_lock(&token, LEASE).await.unwrap_err();
            assert!(error.message.contains("closed"), "{error}");
        }
        drop(node);
        let start = Instant::now();
        let open =
            format!("SELECT count(*) FROM pg_stat_activity WHERE application_name = '{name}'");
        while sql.count(&open).await > 0 {
            assert!(start.elapsed() < PATIENCE);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
