//! Activities go to workers that serve their tag.

use std::time::Duration;

use duroxide_core::providers::{SessionFetchConfig, TagFilter, WorkItem};

use crate::ProviderFactory;
use crate::limits::CLOCK_SLACK;
use crate::support::{Must, Store, Work, activity, commit, completed, start_item, started};

const DELAY: Duration = Duration::from_secs(1);

/// An activity with a tag.
fn tagged(id: u64, tag: &str) -> WorkItem {
    let mut item = activity("tagged", id);
    if let WorkItem::ActivityExecute { tag: place, .. } = &mut item {
        *place = Some(tag.to_owned());
    }
    item
}

type AnyStore<'f> = Store<'f, dyn ProviderFactory + 'f>;

/// A store with one untagged activity (1) and one of each of the tags "gpu" (2) and "disk" (3).
async fn three_kinds(factory: &dyn ProviderFactory) -> AnyStore<'_> {
    let store = Store::open(factory).await;
    for item in [activity("tagged", 1), tagged(2, "gpu"), tagged(3, "disk")] {
        store.send_work(item).await;
    }
    store
}

async fn fetch(store: &AnyStore<'_>, filter: &TagFilter) -> Option<Work> {
    store.try_work_as(None, filter).await
}

fn id(item: &WorkItem) -> u64 {
    let WorkItem::ActivityExecute { id, .. } = item else { panic!("no activity: {item:?}") };
    *id
}

/// The ids of all activities that a filter matches now, in fetch order.
async fn ids(store: &AnyStore<'_>, filter: &TagFilter) -> Vec<u64> {
    let mut ids = Vec::new();
    while let Some(work) = fetch(store, filter).await {
        ids.push(id(&work.item));
    }
    ids
}

/// By default a worker gets activities without a tag.
pub async fn test_default_only_fetches_untagged(factory: &dyn ProviderFactory) {
    let store = three_kinds(factory).await;
    assert_eq!(ids(&store, &TagFilter::default_only()).await, [1]);
}

/// A worker for a tag gets activities with that tag and no others.
pub async fn test_tags_fetches_only_matching(factory: &dyn ProviderFactory) {
    let store = three_kinds(factory).await;
    assert_eq!(ids(&store, &TagFilter::tags(["other"])).await, [0_u64; 0]);
    assert_eq!(ids(&store, &TagFilter::tags(["disk"])).await, [3]);
    assert_eq!(ids(&store, &TagFilter::tags(["gpu"])).await, [2]);
    assert_eq!(ids(&store, &TagFilter::default_only()).await, [1], "left for other workers");
}

/// A worker for a tag and for untagged activities gets both, oldest first.
pub async fn test_default_and_fetches_untagged_and_matching(factory: &dyn ProviderFactory) {
    let store = three_kinds(factory).await;
    store.send_work(activity("tagged", 4)).await;
    assert_eq!(ids(&store, &TagFilter::default_and(["disk"])).await, [1, 3, 4]);
    assert_eq!(ids(&store, &TagFilter::any()).await, [2], "left for other workers");
}

/// A worker that serves nothing gets nothing and blocks no other worker.
pub async fn test_none_filter_returns_nothing(factory: &dyn ProviderFactory) {
    let store = three_kinds(factory).await;
    assert_eq!(ids(&store, &TagFilter::none()).await, [0_u64; 0]);
    let first = fetch(&store, &TagFilter::any()).await.expect("the activities are still fetchable");
    assert_eq!((id(&first.item), first.attempt), (1, 1), "nothing was counted as an attempt");
}

/// A worker for several tags gets all of them, oldest first.
pub async fn test_multi_tag_filter(factory: &dyn ProviderFactory) {
    let store = three_kinds(factory).await;
    store.send_work(tagged(4, "net")).await;
    store.send_work(tagged(5, "gpu")).await;
    assert_eq!(ids(&store, &TagFilter::tags(["gpu", "net"])).await, [2, 4, 5]);
    assert_eq!(ids(&store, &TagFilter::any()).await, [1, 3], "left for other workers");
}

/// A fetched activity equals the enqueued one, including its tag.
pub async fn test_tag_round_trip_preservation(factory: &dyn ProviderFactory) {
    let store = three_kinds(factory).await;
    let long = "ü/ \"'%".repeat(30);
    store.send_work(tagged(4, &long)).await;
    let work = fetch(&store, &TagFilter::tags([long.as_str()])).await.expect("the long tag");
    assert_eq!(work.item, tagged(4, &long));
    let work = fetch(&store, &TagFilter::tags(["gpu"])).await.expect("the tag gpu");
    assert_eq!(work.item, tagged(2, "gpu"));
    let work = fetch(&store, &TagFilter::default_only()).await.expect("the one without a tag");
    assert_eq!(work.item, activity("tagged", 1), "no tag stays no tag");
}

/// A worker for all tags gets all activities, oldest first.
pub async fn test_any_filter_fetches_everything(factory: &dyn ProviderFactory) {
    let store = three_kinds(factory).await;
    assert_eq!(ids(&store, &TagFilter::any()).await, [1, 2, 3]);
}

