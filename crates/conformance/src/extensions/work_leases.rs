//! A commit can enqueue activities under a lease of the caller, as if the caller had fetched them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{CommittedTurn, SessionFetchConfig, TagFilter, WorkItem};

use super::waiting::{settle, wait_for_work, woken};
use crate::ProviderFactory;
use crate::support::{
    Must, Store, activity, commit, completed, heard, identified, leasing, signal, start_item,
    started,
};

/// Commits the first turn of "a", which schedules activities and requests leases.
async fn scheduled<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    work: Vec<WorkItem>,
    leased: &[usize],
) -> CommittedTurn {
    scheduled_for(store, work, leased, store.lease()).await
}

/// The same with leases of another length.
async fn scheduled_for<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    work: Vec<WorkItem>,
    leased: &[usize],
    lock_timeout: Duration,
) -> CommittedTurn {
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    let first =
        commit(&turn, vec![started("a", 1)]).with_activities(leasing(work, leased, lock_timeout));
    store.provider.commit_turn(Arc::new(first)).await.must("a commit that leases")
}

/// Schedules activity 2 under a lease of the usual length; its token.
async fn one_leased<F: ProviderFactory + ?Sized>(store: &Store<'_, F>) -> String {
    let committed = scheduled(store, vec![activity("a", 2)], &[0]).await;
    let [leased] = committed.leased.as_slice() else {
        panic!("one lease was requested: {:?}", committed.leased);
    };
    assert_eq!(leased.index, 0);
    leased.lock_token.clone()
}

/// A requested activity is either leased to the caller or can be fetched, never both, and none is
/// lost. This also holds for providers that lease nothing.
pub async fn a_requested_activity_is_leased_or_enqueued<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let work: Vec<_> = (2..6).map(|id| activity("a", id)).collect();
    let committed = scheduled(&store, work.clone(), &[0, 2]).await;
    let leased: BTreeSet<_> = committed.leased.iter().map(|leased| leased.index).collect();
    assert_eq!(leased.len(), committed.leased.len(), "each is leased once");
    assert!(leased.iter().all(|index| [0, 2].contains(index)), "no other lease was requested");
    for (index, item) in work.iter().enumerate() {
        if !leased.contains(&index) {
            let fetched = store.work().await;
            assert_eq!(
                (&fetched.item, fetched.attempt),
                (item, 1),
                "an activity that is not leased is fetchable"
            );
        }
    }
    store.no_work("each activity is leased or queued, not both").await;
}

/// No worker can fetch a leased activity until its lease expires. Then the fetch is a second
/// attempt, and the lease is lost. The lease lasts as long as requested.
pub async fn a_leased_activity_is_not_fetched_by_others<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let length = store.lease() * 2;
    let committed = scheduled_for(&store, vec![activity("a", 2)], &[0], length).await;
    let [leased] = committed.leased.as_slice() else {
        panic!("one lease was requested: {:?}", committed.leased);
    };
    store.no_work("the activity is leased").await;
    store.expire().await;
    store.no_work("the requested lease is twice as long").await;
    store.expire().await;
    let again = store.work().await;
    assert_eq!(
        (&again.item, again.attempt),
        (&activity("a", 2), 2),
        "the lease counts as an attempt"
    );
    assert_ne!(again.token, leased.lock_token, "every lease has its own token");
    let late = store.provider.ack_work_item(&leased.lock_token, Some(completed("a", 2))).await;
    late.must_fail_for_good("completing under a lost lease");
    store.no_turn("a lost lease sends no message").await;
}

/// Each lease has its own token.
pub async fn each_leased_activity_has_a_token<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let work: Vec<_> = (2..5).map(|id| activity("a", id)).collect();
    let committed = scheduled(&store, work, &[0, 1, 2]).await;
    let tokens: BTreeSet<_> = committed.leased.iter().map(|it| it.lock_token.as_str()).collect();
    assert_eq!(tokens.len(), 3, "three activities, three tokens: {:?}", committed.leased);
    for (leased, id) in committed.leased.iter().zip(2..) {
        assert_eq!(leased.index as u64 + 2, id, "in the order of the commit");
        let finished = store.provider.ack_work_item(&leased.lock_token, Some(completed("a", id)));
        finished.await.must("completing a leased activity");
    }
    let results: Vec<_> = (2..5).map(|id| completed("a", id)).collect();
    assert_eq!(store.turn_of("a").await.item.messages, results);
}

/// Only requested activities are leased; the others can be fetched at once, oldest first.
pub async fn only_requested_activities_are_leased<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let work: Vec<_> = (2..6).map(|id| activity("a", id)).collect();
    let committed = scheduled(&store, work, &[1, 3]).await;
    let leased: Vec<_> = committed.leased.iter().map(|leased| leased.index).collect();
    assert_eq!(leased, [1, 3]);
    for id in [2, 4] {
        let fetched = store.work().await;
        assert_eq!((fetched.item, fetched.attempt), (activity("a", id), 1));
    }
    store.no_work("the other activities are leased").await;
}

/// A lease of a commit is renewed like that of a fetch, counted from the renewal.
pub async fn leased_work_can_be_renewed<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let token = one_leased(&store).await;
    for _ in 0..2 {
        store.pass(store.lease() * 3 / 5).await;
        let renewed = store.provider.renew_work_item_lock(&token, store.lease()).await;
        renewed.must("renewing a lease of a commit");
    }
    store.no_work("the lease was renewed beyond its first expiry").await;
    store.expire().await;
    let late = store.provider.renew_work_item_lock(&token, store.lease()).await;
    late.must_fail("renewing an expired lease");
    assert_eq!(store.work().await.attempt, 2);
}

