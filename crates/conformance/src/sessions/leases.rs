//! How long a worker owns a session.

use std::time::Duration;

use super::workers::{
    AnyStore, FOREVER, Leases, claim, claim_for, claims_nothing, clean, finish, of_session, renew,
    store_with,
};
use crate::ProviderFactory;
use crate::support::Must;

// A session used STEP ago is not idle; one used twice as long ago is.
const STEP: Duration = Duration::from_millis(400);
const IDLE: Duration = Duration::from_millis(600);

const LONG: Leases = Leases { activity: FOREVER, session: FOREVER };

/// Every live session of the owner is renewed and counted.
pub async fn test_renew_session_lock_active(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s"), Some("t")]).await;
    claim(&store, "a", 1).await;
    assert_eq!(renew(&store, &["a"], FOREVER).await, 1);
    claim(&store, "a", 2).await;
    assert_eq!(renew(&store, &["a"], FOREVER).await, 2);
}

/// An idle session is not renewed.
pub async fn test_renew_session_lock_skips_idle(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s"), Some("s")]).await;
    finish(&store, &claim(&store, "a", 1).await).await;
    assert_eq!(
        renew(&store, &["a"], Duration::ZERO).await,
        0,
        "with an idle timeout of zero every session is idle"
    );
    store.expire().await;
    claim(&store, "b", 2).await;
}

/// A worker without sessions renews nothing.
pub async fn test_renew_session_lock_no_sessions(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[None]).await;
    claim(&store, "a", 1).await;
    assert_eq!(renew(&store, &["a"], FOREVER).await, 0);
    assert_eq!(renew(&store, &[], FOREVER).await, 0);
}

/// An expired session lease cannot be renewed.
pub async fn test_renew_session_lock_after_expiry_returns_zero(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s"), Some("s")]).await;
    finish(&store, &claim(&store, "a", 1).await).await;
    store.expire().await;
    assert_eq!(renew(&store, &["a"], FOREVER).await, 0);
    claim(&store, "b", 2).await;
}

/// A renewal extends the sessions of the named owners and no others.
pub async fn test_renew_session_lock_only_for_given_owners(factory: &dyn ProviderFactory) {
    let sessions = [Some("s"), Some("t"), Some("u"), Some("s"), Some("t"), Some("u")];
    let store = store_with(factory, &sessions).await;
    for (worker, expected) in [("a", 1), ("b", 2), ("c", 3)] {
        finish(&store, &claim(&store, worker, expected).await).await;
    }
    store.pass(store.lease() * 6 / 10).await;
    assert_eq!(renew(&store, &["a", "c"], FOREVER).await, 2);
    assert_eq!(renew(&store, &["unknown"], FOREVER).await, 0);
    store.pass(store.lease() * 6 / 10).await;
    claim(&store, "stranger", 5).await;
    claims_nothing(&store, "stranger", "the sessions of a and c were renewed").await;
    claim(&store, "c", 6).await;
    claim(&store, "a", 4).await;
}

/// A renewed session lease lasts from the renewal.
pub async fn test_session_lock_renewal_extends_past_original_timeout(
    factory: &dyn ProviderFactory,
) {
    let store = store_with(factory, &[Some("s"), Some("s")]).await;
    finish(&store, &claim(&store, "a", 1).await).await;
    store.pass(store.lease() * 6 / 10).await;
    assert_eq!(renew(&store, &["a"], FOREVER).await, 1);
    store.pass(store.lease() * 6 / 10).await;
    claims_nothing(&store, "b", "the session was renewed").await;
    store.expire().await;
    claim(&store, "b", 2).await;
}

/// Each activity that the owner fetches renews the session.
pub async fn test_fetch_extends_session_lock(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s"), Some("s"), Some("s")]).await;
    finish(&store, &claim(&store, "a", 1).await).await;
    store.pass(store.lease() * 6 / 10).await;
    finish(&store, &claim(&store, "a", 2).await).await;
    store.pass(store.lease() * 6 / 10).await;
    claims_nothing(&store, "b", "the session was renewed by a fetch").await;
    claim(&store, "a", 3).await;
}

