//! A waiting fetch returns as soon as work is available, and leases nothing when it is dropped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use duroxide_core::providers::{Provider, TagFilter};
use tokio::task::JoinHandle;

use crate::ProviderFactory;
use crate::limits::{SETTLE_TIME, WAKE_TIME_MAX};
use crate::support::{Must, Store, Turn, Work, activity, commit, signal, start_item, started};

// Much longer than a wake-up may take, so that a fetch that misses its work fails the validation.
const POLL_TIMEOUT: Duration = Duration::from_secs(45);

fn wait_for_turn(provider: &Arc<dyn Provider>, lease: Duration) -> JoinHandle<Option<Turn>> {
    let provider = Arc::clone(provider);
    tokio::spawn(async move {
        let fetched = provider.fetch_orchestration_item(lease, POLL_TIMEOUT, None).await;
        let (item, token, attempt) = fetched.must("a waiting fetch")?;
        Some(Turn { item, token, attempt })
    })
}

pub(super) fn wait_for_work(
    provider: &Arc<dyn Provider>,
    lease: Duration,
) -> JoinHandle<Option<Work>> {
    let provider = Arc::clone(provider);
    tokio::spawn(async move {
        let tags = TagFilter::DefaultOnly;
        let fetched = provider.fetch_work_item(lease, POLL_TIMEOUT, None, &tags).await;
        let (item, token, attempt) = fetched.must("a waiting fetch")?;
        Some(Work { item, token, attempt })
    })
}

/// Lets a fetch reach its wait. Nothing depends on it: a fetch that starts late finds the work at
/// once.
pub(super) async fn settle() {
    tokio::time::sleep(SETTLE_TIME).await;
}

/// What a waiting fetch returned after its wake-up.
pub(super) async fn woken<T>(waiting: JoinHandle<Option<T>>, by: &str) -> T {
    let asked = Instant::now();
    let found = tokio::time::timeout(WAKE_TIME_MAX, waiting).await;
    let found = found.unwrap_or_else(|_| panic!("a waiting fetch missed {by}"));
    let found = found.expect("a waiting fetch must not panic");
    found.unwrap_or_else(|| {
        panic!("{by} ended the wait after {:?} without a result", asked.elapsed())
    })
}

/// A new message ends the wait.
pub async fn a_waiting_fetch_sees_a_new_message<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let waiting = wait_for_turn(&store.provider, store.lease());
    settle().await;
    store.send(start_item("a")).await;
    let turn = woken(waiting, "a new message").await;
    assert_eq!((turn.item.instance.as_str(), turn.attempt), ("a", 1));
}

/// A new activity ends the wait.
pub async fn a_waiting_fetch_sees_a_new_activity<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let waiting = wait_for_work(&store.provider, store.lease());
    settle().await;
    store.send_work(activity("a", 1)).await;
    let work = woken(waiting, "a new activity").await;
    assert_eq!((work.item, work.attempt), (activity("a", 1), 1));
}

/// A message that becomes due and an expired lease end the wait, although nothing is written.
pub async fn a_waiting_fetch_sees_time_pass<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let lease = store.lease();
    store.create("a").await;
    store.send_after(signal("a", "due"), lease).await;
    let waiting = wait_for_turn(&store.provider, lease);
    settle().await;
    store.expire().await;
    let turn = woken(waiting, "a message that became due").await;
    assert_eq!(turn.item.messages, vec![signal("a", "due")]);

    let waiting = wait_for_turn(&store.provider, lease);
    settle().await;
    store.expire().await;
    let turn = woken(waiting, "an expired lease").await;
    assert_eq!(turn.attempt, 2);

    store.send_work(activity("a", 1)).await;
    let _held = store.work().await;
    let waiting = wait_for_work(&store.provider, lease);
    settle().await;
    store.expire().await;
    let work = woken(waiting, "an expired lease on an activity").await;
    assert_eq!(work.attempt, 2);
}

/// A commit that releases messages which arrived under its lease ends the wait.
pub async fn a_waiting_fetch_sees_a_commit<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    store.send(signal("a", "waits")).await;
    let waiting = wait_for_turn(&store.provider, store.lease());
    settle().await;
    store.ack(commit(&turn, vec![started("a", 1)])).await.must("a commit");
    let next = woken(waiting, "a commit").await;
    assert_eq!(next.item.messages, vec![signal("a", "waits")]);
}

/// A dropped waiting fetch leases nothing: the next fetch finds the work unchanged.
pub async fn a_dropped_fetch_leases_nothing<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for round in 0..5 {
        let turns = wait_for_turn(&store.provider, store.lease());
        let work = wait_for_work(&store.provider, store.lease());
        settle().await;
        turns.abort();
        work.abort();
        assert!(turns.await.is_err_and(|end| end.is_cancelled()), "the fetch was dropped");
        assert!(work.await.is_err_and(|end| end.is_cancelled()), "the fetch was dropped");
        let instance = format!("instance-{round}");
        store.send(start_item(&instance)).await;
        store.send_work(activity(&instance, 1)).await;
        assert_eq!(
            store.turn_of(&instance).await.attempt,
            1,
            "no other fetch counted as an attempt"
        );
        assert_eq!(store.work().await.attempt, 1, "no other fetch counted as an attempt");
    }
}
