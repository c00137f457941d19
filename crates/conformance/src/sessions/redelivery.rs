//! Activities of a session that are handed out again.

use super::workers::{FOREVER, Leases, finish, holding, nothing, taken, taken_for};
use crate::ProviderFactory;
use crate::support::{Must, Store, Work};

async fn give_back<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    work: &Work,
    ignore_attempt: bool,
) {
    let given_back = store.provider.abandon_work_item(&work.token, None, ignore_attempt).await;
    given_back.must("giving an activity back");
}

/// An activity that its owner gives back is for the owner again.
pub async fn test_abandoned_session_item_retryable(factory: &dyn ProviderFactory) {
    let store = holding(factory, &[Some("s")]).await;
    let work = taken(&store, "a", 1).await;
    give_back(&store, &work, false).await;
    nothing(&store, "b", "the session is owned by a").await;
    let again = taken(&store, "a", 1).await;
    assert_eq!(again.attempt, 2);
    assert_eq!(again.item, work.item);
}

/// Giving back can undo the attempt.
pub async fn test_abandoned_session_item_ignore_attempt(factory: &dyn ProviderFactory) {
    let store = holding(factory, &[Some("s")]).await;
    let work = taken(&store, "a", 1).await;
    give_back(&store, &work, true).await;
    nothing(&store, "b", "the session is owned by a").await;
    assert_eq!(taken(&store, "a", 1).await.attempt, 1);
}

/// The former owner may be the one that takes an expired session.
pub async fn test_original_worker_reclaims_expired_session(factory: &dyn ProviderFactory) {
    let store = holding(factory, &[Some("s"), Some("s"), Some("s")]).await;
    finish(&store, &taken(&store, "a", 1).await).await;
    store.expire().await;
    taken(&store, "a", 2).await;
    nothing(&store, "b", "a owns the session again").await;
    taken(&store, "a", 3).await;
}

/// While the session lives its owner gets what was lost.
pub async fn test_activity_lock_expires_session_lock_valid_same_worker_refetches(
    factory: &dyn ProviderFactory,
) {
    let store = holding(factory, &[Some("s")]).await;
    let leases = Leases { activity: store.lease(), session: FOREVER };
    let lost = taken_for(&store, "a", 1, leases).await;
    nothing(&store, "a", "the activity runs").await;
    store.expire().await;
    nothing(&store, "b", "the session is owned by a").await;
    let again = taken_for(&store, "a", 1, leases).await;
    assert_eq!(again.attempt, 2);
    assert_ne!(again.token, lost.token, "a lease is not handed out twice");
}

/// When the session is over as well, the next owner gets what was lost.
pub async fn test_session_lock_expires_new_owner_gets_redelivery(factory: &dyn ProviderFactory) {
    let store = holding(factory, &[Some("s"), Some("s")]).await;
    let lost = taken(&store, "a", 1).await;
    store.expire().await;
    assert_eq!(taken(&store, "b", 1).await.attempt, 2);
    let late = store.provider.ack_work_item(&lost.token, None).await;
    late.must_fail_for_good("finishing an activity that someone else runs");
    nothing(&store, "a", "the session is owned by b").await;
    taken(&store, "b", 2).await;
}

/// When the session is over as well, the former owner may get what was lost.
pub async fn test_session_lock_expires_same_worker_reacquires(factory: &dyn ProviderFactory) {
    let store = holding(factory, &[Some("s"), Some("s")]).await;
    taken(&store, "a", 1).await;
    store.expire().await;
    assert_eq!(taken(&store, "a", 1).await.attempt, 2);
    nothing(&store, "b", "a owns the session again").await;
}

/// Whoever asks first after both leases ran out owns session and activity.
pub async fn test_both_locks_expire_different_worker_claims(factory: &dyn ProviderFactory) {
    let store = holding(factory, &[Some("s")]).await;
    taken(&store, "a", 1).await;
    nothing(&store, "b", "the session is owned by a").await;
    store.expire().await;
    let again = taken(&store, "b", 1).await;
    assert_eq!(again.attempt, 2);
    nothing(&store, "a", "the session is owned by b").await;
    finish(&store, &again).await;
}

/// The lease of the session does not govern the lease of the activity.
pub async fn test_session_lock_expires_activity_lock_valid_ack_succeeds(
    factory: &dyn ProviderFactory,
) {
    let store = holding(factory, &[Some("s")]).await;
    store.create("worked").await;
    let leases = Leases { activity: FOREVER, session: store.lease() };
    let work = taken_for(&store, "a", 1, leases).await;
    store.expire().await;
    nothing(&store, "b", "the activity runs").await;
    finish(&store, &work).await;
    let turn = store.turn_of("worked").await;
    assert_eq!(turn.item.messages.len(), 1, "the completion has arrived");
}

/// A new owner gets what waits, not what still runs on the former one.
pub async fn test_taken_over_session_leaves_leased_items_alone(factory: &dyn ProviderFactory) {
    let store = holding(factory, &[Some("s"), Some("s")]).await;
    let leases = Leases { activity: FOREVER, session: store.lease() };
    let running = taken_for(&store, "a", 1, leases).await;
    store.expire().await;
    taken(&store, "b", 2).await;
    nothing(&store, "b", "the first activity runs on a").await;
    finish(&store, &running).await;
}

/// What is handed out again comes in the order it was enqueued, before what came later.
pub async fn test_redelivery_keeps_session_order(factory: &dyn ProviderFactory) {
    let store = holding(factory, &[Some("s"), Some("s"), Some("s")]).await;
    let first = taken(&store, "a", 1).await;
    taken(&store, "a", 2).await;
    // The lease of the first ends after that of the second.
    let longer = store.provider.renew_work_item_lock(&first.token, store.lease() * 3 / 2).await;
    longer.must("renewing the lease of an activity");
    store.pass(store.lease() * 2).await;
    for expected in 1..=3 {
        taken(&store, "b", expected).await;
    }
}
