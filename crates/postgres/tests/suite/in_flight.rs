//! Messages that arrive during a commit are found after it, without a safety poll and without the
//! end of a lease.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{ChangeScope, CommittedTurn, FetchedTurn, Provider};
use duroxide_pg::PostgresProvider;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::direct::{direct, running};
use crate::polls::Polls;
use crate::support::*;
use crate::wake::{acquainted, pair};

/// No lease of these tests expires.
const LONG: Duration = Duration::from_secs(3600);

fn fetch(node: &Arc<PostgresProvider>) -> JoinHandle<Vec<FetchedTurn>> {
    let node = Arc::clone(node);
    let wish = wish(4).with_poll_timeout(PATIENCE).with_lock_timeout(LONG);
    tokio::spawn(async move { node.fetch_orchestration_items(wish).await.unwrap() })
}

async fn two_nodes(store: &Store) -> [Arc<PostgresProvider>; 2] {
    let nodes = pair(store).await;
    acquainted(store, &nodes).await;
    nodes.map(Arc::new)
}

/// A transaction waits for a lock that the test holds.
async fn until_blocked(sql: &Sql) {
    let waiting = "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
        WHERE NOT l.granted AND a.query LIKE '%$%'";
    let blocked = async { while sql.count(waiting).await == 0 {} };
    timeout(PATIENCE, blocked).await.expect("a transaction is blocked");
}

/// A message of the other node, which wakes the fetches of this one.
async fn send_and_poll(nodes: &[Arc<PostgresProvider>; 2], sql: &Sql, instance: &str) {
    let mut watch = nodes[0].watch(ChangeScope::OrchestratorQueue).unwrap();
    nodes[1].enqueue_for_orchestrator(signal(instance, "1"), None).await.unwrap();
    timeout(PATIENCE, watch.changed()).await.expect("the node is notified");
    polled_in_vain(&nodes[0], sql).await;
}

/// Every fetch that had a reason to poll has done so.
async fn polled_in_vain(node: &Arc<PostgresProvider>, sql: &Sql) {
    let looking = "SELECT count(*) FROM pg_stat_activity
        WHERE state = 'active' AND query LIKE '%$%fetch_turns%' AND pid <> pg_backend_pid()";
    // This poll is later than theirs.
    assert!(try_turn(&**node).await.is_none(), "it cannot be had now");
    while sql.count(looking).await > 0 {}
}

/// Every commit of turns waits for the test after all its statements, before it ends.
async fn hold_commits(sql: &Sql) {
    sql.run(
        "CREATE FUNCTION $.linger() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN PERFORM pg_advisory_xact_lock(hashtext(''$'')); RETURN NULL; END';
         CREATE CONSTRAINT TRIGGER linger AFTER INSERT ON $.history
             DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION $.linger();
         SELECT pg_advisory_lock(hashtext('$'))",
    )
    .await;
}

async fn release_commits(sql: &Sql) {
    sql.run("SELECT pg_advisory_unlock(hashtext('$'))").await;
}

/// A turn of "a" after its first.
async fn leased_turn(node: &Arc<PostgresProvider>) -> FetchedTurn {
    create(&**node, "a").await;
    node.enqueue_for_orchestrator(signal("a", "0"), None).await.unwrap();
    fetch(node).await.unwrap().pop().expect("a turn")
}

