//! Other nodes leave an instance to the node that has its history in memory, for a moment.

use std::time::Duration;

use duroxide_core::providers::Provider;

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
