//! Activities of a session that are delivered again.

use super::workers::{FOREVER, Leases, claim, claim_for, claims_nothing, finish, store_with};
use crate::ProviderFactory;
use crate::support::{Must, Store, Work};

async fn abandon<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    work: &Work,
    ignore_attempt: bool,
) {
    let abandoned = store.provider.abandon_work_item(&work.token, None, ignore_attempt).await;
    abandoned.must("abandoning an activity");
}

/// The owner can fetch an activity again after abandoning it.
pub async fn test_abandoned_session_item_retryable(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s")]).await;
    let work = claim(&store, "a", 1).await;
    abandon(&store, &work, false).await;
    claims_nothing(&store, "b", "the session is owned by a").await;
    let again = claim(&store, "a", 1).await;
    assert_eq!(again.attempt, 2);
    assert_eq!(again.item, work.item);
}

/// An abandon can undo the attempt.
pub async fn test_abandoned_session_item_ignore_attempt(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s")]).await;
    let work = claim(&store, "a", 1).await;
    abandon(&store, &work, true).await;
    claims_nothing(&store, "b", "the session is owned by a").await;
    assert_eq!(claim(&store, "a", 1).await.attempt, 1);
}

/// The former owner can claim its expired session again.
pub async fn test_original_worker_reclaims_expired_session(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s"), Some("s"), Some("s")]).await;
    finish(&store, &claim(&store, "a", 1).await).await;
    store.expire().await;
    claim(&store, "a", 2).await;
    claims_nothing(&store, "b", "a owns the session again").await;
    claim(&store, "a", 3).await;
}

/// While the session lease is live, its owner gets the expired activity again.
pub async fn test_activity_lock_expires_session_lock_valid_same_worker_refetches(
    factory: &dyn ProviderFactory,
) {
    let store = store_with(factory, &[Some("s")]).await;
    let leases = Leases { activity: store.lease(), session: FOREVER };
    let lost = claim_for(&store, "a", 1, leases).await;
    claims_nothing(&store, "a", "the activity runs").await;
    store.expire().await;
    claims_nothing(&store, "b", "the session is owned by a").await;
    let again = claim_for(&store, "a", 1, leases).await;
    assert_eq!(again.attempt, 2);
    assert_ne!(again.token, lost.token, "every lease has its own token");
}

/// When the session expired too, the next owner gets the expired activity.
pub async fn test_session_lock_expires_new_owner_gets_redelivery(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s"), Some("s")]).await;
    let lost = claim(&store, "a", 1).await;
    store.expire().await;
    assert_eq!(claim(&store, "b", 1).await.attempt, 2);
    let late = store.provider.ack_work_item(&lost.token, None).await;
    late.must_fail_for_good("completing an activity that another worker runs");
    claims_nothing(&store, "a", "the session is owned by b").await;
    claim(&store, "b", 2).await;
}

/// When the session expired too, the former owner can claim it and the expired activity again.
pub async fn test_session_lock_expires_same_worker_reacquires(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s"), Some("s")]).await;
    claim(&store, "a", 1).await;
    store.expire().await;
    assert_eq!(claim(&store, "a", 1).await.attempt, 2);
    claims_nothing(&store, "b", "a owns the session again").await;
}

/// After both leases expired, the first worker that fetches owns session and activity.
pub async fn test_both_locks_expire_different_worker_claims(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s")]).await;
    claim(&store, "a", 1).await;
    claims_nothing(&store, "b", "the session is owned by a").await;
    store.expire().await;
    let again = claim(&store, "b", 1).await;
    assert_eq!(again.attempt, 2);
    claims_nothing(&store, "a", "the session is owned by b").await;
    finish(&store, &again).await;
}

/// The lease of the activity does not depend on the lease of the session.
pub async fn test_session_lock_expires_activity_lock_valid_ack_succeeds(
    factory: &dyn ProviderFactory,
) {
    let store = store_with(factory, &[Some("s")]).await;
    store.create("worked").await;
    let leases = Leases { activity: FOREVER, session: store.lease() };
    let work = claim_for(&store, "a", 1, leases).await;
    store.expire().await;
    claims_nothing(&store, "b", "the activity runs").await;
    finish(&store, &work).await;
    let turn = store.turn_of("worked").await;
    assert_eq!(turn.item.messages.len(), 1, "the completion has arrived");
}

/// A new owner gets queued activities, not those that still run on the former owner.
pub async fn test_new_session_owner_gets_no_leased_items(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s"), Some("s")]).await;
    let leases = Leases { activity: FOREVER, session: store.lease() };
    let running = claim_for(&store, "a", 1, leases).await;
    store.expire().await;
    claim(&store, "b", 2).await;
    claims_nothing(&store, "b", "the first activity runs on a").await;
    finish(&store, &running).await;
}

/// Redelivered activities keep their queue order and come before later ones.
pub async fn test_redelivery_keeps_session_order(factory: &dyn ProviderFactory) {
    let store = store_with(factory, &[Some("s"), Some("s"), Some("s")]).await;
    let first = claim(&store, "a", 1).await;
    claim(&store, "a", 2).await;
    // The lease of the first activity expires after that of the second.
    let longer = store.provider.renew_work_item_lock(&first.token, store.lease() * 3 / 2).await;
    longer.must("renewing the lease of an activity");
    store.pass(store.lease() * 2).await;
    for expected in 1..=3 {
        claim(&store, "b", expected).await;
    }
}
