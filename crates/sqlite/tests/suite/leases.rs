//! Leases of turns: expiry, release, attempts, dropped calls.

use std::time::Duration;

use duroxide_core::providers::{Provider, TagFilter};

use crate::support::*;

#[tokio::test]
async fn an_expired_lease_can_be_claimed_and_the_old_token_is_void() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    let old = turn(provider).await;
    assert!(try_turn(provider).await.is_none());
    store.clock.advance(LEASE);
    let error = provider.store_turn(commit(&old.lock_token, vec![])).await.unwrap_err();
    assert!(!error.is_retryable());
    assert!(error.message.contains("Instance lock expired"), "{error}");
    assert!(provider.renew_orchestration_item_lock(&old.lock_token, LEASE).await.is_err());
    let new = turn(provider).await;
    assert_ne!(new.lock_token, old.lock_token);
    assert_eq!(new.attempt_count, 2);
    let error = provider.store_turn(commit(&old.lock_token, vec![])).await.unwrap_err();
    assert!(error.message.contains("Invalid lock token"), "{error}");
    provider.store_turn(commit(&new.lock_token, vec![started("a", 1)])).await.unwrap();
}

#[tokio::test]
async fn a_claim_after_expiry_includes_later_messages_in_order() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    turn(provider).await;
    provider.enqueue_for_orchestrator(signal("a", "1"), None).await.unwrap();
    store.clock.advance(LEASE);
    let again = turn(provider).await;
    assert_eq!(again.item.messages, vec![start("a"), signal("a", "1")]);
    assert_eq!(again.attempt_count, 2);
}

#[tokio::test]
async fn a_renewal_extends_a_lease_from_now() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    let held = turn(provider).await;
    store.clock.advance(LEASE / 2);
    provider.renew_orchestration_item_lock(&held.lock_token, LEASE).await.unwrap();
    store.clock.advance(LEASE - Duration::from_millis(1));
    assert!(try_turn(provider).await.is_none());
    provider.store_turn(commit(&held.lock_token, vec![started("a", 1)])).await.unwrap();
}

#[tokio::test]
async fn abandoning_hides_and_uncounts_only_the_fetched_messages() {
    let store = Store::new().await;
    let provider = &*store.provider;
    create(provider, "a").await;
    provider.enqueue_for_orchestrator(signal("a", "1"), None).await.unwrap();
    let held = turn(provider).await;
    provider.enqueue_for_orchestrator(signal("a", "2"), None).await.unwrap();
    let delay = Some(Duration::from_secs(1));
    provider.abandon_orchestration_item(&held.lock_token, delay, true).await.unwrap();
    let second = turn(provider).await;
    assert_eq!(second.item.messages, vec![signal("a", "2")]);
    provider.abandon_orchestration_item(&second.lock_token, None, false).await.unwrap();
    store.clock.advance(Duration::from_secs(1));
    let third = turn(provider).await;
    assert_eq!(third.item.messages, vec![signal("a", "1"), signal("a", "2")]);
    assert_eq!(third.attempt_count, 2);
    let attempts = store.count("SELECT min(attempt_count) FROM orchestrator_queue");
    assert_eq!(attempts, 1, "the first message was un-counted and fetched once since");
}

#[tokio::test]
async fn an_unknown_token_cannot_abandon() {
    let store = Store::new().await;
    let given_back = store.provider.abandon_orchestration_item("lock_x", None, false).await;
    let error = given_back.unwrap_err();
    assert!(!error.is_retryable());
    assert!(error.message.contains("Invalid lock token"));
}

#[tokio::test]
async fn an_expired_lease_can_be_abandoned_until_it_is_claimed_again() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    let held = turn(provider).await;
    store.clock.advance(LEASE);
    provider.abandon_orchestration_item(&held.lock_token, None, true).await.unwrap();
    assert_eq!(turn(provider).await.attempt_count, 1);
}

/// A dispatcher that is shut down drops its fetch at any point. What the writer has leased for it
/// must be fetchable at once, and the attempt must not count.
#[tokio::test]
async fn a_dropped_fetch_leaves_nothing_locked() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    provider.enqueue_for_worker(activity("a", 1)).await.unwrap();
    for polls in 0..40_u32 {
        let mut fetch = Box::pin(provider.fetch_orchestration_items(wish(1)));
        let mut work =
            Box::pin(provider.fetch_work_item(LEASE, NOW, None, &TagFilter::DefaultOnly));
        // The job is sent by the first poll; then the writer races against the drop.
        tokio::select! {
            biased;
            taken = &mut fetch => {
                let token = taken.unwrap().pop().unwrap().lock_token;
                provider.abandon_orchestration_item(&token, None, true).await.unwrap();
            }
            taken = &mut work => {
                let (_, token, _) = taken.unwrap().unwrap();
                provider.abandon_work_item(&token, None, true).await.unwrap();
            }
            () = async { for _ in 0..polls { tokio::task::yield_now().await; } } => {}
        }
        drop(fetch);
        drop(work);
    }
    let turn = turn(provider).await;
    assert_eq!(turn.attempt_count, 1);
    let work = provider.fetch_work_item(LEASE, NOW, None, &TagFilter::DefaultOnly).await.unwrap();
    assert_eq!(work.expect("the activity is free").2, 1);
}

#[tokio::test]
async fn leases_that_were_vouched_for_are_counted_while_they_are_held() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_worker(activity("a", 1)).await.unwrap();
    for lease in 1..=3 {
        let fetched = provider.fetch_work_item(LEASE, NOW, None, &TagFilter::Any).await.unwrap();
        let (_, token, attempt) = fetched.unwrap();
        assert_eq!(attempt, lease);
        assert_eq!(provider.vouch_for_work_item(&token, 0).await.unwrap(), lease - 1);
        assert_eq!(provider.vouch_for_work_item(&token, 1).await.unwrap(), lease);
        store.clock.advance(LEASE * 2);
    }
}
