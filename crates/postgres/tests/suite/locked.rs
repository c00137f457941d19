//! A transaction that holds a row for long holds up only what needs that row.
//!
//! Another session once held the row of one instance for 25 seconds. The commit of that instance
//! waited in its lane, all other commits of the node waited behind it, and the fetches of a second
//! node waited for the lease that the commit was about to remove.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{Provider, ProviderAdmin, TagFilter};
use futures_util::future::join_all;
use tokio::time::timeout;

use crate::support::*;

/// Much shorter than the row is held.
const SOON: Duration = Duration::from_secs(15);

/// Instances with a message each.
async fn signalled(node: &dyn Provider, names: &[String]) {
    for name in names {
        create(node, name).await;
    }
    for name in names {
        node.enqueue_for_orchestrator(signal(name, "x"), None).await.unwrap();
    }
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("i-{number:03}")).collect()
}

/// Holds the row of one instance until the session commits.
async fn hold_row(store: &Store, instance: &str) -> Sql {
    let sql = store.sql().await;
    sql.run(&format!(
        "BEGIN; SELECT 1 FROM $.instances WHERE instance_id = '{instance}' FOR UPDATE"
    ))
    .await;
    sql
}

#[tokio::test]
async fn other_instances_start_and_end_while_a_row_is_held() {
    let store = Store::live();
    let node = store.node().await;
    signalled(&*node, &names(1)).await;
    let held = turn(&*node).await;
    let sql = hold_row(&store, "i-000").await;
    let committer = Arc::clone(&node);
    let committed = tokio::spawn(async move {
        committer.store_turn(commit(&held.lock_token, vec![heard("i-000", 2)])).await
    });
    let others = async {
        for number in 0..20 {
            create(&*node, &format!("other-{number}")).await;
        }
    };
    timeout(SOON, others).await.expect("they do not wait for the row");
    assert!(!committed.is_finished());
    sql.run("COMMIT").await;
    timeout(PATIENCE, committed).await.unwrap().unwrap().unwrap();
    assert_eq!(node.read("i-000").await.unwrap().len(), 2);
}

#[tokio::test]
async fn the_other_jobs_of_a_group_do_not_wait_for_a_held_row() {
    let store = Store::new();
    let node = Arc::new(store.builder().with_writers(1).open().await.unwrap());
    signalled(&*node, &names(20)).await;
    let turns = node.fetch_orchestration_items(wish(64)).await.unwrap();
    assert_eq!(turns.len(), 20);
    let sql = hold_row(&store, "i-007").await;
    let (held, others): (Vec<_>, Vec<_>) =
        turns.into_iter().partition(|turn| turn.item.instance == "i-007");
    let store_all = |turns: Vec<duroxide_core::providers::FetchedTurn>| {
        join_all(turns.into_iter().map(|turn| {
            let event = heard(&turn.item.instance, 2);
            let node = Arc::clone(&node);
            async move { node.store_turn(commit(&turn.lock_token, vec![event])).await.unwrap() }
        }))
    };
    let held = tokio::spawn(store_all(held));
    timeout(SOON, store_all(others)).await.expect("they do not wait for the row");
    assert!(!held.is_finished());
    sql.run("COMMIT").await;
    timeout(PATIENCE, held).await.unwrap().unwrap();
}

#[tokio::test]
async fn an_expired_lease_that_is_being_committed_holds_up_no_fetch() {
    let store = Store::new();
    let nodes = [store.node().await, store.node().await];
    signalled(&*nodes[0], &names(2)).await;
    let held = nodes[0].fetch_orchestration_items(wish(64)).await.unwrap();
    assert_eq!(held.len(), 2);
    // As the commit of a node that was paused in the middle of it.
    let sql = store.sql().await;
    sql.run("BEGIN; DELETE FROM $.instance_locks WHERE instance_id = 'i-000'").await;
    store.advance(LEASE * 2);
    let fetched = timeout(SOON, nodes[1].fetch_orchestration_items(wish(64)));
    let fetched = fetched.await.expect("it does not wait for the lease").unwrap();
    let fetched: Vec<&str> = fetched.iter().map(|turn| turn.item.instance.as_str()).collect();
    assert_eq!(fetched, ["i-001"]);
    sql.run("ROLLBACK").await;
    assert_eq!(turn(&*nodes[1]).await.item.instance, "i-000");
}

#[tokio::test]
async fn a_call_that_waits_for_a_row_occupies_no_connection() {
    let store = Store::live();
    let node = Arc::new(store.builder().with_connections(1).open().await.unwrap());
    create(&*node, "a").await;
    node.enqueue_for_worker(activity("a", 1)).await.unwrap();
    let fetched = node.fetch_work_item(LEASE, NOW, None, &TagFilter::Any).await.unwrap();
    let (_, token, _) = fetched.unwrap();
    let sql = store.sql().await;
    sql.run("BEGIN; SELECT 1 FROM $.worker_queue FOR UPDATE").await;
    let renewing = Arc::clone(&node);
    let renewed =
        tokio::spawn(async move { renewing.renew_work_item_lock(&token, PATIENCE).await });
    let others = async {
        for _ in 0..20 {
            node.get_instance_info("a").await.unwrap();
        }
    };
    timeout(SOON, others).await.expect("they do not wait for the row");
    assert!(!renewed.is_finished());
    sql.run("COMMIT").await;
    timeout(PATIENCE, renewed).await.unwrap().unwrap().unwrap();
}
