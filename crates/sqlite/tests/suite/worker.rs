//! The worker queue.

use std::time::Duration;

use duroxide_core::providers::{FetchFilter, Provider, TagFilter, WorkFetch, WorkItem, WorkSlot};

use crate::support::*;

fn tagged(id: u64, tag: &str) -> WorkItem {
    let WorkItem::ActivityExecute { instance, execution_id, id, name, input, session_id, .. } =
        activity("a", id)
    else {
        unreachable!("activity() makes activities")
    };
    let tag = Some(tag.to_owned());
    WorkItem::ActivityExecute { instance, execution_id, id, name, input, session_id, tag }
}

async fn take(provider: &dyn Provider, filter: &TagFilter) -> Option<(WorkItem, String, u32)> {
    provider.fetch_work_item(LEASE, NOW, None, filter).await.unwrap()
}

#[tokio::test]
async fn activities_are_leased_oldest_first_and_acked_with_their_completion() {
    let store = Store::new().await;
    let provider = &*store.provider;
    create(provider, "a").await;
    provider.enqueue_for_worker(activity("a", 1)).await.unwrap();
    provider.enqueue_for_worker(activity("a", 2)).await.unwrap();
    let (first, token, attempt) = take(provider, &TagFilter::DefaultOnly).await.unwrap();
    assert_eq!((first, attempt), (activity("a", 1), 1));
    provider.ack_work_item(&token, Some(completed("a", 1))).await.unwrap();
    assert!(provider.ack_work_item(&token, None).await.is_err());
    let (second, ..) = take(provider, &TagFilter::DefaultOnly).await.unwrap();
    assert_eq!(second, activity("a", 2));
    assert_eq!(turn(provider).await.item.messages, vec![completed("a", 1)]);
}

#[tokio::test]
async fn a_lost_lease_can_neither_ack_nor_renew() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_worker(activity("a", 1)).await.unwrap();
    let (_, token, _) = take(provider, &TagFilter::DefaultOnly).await.unwrap();
    assert!(take(provider, &TagFilter::DefaultOnly).await.is_none());
    store.clock.advance(LEASE);
    let error = provider.ack_work_item(&token, None).await.unwrap_err();
    assert!(!error.is_retryable());
    assert!(provider.renew_work_item_lock(&token, LEASE).await.is_err());
    let (_, again, attempt) = take(provider, &TagFilter::DefaultOnly).await.unwrap();
    assert_eq!(attempt, 2);
    provider.renew_work_item_lock(&again, LEASE).await.unwrap();
    provider.ack_work_item(&again, None).await.unwrap();
    assert_eq!(store.count("SELECT count(*) FROM orchestrator_queue"), 0);
}

/// Expired activities were once chosen by the end of their leases: a late activity with a short
/// lease overtook an early one.
#[tokio::test]
async fn released_activities_are_leased_oldest_first_whichever_lease_expired_first() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_worker(activity("a", 1)).await.unwrap();
    provider.enqueue_for_worker(tagged(2, "gpu")).await.unwrap();
    take(provider, &TagFilter::DefaultOnly).await.unwrap();
    let gpu = TagFilter::tags(["gpu"]);
    provider.fetch_work_item(LEASE / 2, NOW, None, &gpu).await.unwrap().unwrap();
    provider.enqueue_for_worker(activity("a", 3)).await.unwrap();
    provider.enqueue_for_worker(activity("a", 4)).await.unwrap();
    provider.fetch_work_item(LEASE / 2, NOW, None, &TagFilter::Any).await.unwrap().unwrap();
    store.clock.advance(LEASE);
    for id in [1, 3, 4] {
        let (item, ..) = take(provider, &TagFilter::DefaultOnly).await.unwrap();
        assert_eq!(item, activity("a", id));
    }
    store.clock.advance(LEASE);
    for expected in [activity("a", 1), tagged(2, "gpu"), activity("a", 3), activity("a", 4)] {
        let (item, ..) = take(provider, &TagFilter::Any).await.unwrap();
        assert_eq!(item, expected);
    }
}

#[tokio::test]
async fn a_hidden_activity_does_not_block_the_next() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_worker(activity("a", 1)).await.unwrap();
    provider.enqueue_for_worker(activity("a", 2)).await.unwrap();
    let (_, token, _) = take(provider, &TagFilter::Any).await.unwrap();
    let delay = Duration::from_secs(1);
    provider.abandon_work_item(&token, Some(delay), true).await.unwrap();
    let (item, ..) = take(provider, &TagFilter::Any).await.unwrap();
    assert_eq!(item, activity("a", 2));
    store.clock.advance(delay);
    let (item, _, attempt) = take(provider, &TagFilter::DefaultOnly).await.unwrap();
    assert_eq!((item, attempt), (activity("a", 1), 1));
}

