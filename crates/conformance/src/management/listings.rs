//! Lists of instances, executions and events.

use std::time::Duration;

use crate::ProviderFactory;
use crate::support::{End, Must, Store, heard, signal, start_item};

const MOMENT: Duration = Duration::from_millis(20);

async fn by_status<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, status: &str) -> Vec<String> {
    let listed = store.admin().list_instances_by_status(status).await;
    let mut ids = listed.must("listing instances by status");
    ids.sort();
    ids
}

/// Every instance is listed once, from its first commit on.
pub async fn test_list_instances<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    assert_eq!(store.instances().await, [""; 0]);
    for instance in ["one", "two", "three"] {
        store.create(instance).await;
    }
    store.continue_as_new("two").await;
    store.complete("three", "done").await;
    store.send(start_item("four")).await;
    assert_eq!(store.instances().await, ["one", "three", "two"]);
}

/// An instance has the status of its current execution.
pub async fn test_list_instances_by_status<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for instance in ["running", "completed", "failed", "next", "again"] {
        store.create(instance).await;
    }
    store.complete("completed", "done").await;
    store.fail("failed", "why").await;
    store.continue_as_new("next").await;
    store.continue_as_new("again").await;
    store.complete("again", "done").await;
    assert_eq!(by_status(&store, "Running").await, ["next", "running"]);
    assert_eq!(by_status(&store, "Completed").await, ["again", "completed"]);
    assert_eq!(by_status(&store, "Failed").await, ["failed"]);
    assert_eq!(
        by_status(&store, "ContinuedAsNew").await,
        [""; 0],
        "every next execution has started"
    );
    assert_eq!(by_status(&store, "Nonsense").await, [""; 0]);
}

/// Between two executions an instance is listed and counted as running.
pub async fn test_list_instances_between_executions<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create_pinned("chain", "0.1.30").await;
    store.end_with("chain", End::ContinuedAsNew("next"), vec![]).await;
    assert_eq!(by_status(&store, "Running").await, ["chain"]);
    assert_eq!(by_status(&store, "ContinuedAsNew").await, [""; 0]);
    let metrics = store.admin().get_system_metrics().await.must("totals");
    assert_eq!(metrics.running_instances, 1);
    let spread = store.admin().get_running_duroxide_version_spread().await;
    assert_eq!(spread.must("the spread of versions").get("0.1.30"), Some(&1));
}

/// The newest instance comes first, and the order is stable.
pub async fn test_list_instances_newest_first<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for instance in ["b", "d", "a", "c"] {
        store.create(instance).await;
        store.pass(MOMENT).await;
    }
    // Later commits do not change the creation time.
    store.record("b", vec![]).await;
    store.continue_as_new("d").await;
    let listed = store.admin().list_instances().await.must("listing instances");
    assert_eq!(listed, ["c", "a", "d", "b"]);
    let running = store.admin().list_instances_by_status("Running").await;
    assert_eq!(running.must("listing instances by status"), ["c", "a", "d", "b"]);

    for number in 0..10 {
        store.create(&format!("at once {number}")).await;
    }
    let first = store.admin().list_instances().await.must("listing instances");
    let second = store.admin().list_instances().await.must("listing instances");
    assert_eq!(first, second, "the order is stable");
    assert_eq!(first[10..], ["c", "a", "d", "b"]);
}

/// Executions are listed in order.
pub async fn test_list_executions<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("chain").await;
    assert_eq!(store.executions("chain").await, [1]);
    for _ in 0..11 {
        store.continue_as_new("chain").await;
    }
    let expected: Vec<u64> = (1..=12).collect();
    assert_eq!(store.executions("chain").await, expected);
    let latest = store.admin().latest_execution_id("chain").await;
    assert_eq!(latest.must("reading the latest execution"), 12);
}

/// The history of each execution can be read, and the latest one is the default.
pub async fn test_read_history_of_executions<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("chain").await;
    store.continue_as_new("chain").await;
    let more = vec![heard("chain", 2, 2)];
    let appended = store.provider.append_with_execution("chain", 2, more).await;
    appended.must("appending events");
    let admin = store.admin();
    for execution_id in [1, 2] {
        let seen = admin.read_history_with_execution_id("chain", execution_id).await;
        let seen = seen.must("reading the history of an execution");
        let stored = store.provider.read_with_execution("chain", execution_id).await;
        assert_eq!(seen, stored.must("reading the history of an execution"));
        assert_eq!(seen.len(), 2);
        assert!(seen.iter().all(|event| event.execution_id == execution_id));
    }
    let latest = admin.read_history("chain").await.must("reading a history");
    assert_eq!(latest, store.history("chain").await);
    assert_eq!(latest[0].execution_id, 2);
}

/// For an unknown instance lists are empty and details are errors.
pub async fn test_unknown_instance_reads<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("known").await;
    store.send(signal("unknown", "unread")).await;
    let admin = store.admin();
    assert_eq!(store.executions("unknown").await, [0_u64; 0]);
    assert_eq!(admin.read_history("unknown").await.must("reading a history"), vec![]);
    let history = admin.read_history_with_execution_id("known", 7).await;
    assert_eq!(history.must("reading the history of an unknown execution"), vec![]);
    let latest = admin.latest_execution_id("unknown").await;
    assert_eq!(latest.must("reading the latest execution"), 1);
    let error =
        admin.get_instance_info("unknown").await.must_fail_for_good("info of an unknown instance");
    assert!(error.message.contains("not found"), "{error}");
    let error = admin
        .get_execution_info("known", 7)
        .await
        .must_fail_for_good("info of an unknown execution");
    assert!(error.message.contains("not found"), "{error}");
}
