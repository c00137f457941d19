//! A lease that expired is not lost while no one else has claimed the work.

use duroxide_core::providers::{ProviderError, SessionFetchConfig, TagFilter, WorkItem};

use crate::ProviderFactory;
use crate::support::{Must, Store, activity, commit, completed, signal, start_item, started};

/// A turn whose lease expired can be reclaimed and then committed. The new lease counts from now,
/// and nothing counts as an attempt.
pub async fn an_expired_turn_can_be_reclaimed<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    store.expire().await;
    reclaim_turn(&store, &turn.token).await.must("reclaiming an expired turn");
    store.no_turn("the reclaimed lease is live").await;
    store.pass(store.lease() / 2).await;
    reclaim_turn(&store, &turn.token).await.must("reclaiming a live turn, which extends it");
    store.pass(store.lease() * 3 / 4).await;
    store.no_turn("the lease counts from the second time").await;
    store.ack(commit(&turn, vec![started("a", 1)])).await.must("a commit under a reclaimed lease");
    store.no_turn("its message is consumed").await;
    assert_eq!(store.history("a").await.len(), 1);
}

/// A turn that another caller has fetched, or that was released or committed, cannot be reclaimed.
pub async fn a_lost_turn_cannot_be_reclaimed<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.send(signal("a", "1")).await;
    let old = store.turn_of("a").await;
    store.expire().await;
    let new = store.turn_of("a").await;
    let late = reclaim_turn(&store, &old.token).await;
    late.must_fail_for_good("reclaiming a turn that another caller holds");
    store.expire().await;
    let late = reclaim_turn(&store, &old.token).await;
    late.must_fail_for_good("reclaiming a turn that another caller held last");
    reclaim_turn(&store, &new.token).await.must("reclaiming as the last holder");
    store.ack(commit(&new, vec![])).await.must("the commit of the last holder");
    let late = reclaim_turn(&store, &new.token).await;
    late.must_fail_for_good("reclaiming a committed turn");
    let unknown = reclaim_turn(&store, "no-such-token").await;
    unknown.must_fail_for_good("reclaiming under an unknown token");
}

/// An activity whose lease expired can be reclaimed and then completed.
pub async fn expired_work_can_be_reclaimed<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.send_work(activity("a", 2)).await;
    let work = store.work().await;
    store.expire().await;
    reclaim_work(&store, &work.token).await.must("reclaiming an expired activity");
    store.no_work("the reclaimed lease is live").await;
    store.expire().await;
    reclaim_work(&store, &work.token).await.must("reclaiming it again");
    let acked = store.provider.ack_work_item(&work.token, Some(completed("a", 2))).await;
    acked.must("completing under a reclaimed lease");
    store.no_work("the activity is completed").await;
    assert_eq!(store.turn_of("a").await.item.messages, vec![completed("a", 2)]);
}

/// An activity that another worker has fetched, or that was released or completed, cannot be
/// reclaimed.
pub async fn lost_work_cannot_be_reclaimed<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    let old = store.work().await;
    store.expire().await;
    let new = store.work().await;
    assert_eq!(new.attempt, 2);
    let late = reclaim_work(&store, &old.token).await;
    late.must_fail_for_good("reclaiming an activity that another worker holds");
    store.expire().await;
    let late = reclaim_work(&store, &old.token).await;
    late.must_fail_for_good("reclaiming an activity that another worker held last");
    let abandoned = store.provider.abandon_work_item(&new.token, None, true).await;
    abandoned.must("abandoning an activity");
    let late = reclaim_work(&store, &new.token).await;
    late.must_fail_for_good("reclaiming an abandoned activity");
    let last = store.work().await;
    assert_eq!(last.attempt, 2, "a refused reclaim counts nothing");
    store.provider.ack_work_item(&last.token, None).await.must("completing an activity");
    let late = reclaim_work(&store, &last.token).await;
    late.must_fail_for_good("reclaiming a completed activity");
}

/// The session of a reclaimed activity stays with its owner, although its lease expired too.
pub async fn reclaimed_work_keeps_its_session<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(of_session(1)).await;
    store.send_work(of_session(2)).await;
    let owner = |owner_id: &str| SessionFetchConfig {
        owner_id: owner_id.to_owned(),
        lock_timeout: store.lease(),
    };
    let (first, second) = (owner("first"), owner("second"));
    let work = store
        .try_work_as(Some(&first), &TagFilter::DefaultOnly)
        .await
        .expect("an activity of the session");
    store.expire().await;
    reclaim_work(&store, &work.token).await.must("reclaiming an expired activity");
    let other = store.try_work_as(Some(&second), &TagFilter::DefaultOnly).await;
    assert!(other.is_none(), "the session belongs to the first owner: {other:?}");
    let next = store
        .try_work_as(Some(&first), &TagFilter::DefaultOnly)
        .await
        .expect("the next activity of the session");
    assert_eq!(next.item, of_session(2));
}

fn of_session(id: u64) -> WorkItem {
    let mut item = activity("a", id);
    if let WorkItem::ActivityExecute { session_id, .. } = &mut item {
        *session_id = Some("s".to_owned());
    }
    item
}

async fn reclaim_turn<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    token: &str,
) -> Result<(), ProviderError> {
    store.provider.reclaim_orchestration_item_lock(token, store.lease()).await
}

async fn reclaim_work<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    token: &str,
) -> Result<(), ProviderError> {
    store.provider.reclaim_work_item_lock(token, store.lease()).await
}
