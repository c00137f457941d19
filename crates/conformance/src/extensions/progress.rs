//! The store keeps the progress of a running activity for clients and for the next attempt.

use duroxide_core::providers::{
    ActivityProgress, ChangeScope, FetchFilter, FetchedWork, ScheduledActivityIdentifier,
    TagFilter, WorkFetch, WorkSlot,
};

use crate::ProviderFactory;
use crate::limits::WAKE_TIME_MAX;
use crate::support::{Must, Store, activity, commit, completed, start_item, started};

impl<F: ProviderFactory + ?Sized> Store<'_, F> {
    async fn fetched(&self) -> FetchedWork {
        let slots = [WorkSlot::new(None)];
        let filter = FetchFilter::from(&TagFilter::DefaultOnly);
        let request = WorkFetch::new(&slots, self.lease()).with_filter(&filter);
        let mut fetched = self.provider.fetch_work_items(request).await.must("fetching");
        fetched.pop().expect("an activity must be fetchable")
    }

    async fn report(&self, work: &FetchedWork, progress: &str) {
        let kept = self.provider.record_activity_progress(&work.lock_token, progress).await;
        kept.must("a report under a live lease");
    }

    async fn progress(&self, instance: &str) -> Vec<ActivityProgress> {
        self.provider.read_activity_progress(instance).await.must("reading progress")
    }
}

/// Each activity has its own progress, and the last report replaces the earlier ones.
pub async fn the_last_progress_report_is_kept<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for item in [activity("a", 1), activity("a", 2), activity("b", 1)] {
        store.send_work(item).await;
    }
    let (first, second) = (store.fetched().await, store.fetched().await);
    assert_eq!(first.progress, None, "no progress was reported");
    assert!(store.progress("a").await.is_empty());
    store.report(&first, "10 of 100").await;
    store.report(&second, "").await;
    store.report(&first, "20 of 100").await;
    let reported = store.progress("a").await;
    let [one, two] = reported.as_slice() else {
        panic!("two activities have reported: {reported:?}")
    };
    assert_eq!((one.execution_id, one.activity_id), (1, 1));
    assert_eq!((one.activity_name.as_str(), one.attempt), ("TestActivity", 1));
    assert_eq!((one.progress.as_str(), two.progress.as_str()), ("20 of 100", ""));
    assert!(one.updated_at_ms.abs_diff(store.now_ms()) < 60_000, "the time is real: {one:?}");
    assert!(store.progress("b").await.is_empty(), "the other instance has reported nothing");
}

/// Without a live lease a report fails permanently and is not stored.
pub async fn progress_needs_a_live_lease<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    let first = store.fetched().await;
    store.report(&first, "mine").await;
    let unknown = store.provider.record_activity_progress("no-such-token", "x").await;
    unknown.must_fail_for_good("a report under an unknown token");
    store.expire().await;
    let late = store.provider.record_activity_progress(&first.lock_token, "x").await;
    late.must_fail_for_good("a report after the lease expired");
    let second = store.fetched().await;
    let lost = store.provider.record_activity_progress(&first.lock_token, "x").await;
    lost.must_fail_for_good("a report under a lease that another worker holds");
    assert_eq!(second.progress.as_deref(), Some("mine"), "no refused report was stored");
}

/// The next attempt gets the last report, whether the lease expired or was released.
pub async fn the_next_attempt_gets_the_last_progress<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    let first = store.fetched().await;
    store.report(&first, "one").await;
    store.expire().await;
    assert_eq!(
        store.progress("a").await.len(),
        1,
        "the progress stays while the activity is not leased"
    );
    let second = store.fetched().await;
    assert_eq!((second.progress.as_deref(), second.attempt_count), (Some("one"), 2));
    let abandoned = store.provider.abandon_work_item(&second.lock_token, None, false).await;
    abandoned.must("abandoning an activity");
    let third = store.fetched().await;
    assert_eq!(third.progress.as_deref(), Some("one"));
    store.report(&third, "three").await;
    let reported = store.progress("a").await;
    assert_eq!(
        reported.first().map(|reported| (reported.progress.as_str(), reported.attempt)),
        Some(("three", 3))
    );
}

/// Progress is deleted when its activity completes and when it is cancelled.
pub async fn progress_is_deleted_with_its_activity<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    let scheduling = commit(&turn, vec![started("a", 1)])
        .with_activities(vec![activity("a", 2), activity("a", 3)]);
    store.ack(scheduling).await.must("a commit");
    let (first, second) = (store.fetched().await, store.fetched().await);
    store.report(&first, "x").await;
    store.report(&second, "x").await;
    let result = Some(completed("a", 2));
    store.provider.ack_work_item(&first.lock_token, result).await.must("completing an activity");
    let reported = store.progress("a").await;
    assert_eq!(reported.iter().map(|reported| reported.activity_id).collect::<Vec<_>>(), [3]);

    let turn = store.turn_of("a").await;
    let instance = "a".to_owned();
    let second_id = ScheduledActivityIdentifier { instance, execution_id: 1, activity_id: 3 };
    let cancelling = commit(&turn, vec![]).with_cancelled_activities(vec![second_id]);
    store.ack(cancelling).await.must("a commit that cancels");
    assert!(store.progress("a").await.is_empty());
    let late = store.provider.record_activity_progress(&second.lock_token, "x").await;
    late.must_fail_for_good("a report of a cancelled activity");
}

/// A watch of an instance reports the progress of its activities.
pub async fn a_watch_sees_progress<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    let work = store.fetched().await;
    let watch = store.provider.watch(ChangeScope::Instance("a"));
    let mut watch = watch.expect("a provider that publishes changes returns watches");
    store.report(&work, "half").await;
    let seen = tokio::time::timeout(WAKE_TIME_MAX, watch.changed()).await;
    seen.expect("a watch missed a progress report");
}