fn commit_beside(node: &Arc<PostgresProvider>, turn: FetchedTurn) -> JoinHandle<CommittedTurn> {
    let node = Arc::clone(node);
    tokio::spawn(async move {
        node.store_turn(commit(&turn.lock_token, vec![heard("a", 2)])).await.unwrap()
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_polled_for_although_a_start_came_too() {
    let store = Store::patient();
    let nodes = two_nodes(&store).await;
    create(&*nodes[0], "old").await;
    for round in 2..40 {
        let new = format!("new-{round}");
        let waiting = fetch(&nodes[0]);
        let (enqueued, signalled) = tokio::join!(
            nodes[0].enqueue_for_orchestrator(start(&new), None),
            nodes[1].enqueue_for_orchestrator(signal("old", "1"), None),
        );
        enqueued.unwrap();
        signalled.unwrap();
        let mut turns = waiting.await.unwrap();
        while turns.len() < 2 {
            let more = fetch(&nodes[0]).await.unwrap();
            assert!(!more.is_empty(), "in round {round} only {} came", turns[0].item.instance);
            turns.extend(more);
        }
        for turn in turns {
            let event = if turn.item.instance == new { started(&new) } else { heard("old", round) };
            nodes[0].store_turn(commit(&turn.lock_token, vec![event])).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_message_that_came_while_a_turn_was_committed_is_found_after_it() {
    let store = Store::patient();
    let nodes = two_nodes(&store).await;
    let held = leased_turn(&nodes[0]).await;
    let sql = store.sql().await;
    hold_commits(&sql).await;
    let committed = commit_beside(&nodes[0], held);
    until_blocked(&sql).await;
    let waiting = fetch(&nodes[0]);
    send_and_poll(&nodes, &sql, "a").await;
    release_commits(&sql).await;
    assert!(!committed.await.unwrap().more_waits, "it could not know");
    let next = waiting.await.unwrap();
    assert_eq!(next.first().expect("a turn").item.messages, [signal("a", "1")]);
}

#[tokio::test]
async fn a_message_that_came_during_a_direct_turn_is_found_after_it() {
    let store = Store::patient();
    let nodes = two_nodes(&store).await;
    let (mark, token) = running(&nodes[0], "a").await;
    let sql = store.sql().await;
    hold_commits(&sql).await;
    let committer = Arc::clone(&nodes[0]);
    let committed = tokio::spawn(async move {
        committer.commit_direct_turn(Arc::new(direct("a", mark, &token))).await.unwrap()
    });
    until_blocked(&sql).await;
    let waiting = fetch(&nodes[0]);
    send_and_poll(&nodes, &sql, "a").await;
    release_commits(&sql).await;
    assert!(committed.await.unwrap().is_some(), "it was first");
    let next = waiting.await.unwrap();
    assert_eq!(next.first().expect("a turn").item.messages, [signal("a", "1")]);
}

#[tokio::test]
async fn what_becomes_due_while_a_turn_is_committed_is_found_after_it() {
    let store = Store::patient();
    let nodes = two_nodes(&store).await;
    let held = leased_turn(&nodes[0]).await;
    let later = Some(Duration::from_millis(700));
    nodes[0].enqueue_for_orchestrator(signal("a", "later"), later).await.unwrap();
    let sql = store.sql().await;
    hold_commits(&sql).await;
    let committed = commit_beside(&nodes[0], held);
    until_blocked(&sql).await;
    let waiting = fetch(&nodes[0]);
    let due = "SELECT count(*) FROM $.orchestrator_queue
        WHERE work_item LIKE '%later%' AND visible_at + 50 < $.now_ms()";
    while sql.count(due).await == 0 {}
    polled_in_vain(&nodes[0], &sql).await;
    release_commits(&sql).await;
    committed.await.unwrap();
    let next = waiting.await.unwrap();
    assert_eq!(next.first().expect("a turn").item.messages, [signal("a", "later")]);
}

#[tokio::test]
async fn a_start_is_stored_although_its_caller_goes_away() {
    let store = Store::patient();
    let nodes = two_nodes(&store).await;
    let sql = store.sql().await;
    let polls = Polls::from_now(&store).await;
    let waiting = fetch(&nodes[0]);
    polls.until_one_ends().await;
    sql.run("SELECT pg_advisory_lock($.instance_key('a'))").await;
    let starter = Arc::clone(&nodes[0]);
    let sent = tokio::spawn(async move {
        starter.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    });
    let turn = waiting.await.unwrap().pop().expect("its turn");
    until_blocked(&sql).await;
    sent.abort();
    assert!(sent.await.is_err());
    // The holder of the turn waits while the start is being stored.
    let committer = Arc::clone(&nodes[0]);
    let committed = tokio::spawn(async move {
        committer.store_turn(commit(&turn.lock_token, vec![started("a")])).await
    });
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    sql.run("SELECT pg_advisory_unlock($.instance_key('a'))").await;
    committed.await.unwrap().unwrap();
    assert_eq!(nodes[0].read("a").await.unwrap().len(), 1);
}
