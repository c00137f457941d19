//! Leases of turns are as strict as those of activities.

use std::time::Duration;

use crate::ProviderFactory;
use crate::support::{Must, Store, activity, commit, named, signal, start_item, started};

/// A renewed turn lease lasts from the renewal, not from the start or the expiry of the first
/// lease.
pub async fn a_renewed_turn_lease_counts_from_now<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    store.pass(store.lease() * 3 / 5).await;
    let renewed = store.provider.renew_orchestration_item_lock(&turn.token, store.lease()).await;
    renewed.must("renewing a live lease");
    store.pass(store.lease() / 2).await;
    store.no_turn("the lease was renewed beyond its first expiry").await;
    store.pass(store.lease() * 7 / 10).await;
    assert_eq!(
        store.turn_of("a").await.attempt,
        2,
        "the lease expires one lease length after the renewal"
    );
}

/// A renewed turn can be committed after its first lease would have expired.
pub async fn a_renewed_turn_can_be_committed<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    for _ in 0..3 {
        store.pass(store.lease() * 3 / 5).await;
        let lease = store.lease();
        let renewed = store.provider.renew_orchestration_item_lock(&turn.token, lease).await;
        renewed.must("renewing a live lease");
    }
    store.ack(commit(&turn, vec![started("a", 1)])).await.must("a commit under a renewed lease");
    assert_eq!(store.history("a").await.len(), 1);
}

/// A turn whose lease expired can still be abandoned until another caller fetches it.
pub async fn an_expired_turn_can_be_abandoned<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    store.expire().await;
    let delay = Some(store.lease() * 2);
    let abandoned = store.provider.abandon_orchestration_item(&turn.token, delay, true).await;
    abandoned.must("abandoning a turn whose lease expired");
    store.no_turn("the turn was abandoned with a delay").await;
    store.pass(store.lease() * 2).await;
    store.expire().await;
    assert_eq!(store.turn_of("a").await.attempt, 1, "the attempt was undone");
}

/// The old holder cannot abandon a turn that another caller has fetched.
pub async fn a_lost_turn_cannot_be_abandoned<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.send(signal("a", "1")).await;
    let old = store.turn_of("a").await;
    store.expire().await;
    let new = store.turn_of("a").await;
    let abandoned = store.provider.abandon_orchestration_item(&old.token, None, true).await;
    abandoned.must_fail("abandoning a turn that another caller holds");
    store.no_turn("the new holder keeps its lease").await;
    store.ack(commit(&new, vec![])).await.must("the commit of the new holder");
    store.no_turn("the message is consumed").await;
}

/// Each fetch chooses the length of its lease.
pub async fn a_lease_lasts_as_long_as_requested<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let long = store.lease() * 3;
    let fetched = store.provider.fetch_orchestration_item(long, Duration::ZERO, None).await;
    let (_, token, _) = fetched.must("fetching a turn").expect("a turn must be fetchable");
    store.expire().await;
    store.no_turn("the requested lease is three times as long").await;
    let acked = store
        .provider
        .ack_orchestration_item(&token, 1, vec![started("a", 1)], vec![], vec![], named(), vec![])
        .await;
    acked.must("a commit under a long lease");
}

/// Activities whose leases expired are fetched oldest first, whichever lease expired first.
pub async fn expired_activities_are_fetched_oldest_first<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for id in 1..=3 {
        store.send_work(activity("a", id)).await;
    }
    let oldest = store.work().await;
    let _held = (store.work().await, store.work().await);
    let renewed = store.provider.renew_work_item_lock(&oldest.token, store.lease() * 2).await;
    renewed.must("renewing a live lease");
    store.expire().await;
    store.expire().await;
    for id in 1..=3 {
        assert_eq!(store.work().await.item, activity("a", id), "oldest first");
    }
}
