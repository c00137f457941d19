//! A clock that is set back.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{
    ManualClock, Provider, SUSPENSION_RETRY_MIN, SessionFetchConfig, TagFilter, WorkItem,
};

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

fn in_session(instance: &str, id: u64) -> WorkItem {
    let mut item = activity(instance, id);
    if let WorkItem::ActivityExecute { session_id, .. } = &mut item {
        *session_id = Some("s".to_owned());
    }
    item
}

async fn take(provider: &dyn Provider, owner: &str) -> Option<(WorkItem, String, u32)> {
    let session = SessionFetchConfig { owner_id: owner.to_owned(), lock_timeout: LEASE };
    provider.fetch_work_item(LEASE, NOW, Some(&session), &TagFilter::DefaultOnly).await.unwrap()
}

/// The instances of all turns that are ready, by name.
async fn ready(provider: &dyn Provider) -> Vec<String> {
    let turns = provider.fetch_orchestration_items(wish(16)).await.unwrap();
    let mut names: Vec<String> = turns.into_iter().map(|turn| turn.item.instance).collect();
    names.sort();
    names
}

/// Leases and delays are lengths of time, and a file that is opened by an earlier clock does not
/// keep them for as long as the clock has lost. What has a time of its own keeps it.
#[tokio::test]
async fn leases_and_delays_of_a_closed_file_last_for_their_own_length() {
    let store = Store::new().await;
    let provider = &*store.provider;
    for instance in ["held", "backed off", "disagrees", "stopped", "timer"] {
        create(provider, instance).await;
    }
    for instance in ["held", "backed off", "disagrees", "stopped"] {
        provider.enqueue_for_orchestrator(signal(instance, "1"), None).await.unwrap();
        let turn = turn(provider).await;
        match instance {
            // Renewed, so that the lease does not count from its claim.
            "held" => provider.renew_orchestration_item_lock(&turn.lock_token, LEASE).await,
            "backed off" => {
                provider.abandon_orchestration_item(&turn.lock_token, Some(LEASE), false).await
            }
            "disagrees" => provider.suspend_turn(&turn.lock_token, "other code").await,
            _ => provider.as_management_capability().unwrap().suspend_instance("stopped", "").await,
        }
        .unwrap();
    }
    provider.enqueue_for_orchestrator(signal("timer", "1"), None).await.unwrap();
    let due = BEGIN_MS + 1000;
    let waits = commit(&turn(provider).await.lock_token, vec![heard("timer", 2)])
        .with_outgoing_messages(vec![timer("timer", 3, due)]);
    provider.store_turn(waits).await.unwrap();
    for id in 2..=4 {
        provider.enqueue_for_worker(activity("held", id)).await.unwrap();
    }
    provider.enqueue_for_worker(in_session("held", 5)).await.unwrap();
    provider.enqueue_for_worker(in_session("held", 6)).await.unwrap();
    take(provider, "old").await.unwrap();
    let (_, renewed, _) = take(provider, "old").await.unwrap();
    provider.renew_work_item_lock(&renewed, LEASE).await.unwrap();
    let (_, delayed, _) = take(provider, "old").await.unwrap();
    provider.abandon_work_item(&delayed, Some(LEASE), false).await.unwrap();
    take(provider, "old").await.unwrap();
    provider.close().await.unwrap();

    let earlier = Arc::new(ManualClock::new(BEGIN_MS - HOUR_MS));
    let reopened = open(&store.url(), &earlier).await;
    assert_eq!(ready(&*reopened).await, [""; 0], "no time has passed");
    assert!(take(&*reopened, "new").await.is_none(), "no time has passed");
    earlier.advance(LEASE);
    assert_eq!(LEASE, SUSPENSION_RETRY_MIN);
    assert_eq!(ready(&*reopened).await, ["backed off", "disagrees", "held"]);
    let mut again = Vec::new();
    while let Some((_, _, attempt)) = take(&*reopened, "new").await {
        again.push(attempt);
    }
    again.sort_unstable();
    assert_eq!(again, [1, 2, 2, 2, 2], "the session is free, too");
    let fires = "SELECT min(visible_at) FROM orchestrator_queue WHERE instance_id = 'timer'";
    assert_eq!(store.count(fires), i64::try_from(due).unwrap());
    let stopped = reopened.as_management_capability().unwrap().read_suspension("stopped").await;
    assert!(stopped.unwrap().is_some(), "an operator resumes it");
}

/// Another process may go on with the time that it had: its leases are left alone.
#[tokio::test]
async fn leases_of_a_live_process_are_not_cut_off() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    let held = turn(provider).await;
    let earlier = Arc::new(ManualClock::new(BEGIN_MS - HOUR_MS));
    let reopened = open(&store.url(), &earlier).await;
    assert!(try_turn(&*reopened).await.is_none());
    provider.store_turn(commit(&held.lock_token, vec![started("a", 1)])).await.unwrap();
}