/// An activity under a lease of a commit completes like a fetched one: once, and its orchestration
/// gets the result.
pub async fn leased_work_can_be_completed<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let token = one_leased(&store).await;
    let finished = store.provider.ack_work_item(&token, Some(completed("a", 2))).await;
    finished.must("completing a leased activity");
    assert_eq!(store.turn_of("a").await.item.messages, vec![completed("a", 2)]);
    let again = store.provider.ack_work_item(&token, Some(completed("a", 2))).await;
    again.must_fail_for_good("completing it again");
    store.expire().await;
    store.no_work("the activity is completed").await;
}

/// A leased activity is abandoned like a fetched one: it is hidden for the delay, and the attempt
/// is undone on request.
pub async fn leased_work_can_be_abandoned<F: ProviderFactory + ?Sized>(factory: &F) {
    for (ignore_attempt, next_attempt) in [(true, 1), (false, 2)] {
        let store = Store::open(factory).await;
        let token = one_leased(&store).await;
        let delay = Some(store.lease());
        let abandoned = store.provider.abandon_work_item(&token, delay, ignore_attempt).await;
        abandoned.must("abandoning a leased activity");
        store.no_work("the activity was abandoned with a delay").await;
        let late = store.provider.renew_work_item_lock(&token, store.lease()).await;
        late.must_fail("renewing an abandoned activity");
        store.expire().await;
        let again = store.work().await;
        assert_eq!((again.item, again.attempt), (activity("a", 2), next_attempt));
    }
}

/// After its lease expires an activity goes to workers that serve its tag.
pub async fn leased_work_keeps_its_tag<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let mut tagged = activity("a", 2);
    if let WorkItem::ActivityExecute { tag, .. } = &mut tagged {
        *tag = Some("gpu".to_owned());
    }
    let committed = scheduled(&store, vec![tagged.clone()], &[0]).await;
    assert_eq!(committed.leased.len(), 1, "the caller decides which tags it serves");
    store.expire().await;
    store.no_work("the activity has a tag").await;
    let found = store.try_work_as(None, &TagFilter::tags(["gpu"])).await;
    assert_eq!(found.map(|work| (work.item, work.attempt)), Some((tagged, 2)));
}

/// A requested activity of a session is enqueued instead, because only a fetch claims a session.
pub async fn an_activity_of_a_session_is_not_leased<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let mut bound = activity("a", 2);
    if let WorkItem::ActivityExecute { session_id, .. } = &mut bound {
        *session_id = Some("s".to_owned());
    }
    let committed = scheduled(&store, vec![bound.clone(), activity("a", 3)], &[0, 1]).await;
    let leased: Vec<_> = committed.leased.iter().map(|leased| leased.index).collect();
    assert_eq!(leased, [1], "the other activity is leased");
    store.no_work("a worker without sessions does not get the activity").await;
    let owner = SessionFetchConfig { owner_id: "x".to_owned(), lock_timeout: store.lease() };
    let found = store.try_work_as(Some(&owner), &TagFilter::DefaultOnly).await;
    assert_eq!(found.map(|work| (work.item, work.attempt)), Some((bound, 1)));
}

/// A leased activity is cancelled like any other, by its own commit or by a later one. Its lease is
/// lost, and no worker gets it.
pub async fn leased_work_can_be_cancelled<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    let work = vec![activity("a", 2), activity("a", 3)];
    let first = commit(&turn, vec![started("a", 1)])
        .with_activities(leasing(work, &[0, 1], store.lease()))
        .with_cancelled_activities(vec![identified("a", 2)]);
    let first = store.provider.commit_turn(Arc::new(first)).await.must("a commit that leases");
    let other = first.leased.iter().find(|leased| leased.index == 1);
    let other = &other.expect("the other activity is leased").lock_token;
    store.all_held(std::slice::from_ref(other), "the lease of the other activity").await;

    store.send(signal("a", "stop")).await;
    let turn = store.turn_of("a").await;
    let second =
        commit(&turn, vec![heard("a", 1, 2)]).with_cancelled_activities(vec![identified("a", 3)]);
    store.provider.commit_turn(Arc::new(second)).await.must("a commit that cancels");
    for leased in &first.leased {
        let renewed = store.provider.renew_work_item_lock(&leased.lock_token, store.lease()).await;
        renewed.must_fail("renewing the lease of a cancelled activity");
        let finished = store.provider.ack_work_item(&leased.lock_token, None).await;
        finished.must_fail_for_good("completing a cancelled activity");
    }
    store.expire().await;
    store.no_work("both were cancelled").await;
}

/// A refused commit leases nothing and enqueues nothing.
pub async fn a_refused_commit_leases_nothing<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.send(signal("a", "1")).await;
    let turn = store.turn_of("a").await;
    let valid = commit(&turn, vec![heard("a", 1, 2)]).with_activities(leasing(
        vec![activity("a", 3)],
        &[0],
        store.lease(),
    ));
    let duplicate = valid.clone().with_history_delta(vec![started("a", 1)]);
    let unknown = valid.clone().with_lock_token("no-such-token".to_owned());
    for (doomed, why) in [(duplicate, "an event that is stored"), (unknown, "an unknown token")] {
        store.provider.commit_turn(Arc::new(doomed)).await.must_fail_for_good(why);
    }
    store.expire().await;
    store.no_work("a refused commit leaves no activity, leased or not").await;
}

/// A fetch that waits since before the commit wakes when a lease of the commit expires.
pub async fn a_waiting_fetch_sees_a_commits_lease_expire<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let waiting = wait_for_work(&store.provider, store.lease());
    settle().await;
    one_leased(&store).await;
    settle().await;
    assert!(!waiting.is_finished(), "no other worker gets a leased activity");
    store.expire().await;
    let work = woken(waiting, "an expired lease of a commit").await;
    assert_eq!((work.item, work.attempt), (activity("a", 2), 2));
}