/// An abandoned activity keeps its tag, with and without a delay.
pub async fn test_tag_survives_abandon_and_refetch(factory: &dyn ProviderFactory) {
    let store = Store::open(factory).await;
    let gpu = TagFilter::tags(["gpu"]);
    store.send_work(tagged(1, "gpu")).await;
    for (attempt, delay) in [(1, None), (2, Some(DELAY))] {
        let work = fetch(&store, &gpu).await.expect("the tag gpu");
        assert_eq!((work.attempt, &work.item), (attempt, &tagged(1, "gpu")));
        let abandoned = store.provider.abandon_work_item(&work.token, delay, false).await;
        abandoned.must("abandoning an activity");
        assert_eq!(
            ids(&store, &TagFilter::default_only()).await,
            [0_u64; 0],
            "the activity has a tag"
        );
        store.pass(delay.map_or(Duration::ZERO, |delay| delay + CLOCK_SLACK)).await;
    }
    assert_eq!(ids(&store, &TagFilter::default_only()).await, [0_u64; 0], "the activity has a tag");
    let work = fetch(&store, &gpu).await.expect("the tag gpu, abandoned twice");
    assert_eq!((work.attempt, work.item), (3, tagged(1, "gpu")));
}

/// An activity whose lease expired keeps its tag.
pub async fn test_tag_survives_lock_expiry(factory: &dyn ProviderFactory) {
    let store = three_kinds(factory).await;
    let gpu = TagFilter::tags(["gpu"]);
    fetch(&store, &gpu).await.expect("the tag gpu");
    store.expire().await;
    assert_eq!(ids(&store, &TagFilter::default_and(["disk"])).await, [1, 3], "not the tag gpu");
    let work = fetch(&store, &gpu).await.expect("the tag gpu, redelivered");
    assert_eq!((work.attempt, work.item), (2, tagged(2, "gpu")));
}

/// Workers with different filters share a store, and each gets its own activities until none is
/// left.
pub async fn test_multi_runtime_tag_isolation(factory: &dyn ProviderFactory) {
    let store = three_kinds(factory).await;
    let filters = [TagFilter::tags(["disk"]), TagFilter::default_only(), TagFilter::tags(["gpu"])];
    for (filter, expected) in filters.iter().zip([3, 1, 2]) {
        let work = fetch(&store, filter).await.expect("each worker has one activity");
        assert_eq!(id(&work.item), expected);
        assert_eq!(ids(&store, filter).await, [0_u64; 0], "each worker has only one activity");
        let done = store.provider.ack_work_item(&work.token, Some(completed("tagged", expected)));
        done.await.must("completing an activity");
    }
    store.expire().await;
    assert_eq!(ids(&store, &TagFilter::any()).await, [0_u64; 0], "no activity is left");
}

/// An activity that a turn schedules keeps its tag.
pub async fn test_tag_preserved_through_ack_orchestration_item(factory: &dyn ProviderFactory) {
    let store = Store::open(factory).await;
    store.send(start_item("tagged")).await;
    let turn = store.turn_of("tagged").await;
    let schedule = commit(&turn, vec![started("tagged", 1)])
        .with_activities(vec![tagged(2, "gpu"), activity("tagged", 3)]);
    store.ack(schedule).await.must("a commit that schedules activities");
    assert_eq!(ids(&store, &TagFilter::default_only()).await, [3]);
    let work = fetch(&store, &TagFilter::tags(["gpu"])).await.expect("the tag gpu");
    assert_eq!(work.item, tagged(2, "gpu"));
}

/// Tags are compared exactly: case matters, and a tag is neither a prefix nor a pattern.
pub async fn test_tags_are_compared_exactly(factory: &dyn ProviderFactory) {
    let store = Store::open(factory).await;
    for (id, tag) in (1..).zip(["gpu", "GPU", "gpu ", "gpu2", ""]) {
        store.send_work(tagged(id, tag)).await;
    }
    assert_eq!(ids(&store, &TagFilter::tags(["g%", "_pu", "gp", "*"])).await, [0_u64; 0]);
    assert_eq!(ids(&store, &TagFilter::default_only()).await, [0_u64; 0], "empty is a tag too");
    assert_eq!(ids(&store, &TagFilter::tags(["GPU"])).await, [2]);
    assert_eq!(ids(&store, &TagFilter::tags(["gpu"])).await, [1]);
    assert_eq!(ids(&store, &TagFilter::tags([""])).await, [5]);
    assert_eq!(ids(&store, &TagFilter::any()).await, [3, 4]);
}

/// A worker must match both tag and session.
pub async fn test_tag_and_session_must_both_match(factory: &dyn ProviderFactory) {
    let store = Store::open(factory).await;
    let mut item = tagged(1, "gpu");
    if let WorkItem::ActivityExecute { session_id, .. } = &mut item {
        *session_id = Some("session".to_owned());
    }
    store.send_work(item.clone()).await;
    let owner = |owner: &str| SessionFetchConfig {
        owner_id: owner.to_owned(),
        lock_timeout: store.lease(),
    };
    let gpu = TagFilter::tags(["gpu"]);
    assert_eq!(ids(&store, &gpu).await, [0_u64; 0], "the worker has no sessions");
    let untagged = store.try_work_as(Some(&owner("a")), &TagFilter::default_only()).await;
    assert!(untagged.is_none(), "the worker does not serve the tag");
    // The worker without the tag must not have claimed the session.
    let work = store.try_work_as(Some(&owner("b")), &gpu).await.expect("tag and session match");
    assert_eq!((work.attempt, work.item), (1, item));
}

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __tag_filtering {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context tag_filtering
            test_default_only_fetches_untagged;
            test_tags_fetches_only_matching;
            test_default_and_fetches_untagged_and_matching;
            test_none_filter_returns_nothing;
            test_multi_tag_filter;
            test_tag_round_trip_preservation;
            test_any_filter_fetches_everything;
            test_tag_survives_abandon_and_refetch;
            test_tag_survives_lock_expiry;
            test_multi_runtime_tag_isolation;
            test_tag_preserved_through_ack_orchestration_item;
            test_tags_are_compared_exactly;
            test_tag_and_session_must_both_match;
        }
    };
}
