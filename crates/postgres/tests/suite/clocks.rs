//! The server's clock decides.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::client::Client;
use duroxide_core::providers::Provider;
use duroxide_core::runtime::{
    ActivityRegistry, OrchestrationRegistry, OrchestrationStatus, Runtime,
};
use duroxide_core::{ActivityContext, OrchestrationContext};

use crate::support::*;

const HOUR_MS: i64 = 3_600_000;

/// Moves the clock of the database against that of the nodes, which is the same as if all nodes
/// were wrong by as much.
async fn shift(store: &Store, by_ms: i64) {
    drop(store.node().await);
    let sql = store.sql().await;
    sql.run(&format!(
        "CREATE OR REPLACE FUNCTION $.now_ms() RETURNS BIGINT LANGUAGE sql VOLATILE AS
         'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::BIGINT + {by_ms}'"
    ))
    .await;
}

fn orchestrations() -> OrchestrationRegistry {
    let flow = |ctx: OrchestrationContext, input: String| async move {
        ctx.schedule_timer(Duration::from_millis(30)).await;
        ctx.schedule_activity("Echo", input).await
    };
    OrchestrationRegistry::builder().register("Flow", flow).build()
}

fn activities() -> ActivityRegistry {
    let echo = |_ctx: ActivityContext, input: String| async move { Ok(input) };
    ActivityRegistry::builder().register("Echo", echo).build()
}

#[tokio::test]
async fn a_node_with_a_wrong_clock_does_no_harm() {
    for off in [-HOUR_MS, HOUR_MS] {
        let store = Store::live();
        shift(&store, off).await;
        let node: Arc<dyn Provider> = store.node().await;
        let behind = node.clock().now_ms();
        #[expect(clippy::disallowed_methods, reason = "this is about the machine's clock")]
        let machine = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let difference =
            i64::try_from(behind).unwrap() - i64::try_from(machine.as_millis()).unwrap();
        assert!((difference - off).abs() < 60_000, "{difference}");
        let runtime =
            Runtime::start_with_store(Arc::clone(&node), activities(), orchestrations()).await;
        let client = Client::new(Arc::clone(&node));
        client.start_orchestration("a", "Flow", "done").await.unwrap();
        let status = client.wait_for_orchestration("a", PATIENCE).await.unwrap();
        assert!(matches!(status, OrchestrationStatus::Completed { .. }), "{status:?}");
        runtime.shutdown(None).await;
    }
}

#[tokio::test]
async fn a_live_lease_holds_although_a_node_has_a_wrong_clock() {
    let store = Store::live();
    let right = store.node().await;
    create(&*right, "a").await;
    right.enqueue_for_orchestrator(signal("a", "1"), None).await.unwrap();
    let held = turn(&*right).await;
    // The node estimates that it is an hour later; the server decides.
    let wrong = store.node().await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(3600)).await;
    tokio::time::resume();
    assert!(try_turn(&*wrong).await.is_none());
    right.store_turn(commit(&held.lock_token, vec![heard("a", 2)])).await.unwrap();
}

/// A commit that took a second once set the node's clock back by a second: the next timer of four
/// seconds was due after three.
#[tokio::test]
async fn a_slow_commit_does_not_set_the_clock_of_a_node_back() {
    let store = Store::live();
    let node = store.node().await;
    let sql = store.sql().await;
    sql.run(
        "CREATE FUNCTION $.dawdle() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN PERFORM pg_sleep(0.3); RETURN NULL; END';
         CREATE TRIGGER dawdle AFTER INSERT ON $.history
             FOR EACH ROW EXECUTE FUNCTION $.dawdle()",
    )
    .await;
    create(&*node, "a").await;
    let server = sql.count("SELECT $.now_ms()").await;
    let estimated = i64::try_from(node.clock().now_ms()).unwrap();
    assert!(estimated >= server, "{estimated} is before {server}");
}

/// A message that is visible at once is not one for a later time.
#[tokio::test]
async fn a_server_clock_that_is_set_back_does_not_delay_starts() {
    let store = Store::live();
    let node = store.builder().with_safety_poll_interval(Duration::from_secs(3600)).open().await;
    let node = node.unwrap();
    node.enqueue_for_orchestrator(start("queued"), None).await.unwrap();
    let later = Some(Duration::from_secs(60));
    node.enqueue_for_orchestrator(start("later"), later).await.unwrap();
    shift(&store, -HOUR_MS).await;
    let patient = wish(8).with_poll_timeout(PATIENCE);
    let turns = node.fetch_orchestration_items(patient).await.unwrap();
    let names: Vec<&str> = turns.iter().map(|turn| turn.item.instance.as_str()).collect();
    assert_eq!(names, ["queued"]);
}

#[tokio::test]
async fn a_clock_that_was_set_back_while_no_node_ran_delays_no_start() {
    let store = Store::live();
    let node = store.node().await;
    node.enqueue_for_orchestrator(start("queued"), None).await.unwrap();
    drop(node);
    shift(&store, -HOUR_MS).await;
    let node = store.node().await;
    let patient = wish(8).with_poll_timeout(PATIENCE);
    assert_eq!(node.fetch_orchestration_items(patient).await.unwrap().len(), 1);
}
