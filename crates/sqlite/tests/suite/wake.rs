//! Waiting for work: notified at once, at a due time, or at the poll timeout.

use std::sync::Arc;
use std::time::{Duration, Instant};

use duroxide_core::providers::{ChangeScope, Provider, TagFilter, TurnFetch};

use crate::support::*;

fn patient() -> TurnFetch<'static> {
    wish(1).with_poll_timeout(PATIENCE)
}

/// Lets a spawned fetch reach its wait. Correctness does not depend on it: a fetch that starts late
/// finds the work at its first poll.
async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn new_work_ends_the_wait() {
    let store = Store::new().await;
    let provider = Arc::clone(&store.provider);
    let waiting =
        tokio::spawn(async move { provider.fetch_orchestration_items(patient()).await.unwrap() });
    settle().await;
    let sent = Instant::now();
    store.provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    assert_eq!(waiting.await.unwrap().len(), 1);
    assert!(sent.elapsed() < PATIENCE / 2);
}

#[tokio::test]
async fn a_new_activity_ends_the_wait() {
    let store = Store::new().await;
    let provider = Arc::clone(&store.provider);
    let waiting = tokio::spawn(async move {
        provider.fetch_work_item(LEASE, PATIENCE, None, &TagFilter::DefaultOnly).await.unwrap()
    });
    settle().await;
    store.provider.enqueue_for_worker(activity("a", 1)).await.unwrap();
    assert!(waiting.await.unwrap().is_some());
}

#[tokio::test]
async fn a_due_timer_and_an_expired_lease_end_the_wait() {
    let store = Store::new().await;
    create(&*store.provider, "a").await;
    let delay = Duration::from_secs(30);
    store.provider.enqueue_for_orchestrator(signal("a", "x"), Some(delay)).await.unwrap();
    for attempt in 1..=2 {
        let provider = Arc::clone(&store.provider);
        let waiting =
            tokio::spawn(
                async move { provider.fetch_orchestration_items(patient()).await.unwrap() },
            );
        settle().await;
        // The first time the message becomes visible, the second time its lease expires.
        store.clock.advance(delay);
        assert_eq!(waiting.await.unwrap()[0].attempt_count, attempt);
    }
}

#[tokio::test]
async fn a_commit_that_frees_waiting_messages_ends_the_wait() {
    let store = Store::new().await;
    create(&*store.provider, "a").await;
    store.provider.enqueue_for_orchestrator(signal("a", "1"), None).await.unwrap();
    let held = turn(&*store.provider).await;
    store.provider.enqueue_for_orchestrator(signal("a", "2"), None).await.unwrap();
    let provider = Arc::clone(&store.provider);
    let waiting =
        tokio::spawn(async move { provider.fetch_orchestration_items(patient()).await.unwrap() });
    settle().await;
    store.provider.store_turn(commit(&held.lock_token, vec![heard("a", 2)])).await.unwrap();
    assert_eq!(waiting.await.unwrap()[0].item.messages, vec![signal("a", "2")]);
}

#[tokio::test]
async fn the_wait_ends_at_the_poll_timeout() {
    let store = Store::new().await;
    let limit = Duration::from_millis(120);
    let asked = Instant::now();
    let fetch = wish(1).with_poll_timeout(limit);
    assert!(store.provider.fetch_orchestration_items(fetch).await.unwrap().is_empty());
    assert!(asked.elapsed() >= limit);
    let none = store.provider.fetch_work_item(LEASE, limit, None, &TagFilter::Any).await.unwrap();
    assert!(none.is_none());
    assert!(asked.elapsed() < PATIENCE);
}

#[tokio::test]
async fn a_watch_sees_the_commit_of_its_instance() {
    let store = Store::new().await;
    let mut watch = store.provider.watch(ChangeScope::Instance("a")).unwrap();
    create(&*store.provider, "a").await;
    tokio::time::timeout(PATIENCE, watch.changed()).await.unwrap();
}

#[tokio::test]
async fn a_commit_of_another_provider_ends_the_wait() {
    let store = Store::new().await;
    let other = store.another().await;
    let provider = Arc::clone(&store.provider);
    let waiting =
        tokio::spawn(async move { provider.fetch_orchestration_items(patient()).await.unwrap() });
    settle().await;
    let mut watch = store.provider.watch(ChangeScope::Instance("b")).unwrap();
    other.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    assert_eq!(waiting.await.unwrap()[0].item.instance, "a");
    create(&*other, "b").await;
    tokio::time::timeout(PATIENCE, watch.changed()).await.unwrap();
}
