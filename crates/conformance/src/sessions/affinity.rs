//! Who gets which activity.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{Provider, SessionFetchConfig, TagFilter, WorkItem};
use tokio::sync::Barrier;

use super::workers::{
    AnyStore, FOREVER, clean, finish, holding, id, nothing, of_session, take, taken,
};
use crate::ProviderFactory;
use crate::limits::RETRIES_MAX;
use crate::support::{Store, activity};

/// Whoever asks gets activities without a session.
pub async fn test_non_session_items_fetchable_by_any_worker(factory: &dyn ProviderFactory) {
    let store = holding(factory, &[None, None, None]).await;
    taken(&store, "a", 1).await;
    taken(&store, "b", 2).await;
    assert_eq!(id(&store.work().await), 3);
}

/// A session that nobody owns goes to whoever asks first.
pub async fn test_session_item_claimable_when_no_session(factory: &dyn ProviderFactory) {
    let store = holding(factory, &[Some("s")]).await;
    let work = taken(&store, "a", 1).await;
    assert_eq!(work.item, of_session(1, "s"), "the activity comes as it was enqueued");
    assert_eq!(work.attempt, 1);
}

/// The owner gets the session's later activities too.
pub async fn test_session_affinity_same_worker(factory: &dyn ProviderFactory) {
    let store = holding(factory, &[Some("s"), Some("s")]).await;
    finish(&store, &taken(&store, "a", 1).await).await;
    taken(&store, "a", 2).await;
}

/// Nobody else gets them, whether the owner is busy or not.
pub async fn test_session_affinity_blocks_other_worker(factory: &dyn ProviderFactory) {
    let store = holding(factory, &[Some("s"), Some("s")]).await;
    let first = taken(&store, "a", 1).await;
    nothing(&store, "b", "the session is owned by a").await;
    finish(&store, &first).await;
    nothing(&store, "b", "the session is owned by a although a is not busy").await;
    taken(&store, "a", 2).await;
}

/// Each session has its own owner.
pub async fn test_different_sessions_different_workers(factory: &dyn ProviderFactory) {
    let store = holding(factory, &[Some("s"), Some("t"), Some("t"), Some("s")]).await;
    taken(&store, "a", 1).await;
    taken(&store, "b", 2).await;
    taken(&store, "a", 4).await;
    taken(&store, "b", 3).await;
}

/// A session of someone else is skipped, not waited for.
pub async fn test_mixed_session_and_non_session_items(factory: &dyn ProviderFactory) {
    let store = holding(factory, &[Some("s"), Some("s"), None, Some("t"), None]).await;
    taken(&store, "a", 1).await;
    taken(&store, "b", 3).await;
    taken(&store, "b", 4).await;
    taken(&store, "a", 2).await;
    taken(&store, "a", 5).await;
    nothing(&store, "a", "everything is handed out").await;
}

/// A session whose lease ran out goes to whoever asks first.
pub async fn test_session_claimable_after_lock_expiry(factory: &dyn ProviderFactory) {
    let store = holding(factory, &[Some("s"), Some("s")]).await;
    finish(&store, &taken(&store, "a", 1).await).await;
    nothing(&store, "b", "the session is owned by a").await;
    store.expire().await;
    taken(&store, "b", 2).await;
}

/// A worker that takes no sessions gets only activities without one.
pub async fn test_none_session_skips_session_items(factory: &dyn ProviderFactory) {
    let store = holding(factory, &[Some("s"), None, Some("t")]).await;
    assert_eq!(id(&store.work().await), 2);
    store.no_work("the rest belongs to sessions").await;
    let work = taken(&store, "a", 1).await;
    assert_eq!(work.attempt, 1, "being skipped is no attempt");
}

/// A worker that takes sessions gets everything, oldest first, as many sessions as there are.
pub async fn test_some_session_returns_all_items(factory: &dyn ProviderFactory) {
    let store = holding(factory, &[Some("s"), None, Some("t"), Some("u")]).await;
    for expected in 1..=4 {
        taken(&store, "a", expected).await;
    }
    nothing(&store, "a", "everything is handed out").await;
}

