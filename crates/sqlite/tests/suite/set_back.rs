//! A clock that is set back.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{ManualClock, Provider};

use crate::support::*;

const HOUR_MS: u64 = 3_600_000;

#[tokio::test]
async fn messages_and_timers_do_not_wait_for_the_time_that_was_lost() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    store.clock.set(BEGIN_MS - HOUR_MS);
    let held = turn(provider).await;
    let due = provider.clock().now_ms() + 10_000;
    let first = commit(&held.lock_token, vec![started("a", 1)])
        .with_outgoing_messages(vec![timer("a", 2, due)]);
    provider.store_turn(first).await.unwrap();
    assert_eq!(store.count("SELECT count(*) FROM orchestrator_queue"), 1, "only the timer");
    store.clock.set(BEGIN_MS - 2 * HOUR_MS);
    assert!(try_turn(provider).await.is_none(), "the timer is not due");
    store.clock.advance(Duration::from_secs(10));
    assert_eq!(turn(provider).await.item.messages, vec![timer("a", 2, due)]);
}

#[tokio::test]
async fn the_lease_of_a_dead_node_lasts_no_longer() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    turn(provider).await;
    store.clock.set(BEGIN_MS - HOUR_MS);
    assert!(try_turn(provider).await.is_none(), "the lease is live");
    store.clock.advance(LEASE);
    assert_eq!(turn(provider).await.attempt_count, 2);
}

#[tokio::test]
async fn a_sleep_ends_by_the_time_of_the_store() {
    let store = Store::new().await;
    let clock = store.provider.clock();
    let sleep = tokio::spawn(async move { clock.sleep_until(BEGIN_MS + 1000).await });
    tokio::task::yield_now().await;
    store.clock.set(BEGIN_MS - HOUR_MS);
    tokio::task::yield_now().await;
    store.clock.advance(Duration::from_secs(1));
    tokio::time::timeout(PATIENCE, sleep).await.expect("the sleep ends").unwrap();
}

#[tokio::test]
async fn a_file_that_was_closed_meanwhile_goes_on_at_once() {
    let store = Store::new().await;
    store.provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    let later = Some(Duration::from_secs(60));
    store.provider.enqueue_for_orchestrator(start("b"), later).await.unwrap();
    let earlier = Arc::new(ManualClock::new(BEGIN_MS - HOUR_MS));
    let reopened = open(&store.url(), &earlier).await;
    assert_eq!(turn(&*reopened).await.item.instance, "a");
    assert!(try_turn(&*reopened).await.is_none(), "a delay is kept");
}
