//! A fetch of activities returns only those whose handler the caller has.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{
    FetchFilter, FetchedWork, RegisteredActivities, SessionFetchConfig, TagFilter, WorkFetch,
    WorkItem, WorkSlot,
};

use crate::ProviderFactory;
use crate::support::{Must, Store, activity, commit, heard, leasing, signal};

const FREE: WorkSlot = WorkSlot::new(None);
/// Much longer than any wake-up takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// A node that has these activities and serves no tag.
fn node(names: &[&str]) -> FetchFilter {
    FetchFilter::from(&TagFilter::DefaultOnly).with_activities(RegisteredActivities::new(names))
}

fn named(id: u64, handler: &str) -> WorkItem {
    let mut item = activity("a", id);
    if let WorkItem::ActivityExecute { name, .. } = &mut item {
        handler.clone_into(name);
    }
    item
}

fn tagged(id: u64, handler: &str, label: &str) -> WorkItem {
    let mut item = named(id, handler);
    if let WorkItem::ActivityExecute { tag, .. } = &mut item {
        *tag = Some(label.to_owned());
    }
    item
}

fn of_session(id: u64, handler: &str, session: &str) -> WorkItem {
    let mut item = named(id, handler);
    if let WorkItem::ActivityExecute { session_id, .. } = &mut item {
        *session_id = Some(session.to_owned());
    }
    item
}

/// What a node with these slots can fetch now.
async fn fetch<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    node: &FetchFilter,
    slots: &[WorkSlot],
) -> Vec<FetchedWork> {
    let request = WorkFetch::new(slots, store.lease()).with_filter(node);
    store.provider.fetch_work_items(request).await.must("fetching activities with a filter")
}

/// The activities that a node with eight slots can fetch now, by their numbers.
async fn numbers<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    node: &FetchFilter,
) -> Vec<u64> {
    let slots = vec![FREE; 8];
    fetch(store, node, &slots).await.iter().map(|work| number(&work.item)).collect()
}

fn number(item: &WorkItem) -> u64 {
    let WorkItem::ActivityExecute { id, .. } = item else {
        panic!("the worker queue has no {item:?}");
    };
    *id
}

/// The only activity that a node can fetch now.
async fn only<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    node: &FetchFilter,
    id: u64,
) -> FetchedWork {
    let mut work = fetch(store, node, &[FREE, FREE]).await;
    let found: Vec<_> = work.iter().map(|work| number(&work.item)).collect();
    assert_eq!(found, [id], "the node has the handler of one activity");
    work.remove(0)
}

/// An activity goes to nodes that have exactly its name. A node without it neither leases it nor
/// counts an attempt, and it does not stand in the way of others.
pub async fn an_activity_goes_to_a_node_with_its_handler<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for (id, name) in [(1, "Charge"), (2, "Refund"), (3, "Charge"), (4, "Ship"), (5, "Refund")] {
        store.send_work(named(id, name)).await;
    }
    let long = "x".repeat(400);
    for _ in 0..3 {
        for strange in [&[][..], &["Charg", "Charge2", "charge", "", &long]] {
            assert_eq!(numbers(&store, &node(strange)).await, [0; 0], "other names: {strange:?}");
        }
    }
    let found = only(&store, &node(&["Another", "Ship", "Zip"]), 4).await;
    assert_eq!(found.attempt_count, 1, "to pass over an activity is no attempt");
    let found = numbers(&store, &node(&["Charge", "Refund"])).await;
    assert_eq!(found, [1, 2, 3, 5], "all of both names, oldest first");
}

/// A node that may run everything gets everything, in the order of age.
pub async fn a_node_without_a_list_gets_every_activity<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let names = ["Zip", "Charge", "", "Refund"];
    for (id, name) in (1..).zip(names) {
        store.send_work(named(id, name)).await;
    }
    assert_eq!(numbers(&store, &FetchFilter::everything()).await, [1, 2, 3, 4]);
    store.expire().await;
    assert_eq!(numbers(&store, &node(&names)).await, [1, 2, 3, 4], "the empty name is a name");
}

/// A node needs both the handler and the tag.
pub async fn handlers_and_tags_are_both_required<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(tagged(1, "Charge", "gpu")).await;
    store.send_work(tagged(2, "Charge", "cpu")).await;
    store.send_work(named(3, "Charge")).await;
    store.send_work(tagged(4, "Refund", "gpu")).await;
    let registered = RegisteredActivities::new(["Charge"]);
    let with = |tags| FetchFilter::from(&tags).with_activities(registered.clone());
    let mixed = numbers(&store, &with(TagFilter::default_and(["gpu"]))).await;
    assert_eq!(mixed, [1, 3], "its handler, under its tags");
    assert_eq!(numbers(&store, &with(TagFilter::Any)).await, [2], "its handler, under every tag");
    assert_eq!(numbers(&store, &with(TagFilter::none())).await, [0; 0]);
    assert_eq!(numbers(&store, &FetchFilter::everything()).await, [4]);
}