#[tokio::test]
async fn an_activity_is_acked_only_with_a_completion() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_worker(activity("a", 1)).await.unwrap();
    let (_, token, _) = take(provider, &TagFilter::Any).await.unwrap();
    let error = provider.ack_work_item(&token, Some(signal("a", "x"))).await.unwrap_err();
    assert!(!error.is_retryable());
    assert!(provider.enqueue_for_worker(signal("a", "x")).await.is_err());
}

#[tokio::test]
async fn tags_select_which_worker_leases_an_activity() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_worker(tagged(1, "gpu")).await.unwrap();
    provider.enqueue_for_worker(activity("a", 2)).await.unwrap();
    provider.enqueue_for_worker(tagged(3, "gpu")).await.unwrap();
    provider.enqueue_for_worker(tagged(4, "ssd")).await.unwrap();
    assert!(take(provider, &TagFilter::none()).await.is_none());
    assert!(take(provider, &TagFilter::tags(["GPU"])).await.is_none());
    let (item, ..) = take(provider, &TagFilter::default_only()).await.unwrap();
    assert_eq!(item, activity("a", 2));
    let (item, ..) = take(provider, &TagFilter::default_and(["gpu"])).await.unwrap();
    assert_eq!(item, tagged(1, "gpu"));
    let (item, ..) = take(provider, &TagFilter::tags(["ssd", "gpu"])).await.unwrap();
    assert_eq!(item, tagged(3, "gpu"));
    let (item, ..) = take(provider, &TagFilter::any()).await.unwrap();
    assert_eq!(item, tagged(4, "ssd"));
}

#[tokio::test]
async fn each_slot_of_a_batch_leases_one_activity() {
    let store = Store::new().await;
    let provider = &*store.provider;
    for id in 1..=3 {
        provider.enqueue_for_worker(activity("a", id)).await.unwrap();
    }
    let slots = vec![WorkSlot::new(None); 5];
    let filter = FetchFilter::from(&TagFilter::DefaultOnly);
    let fetch = WorkFetch::new(&slots, LEASE).with_poll_timeout(NOW).with_filter(&filter);
    let work = provider.fetch_work_items(fetch).await.unwrap();
    assert_eq!(work.iter().map(|work| work.slot).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(work[2].item, activity("a", 3));
}

#[tokio::test]
async fn an_unreadable_activity_does_not_block_the_next() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_worker(activity("a", 1)).await.unwrap();
    provider.enqueue_for_worker(activity("a", 2)).await.unwrap();
    store.sql().execute("UPDATE worker_queue SET work_item = '?' WHERE id = 1", []).unwrap();
    // Under a name that no worker has: it is retried like any other, and its orchestration
    // continues with the failure.
    let (unreadable, ..) = take(provider, &TagFilter::Any).await.unwrap();
    let WorkItem::ActivityExecute { instance, execution_id, id, name, .. } = unreadable else {
        panic!("{unreadable:?}");
    };
    assert_eq!((instance.as_str(), execution_id, id), ("a", 1, 1));
    assert!(name.starts_with("unreadable activity (row 1: "), "{name}");
    let (item, ..) = take(provider, &TagFilter::Any).await.unwrap();
    assert_eq!(item, activity("a", 2));
}

#[tokio::test]
async fn an_unreadable_activity_without_an_instance_is_skipped() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_worker(activity("a", 1)).await.unwrap();
    provider.enqueue_for_worker(activity("a", 2)).await.unwrap();
    let damage = "UPDATE worker_queue SET work_item = '?', instance_id = NULL WHERE id = 1";
    store.sql().execute(damage, []).unwrap();
    let (item, ..) = take(provider, &TagFilter::Any).await.unwrap();
    assert_eq!(item, activity("a", 2));
    assert_eq!(store.count("SELECT count(*) FROM worker_queue"), 2);
}

#[tokio::test]
async fn a_lease_of_length_zero_has_expired_for_the_next_slot() {
    let store = Store::new().await;
    store.provider.enqueue_for_worker(activity("a", 1)).await.unwrap();
    let slots = [WorkSlot::new(None), WorkSlot::new(None)];
    let filter = FetchFilter::from(&TagFilter::DefaultOnly);
    let request =
        WorkFetch::new(&slots, Duration::ZERO).with_poll_timeout(NOW).with_filter(&filter);
    let work = store.provider.fetch_work_items(request).await.unwrap();
    let attempts: Vec<u32> = work.iter().map(|work| work.attempt_count).collect();
    assert_eq!(attempts, [1, 2]);
}
