//! Schedule-to-start limits: when an activity is overdue, and what counts as a start.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{
    FetchedWork, OverdueFetch, ProviderCapability, ScheduledActivity, SessionFetchConfig,
    WorkFetch, WorkItem, WorkSlot,
};

use crate::ProviderFactory;
use crate::limits::{CLOCK_SLACK, SETTLE_TIME, WAKE_TIME_MAX};
use crate::support::{Must, Store, activity, commit, completed, start_item, started};

const ANY_WORKER: WorkSlot = WorkSlot::new(None);

/// An activity with a tag and a session that no worker serves.
fn unserved(id: u64) -> WorkItem {
    let mut item = activity("a", id);
    if let WorkItem::ActivityExecute { session_id, tag, .. } = &mut item {
        *session_id = Some("session".to_owned());
        *tag = Some("gpu".to_owned());
    }
    item
}

fn activity_id(item: &WorkItem) -> Option<u64> {
    if let WorkItem::ActivityExecute { id, .. } = item { Some(*id) } else { None }
}

impl<F: ProviderFactory + ?Sized> Store<'_, F> {
    /// Commits a turn of a new instance `a` that schedules activities with limits.
    async fn schedule_limited(&self, items: Vec<WorkItem>, limits: &[(u64, Duration)]) {
        assert!(
            self.provider.capabilities().has(ProviderCapability::StartLimits),
            "the provider declares that it keeps no limits"
        );
        self.send(start_item("a")).await;
        let turn = self.turn_of("a").await;
        let limited = |item: WorkItem| {
            let own = |(id, _): &&(u64, Duration)| activity_id(&item) == Some(*id);
            let limit = limits.iter().find(own).map(|(_, limit)| *limit);
            let activity = ScheduledActivity::new(item);
            limit.into_iter().fold(activity, ScheduledActivity::with_start_limit)
        };
        let scheduling =
            commit(&turn, vec![started("a", 1)]).with_activities(items.into_iter().map(limited));
        let committed = self.provider.commit_turn(Arc::new(scheduling)).await;
        committed.must("a commit with schedule-to-start limits");
    }

    async fn overdue(&self) -> Vec<FetchedWork> {
        self.overdue_up_to(10).await
    }

    async fn overdue_up_to(&self, work_max: usize) -> Vec<FetchedWork> {
        let (lock_timeout, poll_timeout) = (self.lease(), Duration::ZERO);
        let request = OverdueFetch::new(work_max, lock_timeout).with_poll_timeout(poll_timeout);
        self.provider.fetch_overdue_work(request).await.must("fetching overdue activities")
    }

    async fn fetch_as(&self, slot: WorkSlot) -> Option<FetchedWork> {
        let slots = [slot];
        let request = WorkFetch::new(&slots, self.lease());
        let fetched = self.provider.fetch_work_items(request).await;
        fetched.must("fetching an activity").pop()
    }

    async fn fetch_any(&self) -> FetchedWork {
        self.fetch_as(ANY_WORKER).await.expect("an activity must be fetchable")
    }
}

/// An activity that no worker leased in time is fetched as overdue, whatever its tag and session,
/// by one caller at a time and until it is completed. An activity without a limit never is.
pub async fn an_unstarted_activity_becomes_overdue<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let limit = store.lease();
    store.schedule_limited(vec![unserved(2), activity("a", 3)], &[(2, limit)]).await;
    assert!(store.overdue().await.is_empty(), "the limit has not expired");
    store.expire().await;
    let overdue = store.overdue().await;
    let [first] = overdue.as_slice() else { panic!("one activity is overdue: {overdue:?}") };
    assert_eq!((&first.item, first.overdue), (&unserved(2), Some(limit)));
    assert!(store.overdue().await.is_empty(), "the activity is leased");

    store.expire().await;
    let again = store.overdue().await;
    let [again] = again.as_slice() else {
        panic!("an expired overdue lease is not a start: {again:?}")
    };
    assert_eq!((&again.item, again.overdue), (&unserved(2), Some(limit)));
    let stale = store.provider.ack_work_item(&first.lock_token, None).await;
    stale.must_fail_for_good("completing under a lease that was lost");
    let failed = completed("a", 2);
    let completed_late =
        store.provider.ack_work_item(&again.lock_token, Some(failed.clone())).await;
    completed_late.must("completing an overdue activity");
    assert_eq!(store.turn_of("a").await.item.messages, vec![failed]);
    store.expire().await;
    assert!(store.overdue().await.is_empty(), "the activity is completed");
}

/// A lease counts as a start and satisfies the limit, however the lease ends.
pub async fn a_started_activity_is_never_overdue<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let limit = store.lease() + CLOCK_SLACK;
    let items = vec![activity("a", 2), activity("a", 3)];
    store.schedule_limited(items, &[(2, limit), (3, limit)]).await;
    let first = store.fetch_any().await;
    assert_eq!((&first.item, first.overdue), (&activity("a", 2), None));
    let second = store.fetch_any().await;
    let abandoned = store.provider.abandon_work_item(&second.lock_token, None, true).await;
    abandoned.must("abandoning an activity");
    store.pass(limit).await;
    store.expire().await;
    assert!(store.overdue().await.is_empty(), "both have been started");
    for _ in 0..2 {
        assert_eq!(store.fetch_any().await.overdue, None, "the activity has been started");
    }
    store.expire().await;
    assert!(store.overdue().await.is_empty(), "a second lease does not restore the limit");
}

