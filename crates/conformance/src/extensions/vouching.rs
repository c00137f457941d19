//! Which lost leases do not count as attempts.

use crate::ProviderFactory;
use crate::support::{Must, Store, activity, commit, signal, start_item, started};

/// Leases whose holder vouched for an activity are counted with the activity, for as long as it is
/// queued.
pub async fn vouched_leases_stay_with_their_activity<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    store.send_work(activity("a", 2)).await;
    let (work, other) = (store.work().await, store.work().await);
    assert_eq!(vouch(&store, &work.token, 0).await, 0, "none was vouched for yet");
    assert_eq!(vouch(&store, &work.token, 1).await, 1);
    assert_eq!(vouch(&store, &other.token, 0).await, 0, "the other activity has its own count");
    store.provider.ack_work_item(&other.token, None).await.must("completing an activity");
    store.expire().await;
    let next = store.work().await;
    assert_eq!(vouch(&store, &next.token, 0).await, 1, "the count outlives the lease");
    assert_eq!(vouch(&store, &next.token, 2).await, 3);
    let abandoned = store.provider.abandon_work_item(&next.token, None, false).await;
    abandoned.must("abandoning an activity");
    let last = store.work().await;
    assert_eq!(vouch(&store, &last.token, 0).await, 3, "the count outlives a release");
}

/// Only the holder of an activity can vouch for it.
pub async fn a_lost_activity_cannot_be_vouched_for<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    let old = store.work().await;
    store.expire().await;
    let new = store.work().await;
    let late = store.provider.vouch_for_work_item(&old.token, 1).await;
    late.must_fail_for_good("vouching for an activity that another worker holds");
    assert_eq!(vouch(&store, &new.token, 0).await, 0, "a refusal counts nothing");
    store.provider.ack_work_item(&new.token, None).await.must("completing an activity");
    let late = store.provider.vouch_for_work_item(&new.token, 1).await;
    late.must_fail_for_good("vouching for a completed activity");
}

/// A lease that is lost before the code of its turn runs is excused, but for every tenth.
pub async fn a_turn_that_did_not_run_is_excused<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    for attempt in 1..=12 {
        let turn = store.turn_of("a").await;
        assert_eq!(turn.attempt, attempt, "every fetch is an attempt");
        let lost = attempt - 1;
        assert_eq!(mark(&store, &turn.token, false).await, lost - lost / 10);
        store.expire().await;
    }
}

/// A lease that is lost while the code of its turn runs counts, and so does the first lease if that
/// happens to the second.
pub async fn a_turn_that_ran_is_not_excused<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    store.turn_of("a").await;
    store.expire().await;
    let second = store.turn_of("a").await;
    assert_eq!(mark(&store, &second.token, true).await, 1, "only the first lease is lost yet");
    store.expire().await;
    let third = store.turn_of("a").await;
    assert_eq!(mark(&store, &third.token, false).await, 0, "the second lease judges the first");
    store.expire().await;
    let fourth = store.turn_of("a").await;
    assert_eq!(mark(&store, &fourth.token, true).await, 1, "the third lease did not run");
    store.expire().await;
    let fifth = store.turn_of("a").await;
    assert_eq!(mark(&store, &fifth.token, true).await, 1, "the fourth lease counts only itself");
    store.ack(commit(&fifth, vec![started("a", 1)])).await.must("the commit of a marked turn");
    store.send(signal("a", "1")).await;
    let next = store.turn_of("a").await;
    assert_eq!((next.attempt, mark(&store, &next.token, false).await), (1, 0));
}

/// A mark can be removed, and ends with its lease.
pub async fn a_mark_ends_with_its_lease<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let removed = store.turn_of("a").await;
    mark(&store, &removed.token, true).await;
    mark(&store, &removed.token, false).await;
    store.expire().await;
    let released = store.turn_of("a").await;
    assert_eq!(mark(&store, &released.token, true).await, 1, "its mark was removed");
    let abandoned = store.provider.abandon_orchestration_item(&released.token, None, true).await;
    abandoned.must("abandoning a turn");
    let fresh = store.turn_of("a").await;
    assert_eq!(fresh.attempt, 2, "the release does not count");
    store.expire().await;
    let last = store.turn_of("a").await;
    assert_eq!(mark(&store, &last.token, false).await, 2, "a new lease has no mark");
    let late = store.provider.mark_turn_running(&fresh.token, true).await;
    late.must_fail_for_good("marking a turn that another caller holds");
    store.expire().await;
    let after = store.turn_of("a").await;
    assert_eq!(mark(&store, &after.token, false).await, 3, "a refused mark changes nothing");
}

/// Attempts belong to messages: a later one has fewer, and the highest number that is left counts.
pub async fn excused_attempts_belong_to_messages<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.send(signal("a", "early")).await;
    for _lost in 0..3 {
        store.turn_of("a").await;
        store.expire().await;
    }
    store.send(signal("a", "late")).await;
    let both = store.turn_of("a").await;
    assert_eq!((both.attempt, both.item.messages.len()), (4, 2));
    assert_eq!(mark(&store, &both.token, true).await, 3, "one attempt of either is left");
    store.expire().await;
    let again = store.turn_of("a").await;
    assert_eq!(again.attempt, 5);
    assert_eq!(mark(&store, &again.token, false).await, 3, "two attempts of either are left");
}

async fn vouch<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, token: &str, leases: u32) -> u32 {
    let vouched = store.provider.vouch_for_work_item(token, leases).await;
    vouched.must("vouching for an activity")
}

async fn mark<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, token: &str, runs: bool) -> u32 {
    store.provider.mark_turn_running(token, runs).await.must("marking a turn")
}
