//! Leases expire, are renewed and are released.

use duroxide_core::providers::ProviderError;

use crate::ProviderFactory;
use crate::instance_locking::fetch_at_once;
use crate::support::{
    Must, Store, activity, commit, completed, heard, signal, start_item, started,
};

/// An instance whose lease expired can be fetched again; the old token is invalid.
pub async fn test_lock_expires_after_timeout<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let first = store.turn_of("a").await;
    store.no_turn("the lease is held").await;
    store.expire().await;
    let second = store.turn_of("a").await;
    assert_ne!(first.token, second.token, "every lease has its own token");
    let late = store.ack(commit(&first, vec![started("a", 1)])).await;
    late.must_fail_for_good("a commit under the token of an expired lease");
    assert_eq!(store.history("a").await, vec![]);
    store.ack(commit(&second, vec![started("a", 1)])).await.must("a commit under the new token");
}

/// An abandoned turn is fetchable at once; the old token is invalid.
pub async fn test_abandon_releases_lock_immediately<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let first = store.turn_of("a").await;
    let abandoned = store.provider.abandon_orchestration_item(&first.token, None, false).await;
    abandoned.must("abandoning a turn");
    let late = store.ack(commit(&first, vec![started("a", 1)])).await;
    late.must_fail_for_good("a commit of an abandoned turn");
    let twice = store.provider.abandon_orchestration_item(&first.token, None, false).await;
    twice.must_fail("abandoning twice");
    let second = store.turn_of("a").await;
    assert_ne!(first.token, second.token);
    assert_eq!(second.item.messages, vec![start_item("a")], "abandoning consumes nothing");
}

/// A commit releases its instance at once.
pub async fn test_lock_renewal_on_ack<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let first = store.turn_of("a").await;
    store.send(signal("a", "1")).await;
    store.ack(commit(&first, vec![started("a", 1)])).await.must("a commit");
    let second = store.turn_of("a").await;
    assert_eq!(second.item.messages, vec![signal("a", "1")]);
    let lease = store.lease();
    let renewed = store.provider.renew_orchestration_item_lock(&first.token, lease).await;
    renewed.must_fail("renewing a lease that a commit has released");
    let again = store.ack(commit(&first, vec![heard("a", 1, 2)])).await;
    again.must_fail_for_good("a second commit under one token");
}

/// While a lease is live no caller fetches the instance; after it expires exactly one of many does.
pub async fn test_concurrent_lock_attempts_respect_expiration<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let first = store.turn_of("a").await;
    let too_early = fetch_at_once(&store, 5).await;
    assert!(too_early.is_empty(), "a held lease excludes all other callers: {too_early:?}");
    store.expire().await;
    let fetched = fetch_at_once(&store, 5).await;
    assert_eq!(fetched.len(), 1, "exactly one caller fetches an expired instance");
    assert_ne!(fetched[0].token, first.token);
}

/// A live lease on an activity can be renewed repeatedly.
pub async fn test_worker_lock_renewal_success<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    let work = store.work().await;
    for _ in 0..3 {
        store.pass(store.lease() * 3 / 5).await;
        renew(&store, &work.token).await.must("renewing a live lease");
        store.no_work("a renewed lease is held").await;
    }
    store.provider.ack_work_item(&work.token, None).await.must("completing under a renewed lease");
}

/// An unknown token cannot be renewed.
pub async fn test_worker_lock_renewal_invalid_token<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    let work = store.work().await;
    renew(&store, "no-such-token").await.must_fail("renewing an unknown token");
    renew(&store, &work.token).await.must("renewing the valid token");
}

/// An expired lease cannot be renewed, even before another worker claims the activity.
pub async fn test_worker_lock_renewal_after_expiration<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    let work = store.work().await;
    store.expire().await;
    renew(&store, &work.token).await.must_fail("renewing an expired lease");
    assert_eq!(store.work().await.item, work.item, "another worker fetches the activity");
    renew(&store, &work.token).await.must_fail("renewing a lease that another worker holds");
}

/// A renewed lease lasts from the renewal, not from the start or the expiry of the first lease.
pub async fn test_worker_lock_renewal_extends_timeout<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    let work = store.work().await;
    store.pass(store.lease() * 3 / 5).await;
    renew(&store, &work.token).await.must("renewing a live lease");
    store.pass(store.lease() / 2).await;
    store.no_work("the lease was renewed beyond its first expiry").await;
    store.pass(store.lease() * 7 / 10).await;
    let again = store.work().await;
    assert_eq!(
        again.item, work.item,
        "the renewed lease expires one lease length after the renewal"
    );
    assert_eq!(again.attempt, 2);
}