/// An activity that was leased before goes to nodes with its handler again: after its lease
/// expired, after a release, and after a delay.
pub async fn a_lost_activity_goes_to_a_node_with_its_handler<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    let (fitting, stranger) = (node(&["Charge"]), node(&["Refund"]));
    store.send_work(named(1, "Charge")).await;
    only(&store, &fitting, 1).await;
    store.expire().await;
    assert_eq!(numbers(&store, &stranger).await, [0; 0], "after a lost lease");
    let found = only(&store, &fitting, 1).await;
    assert_eq!(found.attempt_count, 2);
    let released = store.provider.abandon_work_item(&found.lock_token, None, true).await;
    released.must("releasing an activity");
    assert_eq!(numbers(&store, &stranger).await, [0; 0], "after a release");
    let found = only(&store, &fitting, 1).await;
    let delay = Some(store.lease());
    let delayed = store.provider.abandon_work_item(&found.lock_token, delay, true).await;
    delayed.must("releasing an activity for later");
    store.expire().await;
    assert_eq!(numbers(&store, &stranger).await, [0; 0], "after a delay");
    only(&store, &fitting, 1).await;
}

/// An activity that a commit leased to its own node goes to a node with its handler when that node
/// is lost.
pub async fn an_activity_that_its_commit_leased_goes_to_a_node_with_its_handler<
    F: ProviderFactory + ?Sized,
>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.send(signal("a", "go")).await;
    let turn = store.turn_of("a").await;
    let work = leasing(vec![named(1, "Charge"), named(2, "Charge")], &[0], store.lease());
    let scheduling = commit(&turn, vec![heard("a", 1, 2)]).with_activities(work);
    let committed = store.provider.commit_turn(Arc::new(scheduling)).await;
    assert_eq!(committed.must("a commit that leases").leased.len(), 1);
    store.expire().await;
    assert_eq!(numbers(&store, &node(&["Refund"])).await, [0; 0]);
    assert_eq!(numbers(&store, &node(&["Charge"])).await, [1, 2]);
}

/// The owner of a session does not get its activities of other nodes, and no other node gets them
/// while the session is owned.
pub async fn a_session_keeps_activities_that_its_owner_cannot_run<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    let lock_timeout = store.lease();
    let slot = |owner: &str| {
        [WorkSlot::new(Some(SessionFetchConfig { owner_id: owner.to_owned(), lock_timeout }))]
    };
    let (charger, refunder) = (node(&["Charge"]), node(&["Refund"]));
    store.send_work(of_session(1, "Refund", "s")).await;
    store.send_work(of_session(2, "Charge", "s")).await;
    let claimed = fetch(&store, &charger, &slot("x")).await;
    assert_eq!(claimed.iter().map(|work| number(&work.item)).collect::<Vec<_>>(), [2]);
    store.send_work(of_session(3, "Refund", "s")).await;
    store.send_work(of_session(4, "Charge", "s")).await;
    assert!(fetch(&store, &refunder, &slot("y")).await.is_empty(), "x owns the session");
    let next = fetch(&store, &charger, &slot("x")).await;
    assert_eq!(next.iter().map(|work| number(&work.item)).collect::<Vec<_>>(), [4]);
    assert!(fetch(&store, &charger, &slot("x")).await.is_empty(), "x cannot run the others");
    for work in claimed.iter().chain(&next) {
        let finished = store.provider.ack_work_item(&work.lock_token, None).await;
        finished.must("completing an activity of a session");
    }
    store.expire().await;
    for id in [1, 3] {
        let found = fetch(&store, &refunder, &slot("y")).await;
        assert_eq!(found.iter().map(|work| number(&work.item)).collect::<Vec<_>>(), [id]);
    }
}

/// A node that passes over an activity takes no wake-up from the node that waits for it.
pub async fn a_passed_activity_wakes_the_node_with_its_handler<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    let (charger, refunder) = (node(&["Charge"]), node(&["Refund"]));
    let slots = [FREE];
    let waits = |filter| {
        let request = WorkFetch::new(&slots, store.lease()).with_poll_timeout(PATIENCE);
        store.provider.fetch_work_items(request.with_filter(filter))
    };
    let ((), charged, refunded) = tokio::join!(
        async {
            store.send_work(named(1, "Refund")).await;
            store.send_work(named(2, "Charge")).await;
        },
        waits(&charger),
        waits(&refunder),
    );
    let got = |work: Vec<FetchedWork>| work.iter().map(|work| number(&work.item)).collect();
    let charged: Vec<_> = got(charged.must("waiting for an activity"));
    let refunded: Vec<_> = got(refunded.must("waiting for an activity"));
    assert_eq!((charged, refunded), (vec![2], vec![1]));
}
