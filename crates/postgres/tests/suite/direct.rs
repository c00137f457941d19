//! Turns that are not fetched.

use std::sync::Arc;

use duroxide_core::providers::{
    DirectTurn, HistoryMark, Provider, ProviderAdmin, ScheduledActivity, TagFilter,
};
use duroxide_pg::PostgresProvider;

use crate::support::*;

/// Creates an instance that runs one activity under a lease; its mark and the token.
pub(crate) async fn running(node: &PostgresProvider, instance: &str) -> (HistoryMark, String) {
    node.enqueue_for_orchestrator(start(instance), None).await.unwrap();
    let fetched = turn(node).await;
    let first = commit(&fetched.lock_token, vec![started(instance), heard(instance, 2)])
        .with_activities([ScheduledActivity::new(activity(instance, 2)).with_lease(LEASE)]);
    let committed = node.store_turn(first).await.unwrap();
    let mark =
        HistoryMark::new(committed.incarnation.unwrap()).with_execution_id(1).with_event_id(2);
    (mark, committed.leased[0].lock_token.clone())
}

pub(crate) fn direct(instance: &str, mark: HistoryMark, token: &str) -> DirectTurn {
    let commit = commit("", vec![heard(instance, 3)])
        .with_activities([ScheduledActivity::new(activity(instance, 3)).with_lease(LEASE)]);
    let finished_work = vec![token.to_owned()];
    DirectTurn::new(instance.to_owned(), mark, commit).with_finished_work(finished_work)
}

#[tokio::test]
async fn a_step_is_one_commit() {
    let store = Store::new();
    let node = store.node().await;
    let (mark, token) = running(&node, "a").await;
    let turn = Arc::new(direct("a", mark, &token));
    let committed = node.commit_direct_turn(turn).await.unwrap().expect("it follows");
    assert_eq!(committed.incarnation, Some(mark.incarnation));
    assert_eq!(node.read("a").await.unwrap().len(), 3);
    // The commit leases the next activity, so that no other worker finds it.
    let none = node.fetch_work_item(LEASE, NOW, None, &TagFilter::Any).await.unwrap();
    assert!(none.is_none());
    node.ack_work_item(&committed.leased[0].lock_token, None).await.unwrap();
    assert_eq!(node.get_queue_depths().await.unwrap().worker_queue, 0);
}

#[tokio::test]
async fn a_turn_that_does_not_follow_changes_nothing() {
    let store = Store::new();
    let node = store.node().await;
    let (mark, token) = running(&node, "a").await;
    for wrong in [
        mark.with_event_id(1),
        mark.with_execution_id(2),
        mark.with_incarnation(mark.incarnation ^ 1),
    ] {
        let turn = Arc::new(direct("a", wrong, &token));
        assert_eq!(node.commit_direct_turn(turn).await.unwrap(), None, "{wrong:?}");
    }
    let unknown = Arc::new(direct("b", mark, &token));
    assert_eq!(node.commit_direct_turn(unknown).await.unwrap(), None);
    assert_eq!(node.read("a").await.unwrap().len(), 2);
    assert_eq!(node.get_queue_depths().await.unwrap().worker_queue, 1);
}

#[tokio::test]
async fn a_message_or_a_lease_comes_first() {
    let store = Store::new();
    let node = store.node().await;
    let (mark, token) = running(&node, "a").await;
    node.enqueue_for_orchestrator(signal("a", "1"), None).await.unwrap();
    let turn_ahead = Arc::new(direct("a", mark, &token));
    assert_eq!(node.commit_direct_turn(Arc::clone(&turn_ahead)).await.unwrap(), None);
    let held = turn(&*node).await;
    assert_eq!(node.commit_direct_turn(Arc::clone(&turn_ahead)).await.unwrap(), None);
    node.abandon_orchestration_item(&held.lock_token, Some(LEASE), true).await.unwrap();
    assert!(node.commit_direct_turn(turn_ahead).await.unwrap().is_some(), "no turn is ahead now");
}

#[tokio::test]
async fn a_lost_lease_of_an_activity_is_an_error_and_changes_nothing() {
    let store = Store::new();
    let node = store.node().await;
    let (mark, token) = running(&node, "a").await;
    store.advance(LEASE);
    let error = node.commit_direct_turn(Arc::new(direct("a", mark, &token))).await.unwrap_err();
    assert!(!error.is_retryable() && error.message.contains("Invalid lock token"), "{error}");
    assert_eq!(node.read("a").await.unwrap().len(), 2);
    let again = node.fetch_work_item(LEASE, NOW, None, &TagFilter::Any).await.unwrap();
    assert_eq!(again.expect("it is free again").2, 2, "the lease in the commit was the first");
}

#[tokio::test]
async fn one_of_two_turns_after_the_same_event_commits() {
    let store = Store::live();
    let nodes = [store.node().await, store.node().await];
    for round in 0..20 {
        let instance = format!("i-{round}");
        let (mark, token) = running(&nodes[0], &instance).await;
        let one = nodes[0].commit_direct_turn(Arc::new(direct(&instance, mark, &token)));
        let other = direct(&instance, mark, &token).with_finished_work(vec![]);
        let other = nodes[1].commit_direct_turn(Arc::new(other));
        let (one, other) = tokio::join!(one, other);
        let counted = [one, other].into_iter().filter(|it| matches!(it, Ok(Some(_)))).count();
        assert_eq!(counted, 1);
        assert_eq!(nodes[0].read(&instance).await.unwrap().len(), 3);
    }
}

#[tokio::test]
async fn a_commit_reports_whether_a_direct_turn_would_be_refused() {
    let store = Store::new();
    let node = store.node().await;
    create(&*node, "a").await;
    create(&*node, "b").await;
    node.enqueue_for_orchestrator(signal("a", "1"), None).await.unwrap();
    node.enqueue_for_orchestrator(signal("b", "1"), None).await.unwrap();
    let turns = node.fetch_orchestration_items(wish(2)).await.unwrap();
    node.enqueue_for_orchestrator(signal("b", "2"), None).await.unwrap();
    let commits = turns.iter().map(|turn| {
        let events = vec![heard(&turn.item.instance, 2)];
        node.store_turn(commit(&turn.lock_token, events))
    });
    let committed = futures_util::future::try_join_all(commits).await.unwrap();
    let more: Vec<(&str, bool)> = turns
        .iter()
        .zip(&committed)
        .map(|(turn, committed)| (turn.item.instance.as_str(), committed.more_waits))
        .collect();
    assert_eq!(more, [("a", false), ("b", true)]);
}
