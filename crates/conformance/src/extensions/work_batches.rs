//! One fetch returns several activities, at most one for each slot.

use std::collections::BTreeSet;
use std::time::Duration;

use duroxide_core::providers::{
    FetchFilter, FetchedWork, SessionFetchConfig, TagFilter, WorkFetch, WorkItem, WorkSlot,
};

use crate::ProviderFactory;
use crate::support::{Must, Store, activity};

const FREE: WorkSlot = WorkSlot::new(None);

fn owned(owner: &str, lock_timeout: Duration) -> WorkSlot {
    let owner_id = owner.to_owned();
    WorkSlot::new(Some(SessionFetchConfig { owner_id, lock_timeout }))
}

fn special(id: u64, session: Option<&str>, label: Option<&str>) -> WorkItem {
    let mut item = activity("a", id);
    if let WorkItem::ActivityExecute { session_id, tag, .. } = &mut item {
        *session_id = session.map(str::to_owned);
        *tag = label.map(str::to_owned);
    }
    item
}

/// One batch. Slots are valid and used once, tokens are unique.
async fn fetch<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    slots: &[WorkSlot],
    tag_filter: &TagFilter,
) -> Vec<FetchedWork> {
    let (lock_timeout, poll_timeout) = (store.lease(), Duration::ZERO);
    let filter = FetchFilter::from(tag_filter);
    let request =
        WorkFetch::new(slots, lock_timeout).with_poll_timeout(poll_timeout).with_filter(&filter);
    let batch = store.provider.fetch_work_items(request).await;
    let batch = batch.must("fetching a batch of activities");
    let used: BTreeSet<_> = batch.iter().map(|work| work.slot).collect();
    assert_eq!(used.len(), batch.len(), "a slot gets at most one activity: {batch:?}");
    assert!(used.iter().all(|slot| *slot < slots.len()), "the slot is unknown: {batch:?}");
    let tokens: BTreeSet<_> = batch.iter().map(|work| work.lock_token.as_str()).collect();
    assert_eq!(tokens.len(), batch.len(), "each activity has its own token");
    batch
}

/// Each slot gets at most one activity. Over several batches each activity comes once, oldest
/// first.
pub async fn a_batch_of_work_fills_each_slot_once<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for id in 1..=5 {
        store.send_work(activity("a", id)).await;
    }
    let mut found = Vec::new();
    loop {
        let batch = fetch(&store, &[FREE, FREE], &TagFilter::DefaultOnly).await;
        if batch.is_empty() {
            break;
        }
        assert!(batch.iter().all(|work| work.attempt_count == 1));
        found.extend(batch);
    }
    let items: Vec<_> = found.iter().map(|work| work.item.clone()).collect();
    let expected: Vec<_> = (1..=5).map(|id| activity("a", id)).collect();
    assert_eq!(items, expected, "oldest first, each once");
    for work in found {
        let finished = store.provider.ack_work_item(&work.lock_token, None).await;
        finished.must("completing an activity of a batch");
    }
    store.expire().await;
    store.no_work("all activities are completed").await;
}

/// A fetch without slots leases nothing.
pub async fn a_batch_of_work_without_slots_leases_nothing<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    assert!(fetch(&store, &[], &TagFilter::Any).await.is_empty());
    assert_eq!(store.work().await.attempt, 1);
}

/// A slot without an owner gets only activities without a session; a slot with an owner claims
/// sessions.
pub async fn a_batch_of_work_honours_sessions<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let lease = store.lease();
    store.send_work(special(1, Some("s"), None)).await;
    assert!(fetch(&store, &[FREE, FREE], &TagFilter::Any).await.is_empty(), "no slot may claim it");
    let batch = fetch(&store, &[owned("x", lease)], &TagFilter::Any).await;
    let [claimed] = batch.as_slice() else { panic!("one activity is fetchable: {batch:?}") };
    assert_eq!((claimed.slot, &claimed.item), (0, &special(1, Some("s"), None)));

    store.send_work(special(2, Some("s"), None)).await;
    let others = [owned("y", lease), FREE];
    assert!(fetch(&store, &others, &TagFilter::Any).await.is_empty(), "x owns the session");
    // The default method of the trait fetches for the first slot only, so the owner is first.
    let batch = fetch(&store, &[owned("x", lease), owned("y", lease)], &TagFilter::Any).await;
    let [own] = batch.as_slice() else { panic!("one activity is fetchable: {batch:?}") };
    assert_eq!(
        (own.slot, &own.item),
        (0, &special(2, Some("s"), None)),
        "the owner gets the activity"
    );
}

/// Of two slots with different owners, only one gets the session of a batch.
pub async fn a_batch_of_work_gives_a_session_to_one_owner<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    let lease = store.lease();
    for id in 1..=2 {
        store.send_work(special(id, Some("s"), None)).await;
    }
    let slots = [owned("x", lease), owned("y", lease)];
    let batch = fetch(&store, &slots, &TagFilter::Any).await;
    let [first] = batch.as_slice() else { panic!("a session has one owner: {batch:?}") };
    assert_eq!(first.item, special(1, Some("s"), None));
    let (owner, other) = if first.slot == 0 { ("x", "y") } else { ("y", "x") };
    assert!(fetch(&store, &[owned(other, lease)], &TagFilter::Any).await.is_empty());
    assert_eq!(fetch(&store, &[owned(owner, lease)], &TagFilter::Any).await.len(), 1);
}

/// A batch contains only activities whose tag matches.
pub async fn a_batch_of_work_honours_tags<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let items = [special(1, None, Some("gpu")), special(2, None, None), special(3, None, None)];
    for item in &items {
        store.send_work(item.clone()).await;
    }
    assert!(fetch(&store, &[FREE], &TagFilter::none()).await.is_empty());
    assert!(fetch(&store, &[FREE], &TagFilter::tags(["cpu"])).await.is_empty());
    let tagged = fetch(&store, &[FREE], &TagFilter::tags(["gpu"])).await;
    assert_eq!(tagged.first().map(|work| &work.item), Some(&items[0]));
    let untagged = fetch(&store, &[FREE, FREE], &TagFilter::default_only()).await;
    assert_eq!(untagged.first().map(|work| &work.item), Some(&items[1]));
    assert!(untagged.iter().all(|work| items[1..].contains(&work.item)));
}
