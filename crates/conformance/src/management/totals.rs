//! Numbers over the whole store.

use std::collections::BTreeMap;
use std::time::Duration;

use duroxide_core::providers::QueueDepths;

use crate::ProviderFactory;
use crate::support::{Must, Store, activity, commit, pinned, signal, start_item, started, timer};

const HOUR: Duration = Duration::from_secs(3600);

/// Instances are counted by the status of their current execution; all executions and events are
/// counted.
pub async fn test_get_system_metrics<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let metrics = store.admin().get_system_metrics().await.must("totals");
    assert_eq!((metrics.total_instances, metrics.total_events), (0, 0), "the store is fresh");
    for instance in ["running", "completed", "failed", "chain"] {
        store.create(instance).await;
    }
    store.complete("completed", "done").await;
    store.fail("failed", "why").await;
    store.continue_as_new("chain").await;
    let metrics = store.admin().get_system_metrics().await.must("totals");
    assert_eq!(metrics.total_instances, 4);
    assert_eq!(metrics.total_executions, 5);
    assert_eq!(metrics.running_instances, 2, "an instance counts once");
    assert_eq!(metrics.completed_instances, 1);
    assert_eq!(metrics.failed_instances, 1);
    assert_eq!(metrics.total_events, 1 + 2 + 2 + 3);
}

async fn depths<F: ProviderFactory + ?Sized>(store: &Store<'_, F>) -> (usize, usize) {
    let depths = store.admin().get_queue_depths().await.must("queue depths");
    let QueueDepths { orchestrator_queue, worker_queue, timer_queue } = depths;
    assert_eq!(timer_queue, 0, "timers are messages of the orchestrator queue");
    (orchestrator_queue, worker_queue)
}

/// The depths grow with every enqueued row and shrink with every completed one.
pub async fn test_get_queue_depths<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    assert_eq!(depths(&store).await, (0, 0));
    store.send(start_item("one")).await;
    store.send(start_item("two")).await;
    store.send_work(activity("one", 1)).await;
    assert_eq!(depths(&store).await, (2, 1));
    let turn = store.try_turn().await.expect("a start must be fetchable");
    let schedule = commit(&turn, vec![started(&turn.item.instance, 1)])
        .with_activities(vec![activity(&turn.item.instance, 2)]);
    store.ack(schedule).await.must("a commit that schedules an activity");
    assert_eq!(depths(&store).await, (1, 2));
    let work = store.work().await;
    store.provider.ack_work_item(&work.token, None).await.must("completing an activity");
    assert_eq!(depths(&store).await, (1, 1));
}

/// The depths include leased, abandoned, hidden and delayed rows.
pub async fn test_get_queue_depths_counts_every_waiting_row<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.create("busy").await;
    store.send_work(activity("busy", 2)).await;
    let turn = store.woken("busy").await;
    let work = store.work().await;
    assert_eq!(depths(&store).await, (1, 1), "leased");
    let abandoned = store.provider.abandon_orchestration_item(&turn.token, Some(HOUR), false);
    abandoned.await.must("abandoning a turn");
    let abandoned = store.provider.abandon_work_item(&work.token, Some(HOUR), false);
    abandoned.await.must("abandoning an activity");
    assert_eq!(depths(&store).await, (1, 1), "abandoned and hidden");
    store.send_after(signal("busy", "later"), HOUR).await;
    store.send(timer("busy", 3, store.now_ms() + 3_600_000)).await;
    assert_eq!(depths(&store).await, (3, 1), "due later");
}

/// Running instances are counted by the pin of their current execution.
pub async fn test_running_version_spread<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for (instance, version) in
        [("a", "0.1.30"), ("b", "0.1.30"), ("c", "0.2.0-rc.1"), ("done", "0.1.30")]
    {
        store.send(start_item(instance)).await;
        let turn = store.turn_of(instance).await;
        let mut start = started(instance, 1);
        version.clone_into(&mut start.duroxide_version);
        let first = commit(&turn, vec![start]).with_metadata(pinned(version));
        store.ack(first).await.must("the first commit of a pinned instance");
    }
    store.complete("done", "done").await;
    let spread = store.admin().get_running_duroxide_version_spread().await;
    let expected = [("0.1.30".to_owned(), 2), ("0.2.0-rc.1".to_owned(), 1)];
    assert_eq!(spread.must("the spread of versions"), BTreeMap::from(expected));
}