/// An expired session without work is removed.
pub async fn test_cleanup_removes_expired_no_items(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s")]).await;
    finish(&store, &claim(&store, "a", 1).await).await;
    store.expire().await;
    assert_eq!(clean(&store).await, 1);
    assert_eq!(clean(&store).await, 0, "the session is already removed");
}

/// An expired session is kept while work for it waits or runs.
pub async fn test_cleanup_keeps_sessions_with_pending_items(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s"), Some("s")]).await;
    let leases = Leases { activity: FOREVER, session: store.lease() };
    let first = claim_for(&store, "a", 1, leases).await;
    store.expire().await;
    assert_eq!(clean(&store).await, 0, "one activity waits and one runs");
    let second = claim_for(&store, "a", 2, leases).await;
    finish(&store, &second).await;
    store.expire().await;
    assert_eq!(clean(&store).await, 0, "one activity runs");
    finish(&store, &first).await;
    assert_eq!(clean(&store).await, 1, "no activity of the session is left");
}

/// A session under a live lease is kept.
pub async fn test_cleanup_keeps_active_sessions(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s")]).await;
    finish(&store, &claim(&store, "a", 1).await).await;
    assert_eq!(clean(&store).await, 0);
    store.send_work(of_session(2, "s")).await;
    claims_nothing(&store, "b", "the session is owned by a").await;
}

/// After its removal the next activity creates the session again.
pub async fn test_cleanup_then_new_item_recreates_session(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s")]).await;
    finish(&store, &claim(&store, "a", 1).await).await;
    store.expire().await;
    assert_eq!(clean(&store).await, 1);
    store.send_work(of_session(2, "s")).await;
    store.send_work(of_session(3, "s")).await;
    claim(&store, "b", 2).await;
    claims_nothing(&store, "a", "the session is owned by b").await;
    assert_eq!(renew(&store, &["b"], FOREVER).await, 1);
}

/// One STEP after its last use the session is not idle; two STEPs after it is.
async fn assert_just_used(store: &AnyStore<'_>) {
    store.pass(STEP).await;
    assert_eq!(renew_for_long(store).await, 1, "the session was used recently");
    store.pass(STEP).await;
    assert_eq!(renew_for_long(store).await, 0, "renewing a session does not count as using it");
}

async fn renew_for_long(store: &AnyStore<'_>) -> usize {
    store.provider.renew_session_lock(&["a"], FOREVER, IDLE).await.must("renewing sessions")
}

/// Fetching an activity counts as a use of the session.
pub async fn test_fetch_updates_session_last_activity(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s"), Some("s")]).await;
    claim_for(&store, "a", 1, LONG).await;
    store.pass(STEP).await;
    claim_for(&store, "a", 2, LONG).await;
    assert_just_used(&store).await;
}

/// Completing an activity counts as a use of the session.
pub async fn test_ack_updates_session_last_activity(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s")]).await;
    let work = claim_for(&store, "a", 1, LONG).await;
    store.pass(STEP).await;
    finish(&store, &work).await;
    assert_just_used(&store).await;
}

/// Renewing the lease of an activity counts as a use of the session.
pub async fn test_renew_work_item_updates_session_last_activity(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s")]).await;
    let work = claim_for(&store, "a", 1, LONG).await;
    store.pass(STEP).await;
    let renewed = store.provider.renew_work_item_lock(&work.token, FOREVER).await;
    renewed.must("renewing the lease of an activity");
    assert_just_used(&store).await;
}

/// An activity that continues after its session expired does not revive the session.
pub async fn test_work_under_expired_session_does_not_revive_it(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s"), Some("s")]).await;
    let leases = Leases { activity: FOREVER, session: store.lease() };
    let work = claim_for(&store, "a", 1, leases).await;
    store.expire().await;
    let renewed = store.provider.renew_work_item_lock(&work.token, FOREVER).await;
    renewed.must("renewing the lease of an activity");
    assert_eq!(renew(&store, &["a"], FOREVER).await, 0, "the session has expired");
    finish(&store, &work).await;
    assert_eq!(renew(&store, &["a"], FOREVER).await, 0, "the session has expired");
    claim(&store, "b", 2).await;
}
