//! Other nodes leave an instance to the node that has its history in memory, for a moment.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{HistoryMark, KnownHistory, Provider};

use crate::support::*;

const GRACE: Duration = Duration::from_millis(20);

#[tokio::test]
async fn the_node_that_committed_last_leases_it_first() {
    let store = Store::new();
    let (warm, cold) = (store.node().await, store.node().await);
    create(&*warm, "a").await;
    cold.enqueue_for_orchestrator(signal("a", "1"), None).await.unwrap();
    assert!(try_turn(&*cold).await.is_none(), "it is left to the node that holds it");
    assert_eq!(turn(&*warm).await.item.instance, "a");
}

#[tokio::test]
async fn after_the_grace_any_node_leases_it() {
    let store = Store::new();
    let (warm, cold) = (store.node().await, store.node().await);
    create(&*warm, "a").await;
    drop(warm);
    cold.enqueue_for_orchestrator(signal("a", "1"), None).await.unwrap();
    assert!(try_turn(&*cold).await.is_none());
    store.advance(GRACE);
    let taken = turn(&*cold).await;
    assert_eq!(taken.item.history.len(), 1, "it comes with its history");
    cold.store_turn(commit(&taken.lock_token, vec![heard("a", 2)])).await.unwrap();
    // From now on that node has its history in memory.
    cold.enqueue_for_orchestrator(signal("a", "2"), None).await.unwrap();
    assert_eq!(turn(&*cold).await.item.instance, "a");
}

#[tokio::test]
async fn a_waiting_node_leases_it_after_the_grace() {
    let store = Store::live();
    let (warm, cold) = (store.node().await, store.node().await);
    create(&*warm, "a").await;
    let wait = cold.fetch_orchestration_item(LEASE, PATIENCE, None);
    let (taken, sent) = tokio::join!(wait, warm.enqueue_for_orchestrator(signal("a", "1"), None));
    sent.unwrap();
    assert_eq!(taken.unwrap().expect("a turn").0.instance, "a");
}

#[tokio::test]
async fn without_grace_any_node_leases_it_at_once() {
    let store = Store::new();
    let warm = store.node().await;
    let cold = store.builder().with_warm_grace(Duration::ZERO).open().await.unwrap();
    create(&*warm, "a").await;
    cold.enqueue_for_orchestrator(signal("a", "1"), None).await.unwrap();
    assert_eq!(turn(&cold).await.item.instance, "a");
}

struct Held(HistoryMark);

impl KnownHistory for Held {
    fn mark(&self, _instance: &str) -> Option<HistoryMark> {
        Some(self.0)
    }
}

/// The values of an instance were read for every turn, also if its execution was in memory.
#[tokio::test]
async fn the_node_that_has_its_history_in_memory_gets_no_values() {
    let store = Store::new();
    let (warm, cold) = (store.node().await, store.node().await);
    let incarnation = create(&*warm, "a").await.incarnation.unwrap();
    let sql = store.sql().await;
    // Each value that is read counts.
    sql.run(
        "INSERT INTO $.kv_store (instance_id, key, value, last_updated_at_ms)
         VALUES ('a', 'key', 'value', 1);
         CREATE SEQUENCE $.reads;
         CREATE FUNCTION $.read(p_value TEXT) RETURNS TEXT LANGUAGE plpgsql VOLATILE AS
             'BEGIN PERFORM nextval(''$.reads''); RETURN p_value; END';
         ALTER TABLE $.kv_store RENAME TO stored;
         CREATE VIEW $.kv_store AS
             SELECT instance_id, key, $.read(value) AS value, last_updated_at_ms FROM $.stored",
    )
    .await;
    let reads = "SELECT count(*) FROM $.reads WHERE is_called";
    warm.enqueue_for_orchestrator(signal("a", "1"), None).await.unwrap();
    let mark = HistoryMark::new(incarnation).with_execution_id(1).with_event_id(1);
    let known = wish(1).with_known(Arc::new(Held(mark)));
    let held = warm.fetch_orchestration_items(known).await.unwrap().remove(0);
    assert_eq!((held.history_after, held.item.kv_snapshot.len()), (1, 0));
    assert_eq!(sql.count(reads).await, 0);
    warm.abandon_orchestration_item(&held.lock_token, None, true).await.unwrap();
    store.advance(GRACE);
    assert_eq!(turn(&*cold).await.item.kv_snapshot["key"].value, "value");
    assert_eq!(sql.count(reads).await, 1);
}

/// Instances that are warm on another node, and parked messages, were all read by each fetch:
/// ten thousand of them took seconds.
#[tokio::test]
async fn a_fetch_reads_a_bounded_number_of_messages_that_it_leaves_alone() {
    const MANY: i64 = 20_000;
    let store = Store::new();
    let (warm, cold) = (store.node().await, store.node().await);
    create(&*warm, "warm-0").await;
    let sql = store.sql().await;
    let route = format!("{}('Test', '1.0.0')", sql.function("$.code_key").await);
    let choose = sql.function("$.choose_turns").await;
    sql.run(&format!(
        r#"INSERT INTO $.instances (instance_id, orchestration_name, orchestration_version,
               current_execution_id, created_at, updated_at, incarnation, warm_node)
           SELECT 'warm-' || g, 'Test', '1.0.0', 1, 1, 1, 1, i.warm_node
           FROM $.instances i, generate_series(1, {MANY}) g;
           INSERT INTO $.executions (instance_id, execution_id, status, started_at)
           SELECT 'warm-' || g, 1, 'Running', 1 FROM generate_series(1, {MANY}) g;
           INSERT INTO $.orchestrator_queue
               (instance_id, work_item, visible_at, created_at, kind, pin)
           SELECT 'warm-' || g, '{{"QueueMessage":{{"instance":"warm-' || g
               || '","name":"queue","data":""}}}}', {BEGIN_MS}, 1, 2, {route}
           FROM generate_series(1, {MANY}) g;
           INSERT INTO $.orchestrator_queue
               (instance_id, work_item, visible_at, created_at, kind, parked)
           SELECT 'unknown-' || g, '', 1, 1, 2, TRUE FROM generate_series(1, {MANY}) g;
           ANALYZE $.orchestrator_queue, $.instances, $.executions"#
    ))
    .await;
    let chosen = format!("{choose}({BEGIN_MS}, 8, NULL, NULL, NULL, -1, 20, '{{}}')");
    sql.run(&format!("BEGIN; SELECT {chosen}")).await;
    let read = "SELECT coalesce(seq_tup_read, 0) + idx_tup_fetch FROM pg_stat_xact_user_tables
         WHERE schemaname = '$' AND relname = 'orchestrator_queue'";
    let read = sql.count(read).await;
    sql.run("ROLLBACK").await;
    assert!(read < MANY / 4, "{read} messages were read");
    // What it passed over it claims after the grace.
    assert!(try_turn(&*cold).await.is_none());
    store.advance(GRACE);
    assert!(try_turn(&*cold).await.is_some());
}