/// The activities of a session come in the order they were enqueued.
pub async fn test_session_items_processed_in_order(factory: &dyn ProviderFactory) {
    let store = holding(factory, &[Some("s"); 5]).await;
    for expected in 1..=5 {
        finish(&store, &taken(&store, "a", expected).await).await;
    }
}

/// A worker that takes sessions also takes what has none.
pub async fn test_non_session_items_returned_with_session_config(factory: &dyn ProviderFactory) {
    let store = holding(factory, &[None]).await;
    let work = taken(&store, "a", 1).await;
    assert_eq!(work.item, activity("worked", 1));
}

/// The owner is a name: every caller that gives it owns the session.
pub async fn test_shared_worker_id_any_caller_can_fetch_owned_session(
    factory: &dyn ProviderFactory,
) {
    let store = holding(factory, &[Some("s"), Some("s"), Some("s")]).await;
    let first = taken(&store, "node", 1).await;
    let second = taken(&store, "node", 2).await;
    assert_ne!(first.token, second.token, "each activity has a lease of its own");
    nothing(&store, "nod", "the session is owned by node").await;
    nothing(&store, "NODE", "the session is owned by node").await;
    taken(&store, "node", 3).await;
}

/// Of several workers that ask at the same time one becomes the owner and gets everything.
pub async fn test_concurrent_session_claim_only_one_wins(factory: &dyn ProviderFactory) {
    const WORKERS: usize = 6;
    let store = holding(factory, &[Some("s"); WORKERS]).await;
    let barrier = Arc::new(Barrier::new(WORKERS));
    let mut tasks = Vec::new();
    for number in 0..WORKERS {
        let (provider, barrier) = (Arc::clone(&store.provider), Arc::clone(&barrier));
        let session =
            SessionFetchConfig { owner_id: format!("worker {number}"), lock_timeout: FOREVER };
        tasks.push(tokio::spawn(async move {
            barrier.wait().await;
            let found = patient_fetch(&*provider, &session).await;
            found.map(|_| session.owner_id)
        }));
    }
    let mut winners = BTreeSet::new();
    for task in tasks {
        winners.extend(task.await.expect("a fetch must not panic"));
    }
    assert_eq!(winners.len(), 1, "a session has one owner, not {winners:?}");
}

/// Fetches once; an error that may pass is met with another try.
async fn patient_fetch(
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

/// Whoever takes an expired session over is its owner; the former owner is a stranger.
pub async fn test_session_takeover_after_lock_expiry(factory: &dyn ProviderFactory) {
    let store = holding(factory, &[Some("s"), Some("s"), Some("s")]).await;
    finish(&store, &taken(&store, "a", 1).await).await;
    store.expire().await;
    taken(&store, "b", 2).await;
    nothing(&store, "a", "b has taken the session over").await;
    taken(&store, "b", 3).await;
}

/// A session is known by its name, whichever instances its activities come from.
pub async fn test_session_is_one_across_instances(factory: &dyn ProviderFactory) {
    let store: AnyStore<'_> = Store::open(factory).await;
    for (number, from) in (1..).zip(["one", "two"]) {
        let mut item = of_session(number, "s");
        if let WorkItem::ActivityExecute { instance, .. } = &mut item {
            *instance = from.to_owned();
        }
        store.send_work(item).await;
    }
    taken(&store, "a", 1).await;
    nothing(&store, "b", "the session is owned by a").await;
    taken(&store, "a", 2).await;
}

/// Fetching an activity without a session, or nothing at all, makes nobody an owner.
pub async fn test_plain_fetch_claims_no_session(factory: &dyn ProviderFactory) {
    let store = holding(factory, &[None]).await;
    taken(&store, "a", 1).await;
    assert!(take(&store, "a").await.is_none(), "everything is handed out");
    store.send_work(of_session(2, "s")).await;
    taken(&store, "b", 2).await;
    store.expire().await;
    assert_eq!(clean(&store).await, 0, "the one session there is has a queued activity");
}
