//! Activities whose running worker lost its lease.

use duroxide_core::providers::{ChangeScope, ScheduledActivityIdentifier};

use crate::ProviderFactory;
use crate::limits::WAKE_TIME_MAX;
use crate::support::{Must, Store, activity, commit, start_item, started};

async fn lost<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, tokens: &[&str]) -> Vec<String> {
    let tokens: Vec<String> = tokens.iter().map(ToString::to_string).collect();
    store.provider.find_lost_work_locks(&tokens).await.must("finding lost locks")
}

/// A lock is not lost while no other worker claims the activity, not even after it expires, because
/// its holder may still abandon it.
pub async fn a_held_work_lock_is_not_lost<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    let work = store.work().await;
    assert!(lost(&store, &[&work.token]).await.is_empty(), "the activity was just fetched");
    let renewed = store.provider.renew_work_item_lock(&work.token, store.lease()).await;
    renewed.must("renewing a live lease");
    assert!(lost(&store, &[&work.token]).await.is_empty(), "the lock was renewed");
    store.expire().await;
    assert!(lost(&store, &[&work.token]).await.is_empty(), "no other worker holds the activity");
}

/// A watch reports that a running activity was cancelled, and the query returns which one.
pub async fn a_cancelled_work_lock_is_reported_lost<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    store.send_work(activity("a", 2)).await;
    store.send_work(activity("a", 3)).await;
    let (cancelled, kept) = (store.work().await, store.work().await);
    let watch = store.provider.watch(ChangeScope::WorkLocks);
    let mut watch = watch.expect("a provider that publishes changes returns watches");
    let mut cancelling = commit(&turn, vec![started("a", 1)]);
    let instance = "a".to_owned();
    cancelling.cancelled_activities =
        vec![ScheduledActivityIdentifier { instance, execution_id: 1, activity_id: 2 }];
    store.ack(cancelling).await.must("a commit that cancels an activity");
    let notified = tokio::time::timeout(WAKE_TIME_MAX, watch.changed()).await;
    assert!(notified.is_ok(), "a watch missed a cancelled activity");
    let lost = lost(&store, &[&cancelled.token, &kept.token]).await;
    assert_eq!(lost, [cancelled.token], "only the cancelled one is lost");
}

/// A lock is lost when another worker has claimed the activity.
pub async fn a_reclaimed_work_lock_is_reported_lost<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    let old = store.work().await;
    store.expire().await;
    let new = store.work().await;
    assert_eq!(lost(&store, &[&old.token, &new.token]).await, [old.token]);
}