/// A lease by the commit that schedules the activity counts as a start like any other.
pub async fn a_lease_by_the_commit_is_a_start<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    let limit = store.lease();
    let scheduling = commit(&turn, vec![started("a", 1)]).with_activities([
        ScheduledActivity::new(activity("a", 2)).with_start_limit(limit).with_lease(limit),
        ScheduledActivity::new(activity("a", 3)).with_start_limit(limit),
    ]);
    let committed = store.provider.commit_turn(Arc::new(scheduling)).await.must("a commit");
    assert_eq!(committed.leased.len(), 1, "one lease was requested: {committed:?}");
    store.expire().await;
    let overdue = store.overdue().await;
    let items: Vec<_> = overdue.iter().map(|work| &work.item).collect();
    assert_eq!(items, [&activity("a", 3)], "the other activity has been started");
    assert_eq!(store.fetch_any().await.overdue, None, "the activity has been started");
}

/// A lease that is returned unstarted does not count as a start. The delay does not extend the
/// limit.
pub async fn an_activity_returned_unstarted_keeps_its_limit<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    let limit = store.lease();
    store.schedule_limited(vec![activity("a", 2)], &[(2, limit)]).await;
    let work = store.fetch_any().await;
    let delay = Some(limit * 100);
    let back = store.provider.return_unstarted_work_item(&work.lock_token, delay, false).await;
    back.must("returning an activity unstarted");
    assert!(store.fetch_as(ANY_WORKER).await.is_none(), "the activity is hidden");
    assert!(store.overdue().await.is_empty(), "the limit has not expired");
    store.expire().await;
    let overdue = store.overdue().await;
    let [work] = overdue.as_slice() else { panic!("the activity was never started: {overdue:?}") };
    assert_eq!((work.overdue, work.attempt_count), (Some(limit), 2));
    let unknown = store.provider.return_unstarted_work_item("no-such-token", None, false).await;
    unknown.must_fail("returning under an unknown token");
}

/// A node that returns an activity unstarted does not undo the start of an earlier attempt.
pub async fn a_start_survives_a_later_unstarted_lease<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let limit = store.lease() * 3;
    store.schedule_limited(vec![activity("a", 2)], &[(2, limit)]).await;
    store.fetch_any().await;
    store.expire().await;
    let second = store.fetch_any().await;
    let back = store.provider.return_unstarted_work_item(&second.lock_token, None, true).await;
    back.must("returning an activity unstarted");
    store.pass(limit).await;
    assert!(store.overdue().await.is_empty(), "the first lease counts as the start");
}

/// A worker that fetches too late learns that the limit expired, and its lease does not count as a
/// start.
pub async fn a_late_fetch_reports_the_expired_limit<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let limit = store.lease();
    store.schedule_limited(vec![activity("a", 2)], &[(2, limit)]).await;
    store.expire().await;
    assert_eq!(store.fetch_any().await.overdue, Some(limit));
    assert!(store.overdue().await.is_empty(), "the activity is leased");
    store.expire().await;
    assert_eq!(store.overdue().await.len(), 1, "the activity was not started");
}

/// Fetching an overdue activity of a session does not claim the session.
pub async fn an_overdue_fetch_claims_no_session<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.schedule_limited(vec![unserved(2), unserved(3)], &[(2, store.lease())]).await;
    store.expire().await;
    assert_eq!(store.overdue().await.len(), 1);
    let owner_id = "worker".to_owned();
    let session = Some(SessionFetchConfig { owner_id, lock_timeout: store.lease() });
    let work = store.fetch_as(WorkSlot::new(session)).await;
    assert_eq!(work.map(|work| work.item), Some(unserved(3)), "the session is free");
}

/// A fetch returns at most the requested number, the longest overdue first.
pub async fn overdue_activities_come_longest_overdue_first<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    let lease = store.lease();
    let items = vec![activity("a", 2), activity("a", 3), activity("a", 4)];
    let limits = [(2, lease), (3, lease / 4), (4, lease / 2)];
    store.schedule_limited(items, &limits).await;
    store.expire().await;
    assert!(store.overdue_up_to(0).await.is_empty(), "nothing was requested");
    let mut found = store.overdue_up_to(2).await;
    assert_eq!(found.len(), 2);
    found.extend(store.overdue_up_to(2).await);
    let items: Vec<_> = found.into_iter().map(|work| work.item).collect();
    assert_eq!(items, [activity("a", 3), activity("a", 4), activity("a", 2)]);
}

/// A waiting fetch wakes when a limit expires, also one that was added during the wait.
pub async fn a_waiting_overdue_fetch_sees_time_pass<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let lease = store.lease();
    let waiting = tokio::spawn({
        let provider = Arc::clone(&store.provider);
        let poll_timeout = WAKE_TIME_MAX * 4;
        let request = OverdueFetch::new(10, lease).with_poll_timeout(poll_timeout);
        async move { provider.fetch_overdue_work(request).await }
    });
    tokio::time::sleep(SETTLE_TIME).await;
    store.schedule_limited(vec![unserved(2)], &[(2, lease)]).await;
    tokio::time::sleep(SETTLE_TIME).await;
    assert!(!waiting.is_finished(), "nothing is overdue yet");
    store.expire().await;
    let found = tokio::time::timeout(WAKE_TIME_MAX, waiting).await;
    let found = found.expect("a waiting fetch missed an expired limit");
    let found = found.expect("a waiting fetch must not panic").must("a waiting fetch");
    assert_eq!(found.first().map(|work| &work.item), Some(&unserved(2)));
}
