//! Leases end, are renewed and are given back.

use duroxide_core::providers::ProviderError;

use crate::ProviderFactory;
use crate::instance_locking::fetch_at_once;
use crate::support::{
    Must, Store, activity, commit, completed, heard, signal, start_item, started,
};

/// An instance whose lease ended is handed out again; the old token is worth nothing.
pub async fn test_lock_expires_after_timeout<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let first = store.turn_of("a").await;
    store.no_turn("the lease is held").await;
    store.expire().await;
    let second = store.turn_of("a").await;
    assert_ne!(first.token, second.token, "every lease has a token of its own");
    let late = store.ack(commit(&first, vec![started("a", 1)])).await;
    late.must_fail_for_good("a commit under the token of an ended lease");
    assert_eq!(store.history("a").await, vec![]);
    store.ack(commit(&second, vec![started("a", 1)])).await.must("a commit under the new token");
}

/// A turn given back is fetchable at once; the old token is worth nothing.
pub async fn test_abandon_releases_lock_immediately<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let first = store.turn_of("a").await;
    let given_back = store.provider.abandon_orchestration_item(&first.token, None, false).await;
    given_back.must("giving back a turn");
    let late = store.ack(commit(&first, vec![started("a", 1)])).await;
    late.must_fail_for_good("a commit of a turn that was given back");
    let twice = store.provider.abandon_orchestration_item(&first.token, None, false).await;
    twice.must_fail("giving back twice");
    let second = store.turn_of("a").await;
    assert_ne!(first.token, second.token);
    assert_eq!(second.item.messages, vec![start_item("a")], "giving back consumes nothing");
}

/// A commit frees its instance at once.
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
    renewed.must_fail("renewing a lease that a commit has ended");
    let again = store.ack(commit(&first, vec![heard("a", 1, 2)])).await;
    again.must_fail_for_good("a second commit under one token");
}

/// While a lease lives nobody gets in, after it exactly one of many.
pub async fn test_concurrent_lock_attempts_respect_expiration<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let first = store.turn_of("a").await;
    let too_early = fetch_at_once(&store, 5).await;
    assert!(too_early.is_empty(), "a held lease keeps everyone out: {too_early:?}");
    store.expire().await;
    let fetched = fetch_at_once(&store, 5).await;
    assert_eq!(fetched.len(), 1, "an ended lease lets exactly one in");
    assert_ne!(fetched[0].token, first.token);
}

/// A live lease on an activity can be renewed, again and again.
pub async fn test_worker_lock_renewal_success<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    let work = store.work().await;
    for _ in 0..3 {
        store.pass(store.lease() * 3 / 5).await;
        renew(&store, &work.token).await.must("renewing a live lease");
        store.no_work("a renewed lease is held").await;
    }
    store.provider.ack_work_item(&work.token, None).await.must("finishing under a renewed lease");
}

/// A token that nobody was given cannot be renewed.
pub async fn test_worker_lock_renewal_invalid_token<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    let work = store.work().await;
    renew(&store, "no-such-token").await.must_fail("renewing an unknown token");
    renew(&store, &work.token).await.must("renewing the real token");
}

/// A lease that has ended cannot be renewed, also when nobody else has taken the activity.
pub async fn test_worker_lock_renewal_after_expiration<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    let work = store.work().await;
    store.expire().await;
    renew(&store, &work.token).await.must_fail("renewing an ended lease");
    assert_eq!(store.work().await.item, work.item, "the activity goes to someone else");
    renew(&store, &work.token).await.must_fail("renewing a lease that someone else holds");
}

/// A renewal counts from now, neither from the beginning of the lease nor from its end.
pub async fn test_worker_lock_renewal_extends_timeout<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    let work = store.work().await;
    store.pass(store.lease() * 3 / 5).await;
    renew(&store, &work.token).await.must("renewing a live lease");
    store.pass(store.lease() / 2).await;
    store.no_work("the lease was renewed beyond its first end").await;
    store.pass(store.lease() * 7 / 10).await;
    let again = store.work().await;
    assert_eq!(again.item, work.item, "the renewed lease ends one length after the renewal");
    assert_eq!(again.attempt, 2);
}

/// A finished activity has no lease to renew.
pub async fn test_worker_lock_renewal_after_ack<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    let work = store.work().await;
    store.provider.ack_work_item(&work.token, None).await.must("finishing an activity");
    renew(&store, &work.token).await.must_fail("renewing a finished activity");
    let twice = store.provider.ack_work_item(&work.token, Some(completed("a", 1))).await;
    twice.must_fail_for_good("finishing twice");
}

/// An activity given back is fetchable at once, under another token.
pub async fn test_abandon_work_item_releases_lock<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    let first = store.work().await;
    let given_back = store.provider.abandon_work_item(&first.token, None, false).await;
    given_back.must("giving back an activity");
    let second = store.work().await;
    assert_eq!(second.item, first.item);
    assert_ne!(second.token, first.token, "every lease has a token of its own");
    let late = store.provider.ack_work_item(&first.token, None).await;
    late.must_fail_for_good("finishing what was given back");
    renew(&store, &first.token).await.must_fail("renewing what was given back");
    let unknown = store.provider.abandon_work_item("no-such-token", None, false).await;
    unknown.must_fail("giving back under an unknown token");
}

/// An activity given back with a delay is hidden for that long.
pub async fn test_abandon_work_item_with_delay<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    let first = store.work().await;
    let delay = store.lease() * 2;
    let given_back = store.provider.abandon_work_item(&first.token, Some(delay), false).await;
    given_back.must("giving back with a delay");
    store.no_work("the delay has just begun").await;
    // Longer than the lease: it is the delay that hides the activity, not the lease.
    store.pass(store.lease() * 3 / 2).await;
    store.no_work("the delay is not over").await;
    store.expire().await;
    assert_eq!(store.work().await.item, first.item, "the delay is over");
}

/// An activity whose lease ended cannot be finished; it stays, and nobody is told of a result.
pub async fn test_worker_ack_fails_after_lock_expiry<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.send_work(activity("a", 2)).await;
    let first = store.work().await;
    store.expire().await;
    let late = store.provider.ack_work_item(&first.token, Some(completed("a", 2))).await;
    late.must_fail_for_good("finishing after the end of the lease");
    store.no_turn("a refused result is not sent").await;
    let second = store.work().await;
    assert_eq!(second.item, first.item, "the activity stays");
    let stolen = store.provider.ack_work_item(&first.token, Some(completed("a", 2))).await;
    stolen.must_fail_for_good("finishing under a lease that someone else holds");
    let timely = store.provider.ack_work_item(&second.token, Some(completed("a", 2))).await;
    timely.must("finishing under the new lease");
}

/// The lease of a turn that has ended cannot be renewed, also when nobody else has taken it.
pub async fn test_orchestration_lock_renewal_after_expiration<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let first = store.turn_of("a").await;
    store.expire().await;
    let lease = store.lease();
    let late = store.provider.renew_orchestration_item_lock(&first.token, lease).await;
    late.must_fail("renewing an ended lease");
    let second = store.turn_of("a").await;
    let stolen = store.provider.renew_orchestration_item_lock(&first.token, lease).await;
    stolen.must_fail("renewing a lease that someone else holds");
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