/// A completed activity has no lease to renew.
pub async fn test_worker_lock_renewal_after_ack<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    let work = store.work().await;
    store.provider.ack_work_item(&work.token, None).await.must("completing an activity");
    renew(&store, &work.token).await.must_fail("renewing a completed activity");
    let twice = store.provider.ack_work_item(&work.token, Some(completed("a", 1))).await;
    twice.must_fail_for_good("completing twice");
}

/// An abandoned activity is fetchable at once, under another token.
pub async fn test_abandon_work_item_releases_lock<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    let first = store.work().await;
    let abandoned = store.provider.abandon_work_item(&first.token, None, false).await;
    abandoned.must("abandoning an activity");
    let second = store.work().await;
    assert_eq!(second.item, first.item);
    assert_ne!(second.token, first.token, "every lease has its own token");
    let late = store.provider.ack_work_item(&first.token, None).await;
    late.must_fail_for_good("completing an abandoned activity");
    renew(&store, &first.token).await.must_fail("renewing an abandoned activity");
    let unknown = store.provider.abandon_work_item("no-such-token", None, false).await;
    unknown.must_fail("abandoning under an unknown token");
}

/// An activity abandoned with a delay is hidden for that delay.
pub async fn test_abandon_work_item_with_delay<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    let first = store.work().await;
    let delay = store.lease() * 2;
    let abandoned = store.provider.abandon_work_item(&first.token, Some(delay), false).await;
    abandoned.must("abandoning with a delay");
    store.no_work("the delay has just started").await;
    // Longer than the lease, so that only the delay can hide the activity.
    store.pass(store.lease() * 3 / 2).await;
    store.no_work("the delay is not over").await;
    store.expire().await;
    assert_eq!(store.work().await.item, first.item, "the delay has passed");
}

/// An activity whose lease expired cannot be completed; it stays queued, and its result is
/// discarded.
pub async fn test_worker_ack_fails_after_lock_expiry<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.send_work(activity("a", 2)).await;
    let first = store.work().await;
    store.expire().await;
    let late = store.provider.ack_work_item(&first.token, Some(completed("a", 2))).await;
    late.must_fail_for_good("completing after the end of the lease");
    store.no_turn("a refused result is not sent").await;
    let second = store.work().await;
    assert_eq!(second.item, first.item, "the activity stays queued");
    let lost = store.provider.ack_work_item(&first.token, Some(completed("a", 2))).await;
    lost.must_fail_for_good("completing under a lease that another worker holds");
    let timely = store.provider.ack_work_item(&second.token, Some(completed("a", 2))).await;
    timely.must("completing under the new lease");
}

/// An expired turn lease cannot be renewed, even before another caller fetches the turn.
pub async fn test_orchestration_lock_renewal_after_expiration<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let first = store.turn_of("a").await;
    store.expire().await;
    let lease = store.lease();
    let late = store.provider.renew_orchestration_item_lock(&first.token, lease).await;
    late.must_fail("renewing an expired lease");
    let second = store.turn_of("a").await;
    let lost = store.provider.renew_orchestration_item_lock(&first.token, lease).await;
    lost.must_fail("renewing a lease that another worker holds");
    let timely = store.provider.renew_orchestration_item_lock(&second.token, lease).await;
    timely.must("renewing a live lease");
}

async fn renew<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    token: &str,
) -> Result<(), ProviderError> {
    store.provider.renew_work_item_lock(token, store.lease()).await
}

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __lock_expiration {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context lock_expiration
            test_lock_expires_after_timeout;
            test_abandon_releases_lock_immediately;
            test_lock_renewal_on_ack;
            test_concurrent_lock_attempts_respect_expiration;
            test_worker_lock_renewal_success;
            test_worker_lock_renewal_invalid_token;
            test_worker_lock_renewal_after_expiration;
            test_worker_lock_renewal_extends_timeout;
            test_worker_lock_renewal_after_ack;
            test_abandon_work_item_releases_lock;
            test_abandon_work_item_with_delay;
            test_worker_ack_fails_after_lock_expiry;
            test_orchestration_lock_renewal_after_expiration;
        }
    };
}
