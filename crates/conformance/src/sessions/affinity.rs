//! Which worker gets which activity.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{Provider, SessionFetchConfig, TagFilter, WorkItem};
use tokio::sync::Barrier;

use super::workers::{
    AnyStore, FOREVER, claim, claims_nothing, clean, finish, id, of_session, store_with, try_claim,
};
use crate::ProviderFactory;
use crate::limits::RETRIES_MAX;
use crate::support::{Store, activity};

/// Every worker can fetch activities without a session.
pub async fn test_non_session_items_fetchable_by_any_worker(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[None, None, None]).await;
    claim(&store, "a", 1).await;
    claim(&store, "b", 2).await;
    assert_eq!(id(&store.work().await), 3);
}

/// A session without an owner goes to the first worker that fetches.
pub async fn test_session_item_claimable_when_no_session(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s")]).await;
    let work = claim(&store, "a", 1).await;
    assert_eq!(work.item, of_session(1, "s"), "the activity comes back unchanged");
    assert_eq!(work.attempt, 1);
}

/// The owner gets the session's later activities too.
pub async fn test_session_affinity_same_worker(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s"), Some("s")]).await;
    finish(&store, &claim(&store, "a", 1).await).await;
    claim(&store, "a", 2).await;
}

/// Other workers do not get the session's activities, whether the owner is busy or not.
pub async fn test_session_affinity_blocks_other_worker(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s"), Some("s")]).await;
    let first = claim(&store, "a", 1).await;
    claims_nothing(&store, "b", "the session is owned by a").await;
    finish(&store, &first).await;
    claims_nothing(&store, "b", "the session is owned by a although a is not busy").await;
    claim(&store, "a", 2).await;
}

/// Each session has its own owner.
pub async fn test_different_sessions_different_workers(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s"), Some("t"), Some("t"), Some("s")]).await;
    claim(&store, "a", 1).await;
    claim(&store, "b", 2).await;
    claim(&store, "a", 4).await;
    claim(&store, "b", 3).await;
}

/// A fetch skips the sessions of other workers and does not wait for them.
pub async fn test_mixed_session_and_non_session_items(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s"), Some("s"), None, Some("t"), None]).await;
    claim(&store, "a", 1).await;
    claim(&store, "b", 3).await;
    claim(&store, "b", 4).await;
    claim(&store, "a", 2).await;
    claim(&store, "a", 5).await;
    claims_nothing(&store, "a", "everything is leased").await;
}

/// A session whose lease expired goes to the first worker that fetches.
pub async fn test_session_claimable_after_lock_expiry(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s"), Some("s")]).await;
    finish(&store, &claim(&store, "a", 1).await).await;
    claims_nothing(&store, "b", "the session is owned by a").await;
    store.expire().await;
    claim(&store, "b", 2).await;
}

/// A worker without sessions gets only activities without one.
pub async fn test_none_session_skips_session_items(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s"), None, Some("t")]).await;
    assert_eq!(id(&store.work().await), 2);
    store.no_work("the rest belongs to sessions").await;
    let work = claim(&store, "a", 1).await;
    assert_eq!(work.attempt, 1, "skipping does not count as an attempt");
}

/// A worker with sessions gets all activities, oldest first, from any number of sessions.
pub async fn test_some_session_returns_all_items(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s"), None, Some("t"), Some("u")]).await;
    for expected in 1..=4 {
        claim(&store, "a", expected).await;
    }
    claims_nothing(&store, "a", "everything is leased").await;
}

/// The activities of a session come in the order they were enqueued.
pub async fn test_session_items_processed_in_order(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s"); 5]).await;
    for expected in 1..=5 {
        finish(&store, &claim(&store, "a", expected).await).await;
    }
}

/// A worker with sessions also gets activities without one.
pub async fn test_non_session_items_returned_with_session_config(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[None]).await;
    let work = claim(&store, "a", 1).await;
    assert_eq!(work.item, activity("worked", 1));
}

/// The owner is a name: every caller with that name owns the session.
pub async fn test_shared_worker_id_any_caller_can_fetch_owned_session(
    factory: &dyn ProviderFactory,
) {
    let store = store_with(factory, &[Some("s"), Some("s"), Some("s")]).await;
    let first = claim(&store, "node", 1).await;
    let second = claim(&store, "node", 2).await;
    assert_ne!(first.token, second.token, "each activity has its own lease");
    claims_nothing(&store, "nod", "the session is owned by node").await;
    claims_nothing(&store, "NODE", "the session is owned by node").await;
    claim(&store, "node", 3).await;
}

/// Of several workers that fetch at the same time, one becomes the owner and gets all activities.
pub async fn test_concurrent_session_claim_only_one_wins(factory: &dyn ProviderFactory) {
    const WORKERS: usize = 6;
    let store = store_with(factory, &[Some("s"); WORKERS]).await;
    let barrier = Arc::new(Barrier::new(WORKERS));
    let mut tasks = Vec::new();
    for number in 0..WORKERS {
        let (provider, barrier) = (Arc::clone(&store.provider), Arc::clone(&barrier));
        let session =
            SessionFetchConfig { owner_id: format!("worker {number}"), lock_timeout: FOREVER };
        tasks.push(tokio::spawn(async move {
            barrier.wait().await;
            let found = fetch_with_retries(&*provider, &session).await;
            found.map(|_| session.owner_id)
        }));
    }
    let mut winners = BTreeSet::new();
    for task in tasks {
        winners.extend(task.await.expect("a fetch must not panic"));
    }
    assert_eq!(winners.len(), 1, "a session has one owner, not {winners:?}");
}

/// Fetches once and retries after a transient error.
async fn fetch_with_retries(
    provider: &dyn Provider,
    session: &SessionFetchConfig,
) -> Option<(WorkItem, String, u32)> {
    for _ in 0..RETRIES_MAX {
        let tags = TagFilter::DefaultOnly;
        match provider.fetch_work_item(FOREVER, Duration::ZERO, Some(session), &tags).await {
            Ok(found) => return found,
            Err(error) => assert!(error.is_retryable(), "fetching an activity: {error}"),
        }
    }
    panic!("fetching an activity failed {RETRIES_MAX} times");
}

/// The worker that claims an expired session is its owner; the former owner has no access.
pub async fn test_session_takeover_after_lock_expiry(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s"), Some("s"), Some("s")]).await;
    finish(&store, &claim(&store, "a", 1).await).await;
    store.expire().await;
    claim(&store, "b", 2).await;
    claims_nothing(&store, "a", "b has claimed the session").await;
    claim(&store, "b", 3).await;
}

/// A session is identified by its name, whichever instances its activities come from.
pub async fn test_session_is_one_across_instances(factory: &dyn ProviderFactory) {
    let store: AnyStore<'_> = Store::open(factory).await;
    for (number, from) in (1..).zip(["one", "two"]) {
        let mut item = of_session(number, "s");
        if let WorkItem::ActivityExecute { instance, .. } = &mut item {
            *instance = from.to_owned();
        }
        store.send_work(item).await;
    }
    claim(&store, "a", 1).await;
    claims_nothing(&store, "b", "the session is owned by a").await;
    claim(&store, "a", 2).await;
}

/// Fetching an activity without a session, or nothing, claims no session.
pub async fn test_plain_fetch_claims_no_session(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[None]).await;
    claim(&store, "a", 1).await;
    assert!(try_claim(&store, "a").await.is_none(), "everything is leased");
    store.send_work(of_session(2, "s")).await;
    claim(&store, "b", 2).await;
    store.expire().await;
    assert_eq!(clean(&store).await, 0, "the only session has a queued activity");
}
