//! Management data is exact: real times, newest first, every queued row counted.

use crate::ProviderFactory;
use crate::support::{Must, Store, activity, commit, ended, heard, signal, start_item, started};

/// Listings are newest first and stable, also for instances created at the same time.
pub async fn listings_are_newest_first<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let tick = store.lease() / 5;
    // The names are not in creation order, so that sorting by name fails.
    for instance in ["m", "z", "a", "q"] {
        store.create(instance).await;
        store.pass(tick).await;
    }
    let newest_first = ["q", "a", "z", "m"];
    let admin = store.admin();
    assert_eq!(admin.list_instances().await.must("listing instances"), newest_first);
    let running = admin.list_instances_by_status("Running").await.must("listing by status");
    assert_eq!(running, newest_first);
    for instance in ["t1", "t3", "t2"] {
        store.create(instance).await;
    }
    let listed = admin.list_instances().await.must("listing instances");
    assert_eq!(listed[3..], newest_first, "newer instances come first");
    for _ in 0..3 {
        let again = admin.list_instances().await.must("listing instances");
        assert_eq!(again, listed, "the order is stable");
    }
}

/// Creation, update, start and completion times are milliseconds of the provider's clock.
pub async fn times_are_real_milliseconds<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let before_start = store.now_ms();
    store.create("a").await;
    let after_start = store.now_ms();
    store.pass(store.lease()).await;
    let before_end = store.now_ms();
    store.send(signal("a", "1")).await;
    let turn = store.turn_of("a").await;
    let ending = commit(&turn, vec![heard("a", 1, 2)]).with_metadata(ended("Completed", "done"));
    store.ack(ending).await.must("a commit that completes");
    let after_end = store.now_ms();
    let (start, end) = (before_start..=after_start, before_end..=after_end);

    let info = store.admin().get_instance_info("a").await.must("reading instance info");
    assert!(start.contains(&info.created_at), "created at {}, not in {start:?}", info.created_at);
    assert!(end.contains(&info.updated_at), "updated at {}, not in {end:?}", info.updated_at);
    let execution = store.admin().get_execution_info("a", 1).await.must("reading execution info");
    let started_at = execution.started_at;
    assert!(start.contains(&started_at), "started at {started_at}, not in {start:?}");
    let completed_at = execution.completed_at.expect("a completed execution has a completion time");
    assert!(end.contains(&completed_at), "completed at {completed_at}, not in {end:?}");
}

/// Depths count every queued row: visible, hidden, leased, abandoned and expired.
pub async fn queue_depths_count_every_row<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let depths = async || {
        let depths = store.admin().get_queue_depths().await.must("reading queue depths");
        assert_eq!(depths.timer_queue, 0, "timers are messages");
        (depths.orchestrator_queue, depths.worker_queue)
    };
    assert_eq!(depths().await, (0, 0));
    store.create("a").await;
    assert_eq!(depths().await, (0, 0), "a commit consumes its messages");
    store.send(signal("a", "1")).await;
    store.send_after(signal("a", "hidden"), store.lease() * 4).await;
    store.send_work(activity("a", 2)).await;
    store.send_work(activity("a", 3)).await;
    assert_eq!(depths().await, (2, 2), "visible and hidden");

    let turn = store.turn_of("a").await;
    let abandoned = store.provider.abandon_orchestration_item(&turn.token, None, false).await;
    abandoned.must("abandoning a turn");
    let work = store.work().await;
    let abandoned = store.provider.abandon_work_item(&work.token, None, false).await;
    abandoned.must("abandoning an activity");
    assert_eq!(depths().await, (2, 2), "abandoned");

    let _held = (store.turn_of("a").await, store.work().await);
    store.expire().await;
    assert_eq!(depths().await, (2, 2), "the lease expired");
    let turn = store.turn_of("a").await;
    store.ack(commit(&turn, vec![])).await.must("a commit");
    let work = store.work().await;
    store.provider.ack_work_item(&work.token, None).await.must("completing an activity");
    assert_eq!(depths().await, (1, 1), "completed rows are not counted");
}

/// Totals count each instance once, by the status of its current execution.
pub async fn totals_are_exact<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("running").await;
    for (instance, status) in [("done", "Completed"), ("broken", "Failed")] {
        store.send(start_item(instance)).await;
        let turn = store.turn_of(instance).await;
        let events = vec![started(instance, 1), heard(instance, 1, 2)];
        let ending = commit(&turn, events).with_metadata(ended(status, "out"));
        store.ack(ending).await.must("a commit that completes an instance");
    }
    let totals = store.admin().get_system_metrics().await.must("reading totals");
    assert_eq!(totals.total_instances, 3);
    assert_eq!(totals.total_executions, 3);
    assert_eq!(totals.total_events, 5);
    let by_status = (totals.running_instances, totals.completed_instances, totals.failed_instances);
    assert_eq!(by_status, (1, 1, 1));
}

/// Gauges count running instances, not ended ones, and every message once: as ready, delayed or
/// parked.
pub async fn gauges_count_what_runs_and_waits<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("running").await;
    store.send(start_item("done")).await;
    let turn = store.turn_of("done").await;
    let ending = commit(&turn, vec![started("done", 1)]).with_metadata(ended("Completed", "out"));
    store.ack(ending).await.must("a commit that completes an instance");
    store.send(signal("running", "1")).await;
    store.send_after(signal("running", "hidden"), store.lease() * 4).await;
    store.send_work(activity("running", 2)).await;
    let gauges = store.admin().read_gauges().await.must("reading gauges");
    assert_eq!((gauges.running_instances, gauges.activities), (1, 1));
    assert!(gauges.ready_messages >= 1, "one message is visible");
    let messages = gauges.ready_messages + gauges.delayed_messages + gauges.parked_messages;
    assert_eq!(messages, 2);
}
