//! A deletion leaves nothing that could affect a later instance with the same id.

use std::time::Duration;

use duroxide_core::EventKind;
use duroxide_core::providers::{DispatcherCapabilityFilter, ExecutionMetadata, WorkItem};

use crate::ProviderFactory;
use crate::support::{
    Must, Store, activity, child_start_item, commit, completed, named, next_events, queued, signal,
    start_item, started, timer,
};

const HOUR: Duration = Duration::from_secs(3600);

async fn delete<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, instance: &str) -> u64 {
    let deleted = store.admin().delete_instance(instance, true).await;
    deleted.must("deleting by force").queue_messages_deleted
}

/// Deleting an instance deletes its messages and leases. Another instance can reuse its id.
pub async fn test_delete_cleans_queues_and_locks<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("reused").await;
    store.send_work(activity("reused", 2)).await;
    store.send_work(activity("reused", 3)).await;
    store.work().await;
    store.woken("reused").await;
    store.send(signal("reused", "under the lease")).await;
    assert_eq!(delete(&store, "reused").await, 4, "two messages and two activities");
    store.no_work("the activities were deleted").await;
    store.expire().await;
    store.no_work("the leased activity was deleted too").await;
    store.no_turn("the messages were deleted").await;

    let mut start = start_item("reused");
    if let WorkItem::StartOrchestration { orchestration, .. } = &mut start {
        "Another".clone_into(orchestration);
    }
    store.send(start.clone()).await;
    let turn = store.turn_of("reused").await;
    assert_eq!(turn.item.orchestration_name, "Another");
    assert_eq!(turn.item.messages, vec![start]);
    assert_eq!((turn.item.history.len(), turn.item.execution_id), (0, 1));
    let metadata = ExecutionMetadata { orchestration_name: Some("Another".to_owned()), ..named() };
    let first = commit(&turn, vec![started("reused", 1)]).with_metadata(metadata);
    store.ack(first).await.must("the first commit of the new instance");
    let info = store.admin().get_instance_info("reused").await.must("info of an instance");
    assert_eq!((info.orchestration_name.as_str(), info.current_execution_id), ("Another", 1));
}

/// Starts of children that have not run are deleted with their parent, leased or not: an orphan
/// would send its result to an instance that is started later under the id of the parent. What
/// stood behind them does not hold up a later instance of the same id.
pub async fn test_delete_removes_pending_child_starts<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for is_leased in [false, true] {
        store.create("parent").await;
        let turn = store.woken("parent").await;
        let scheduled = EventKind::SubOrchestrationScheduled {
            name: "TestOrch".to_owned(),
            instance: "child".to_owned(),
            input: String::new(),
        };
        let starting = commit(&turn, next_events(&turn, vec![scheduled]))
            .with_messages("parent", vec![child_start_item("child", "parent")]);
        store.ack(starting).await.must("a commit that starts a child");
        let first = if is_leased { Some(store.turn_of("child").await) } else { None };
        store.send(queued("child", "early")).await;
        assert_eq!(delete(&store, "parent").await, 1, "the start of the child");
        if let Some(first) = first {
            let created = store.ack(commit(&first, vec![started("child", 1)])).await;
            created.must_fail("the first commit of a child without a parent");
        }
        store.no_turn("the start of the child was deleted").await;
        assert_eq!(store.instances().await, [""; 0]);
        store.send(start_item("child")).await;
        let turn = store.turn_of("child").await;
        assert!(turn.item.messages.contains(&start_item("child")), "the new instance starts");
        store.ack(commit(&turn, vec![started("child", 1)])).await.must("its first turn");
        delete(&store, "child").await;
    }
}

/// A deleted lease does not block a new instance with the same id.
pub async fn test_delete_removes_leases_and_parked_messages<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.create("reused").await;
    store.woken("reused").await;
    delete(&store, "reused").await;
    // The lease that was deleted would have lasted until now.
    store.send(start_item("reused")).await;
    let turn = store.turn_of("reused").await;
    assert_eq!(turn.attempt, 1);

    // A provider may park a message for an unknown id; once deleted it does not come back.
    store.send(queued("ghost", "early")).await;
    store.no_turn("no start was enqueued").await;
    let parked = store.admin().list_parked_messages(10).await.must("listing parked messages");
    if !parked.is_empty() {
        assert_eq!(parked[0].instance_id, "ghost");
        assert_eq!(delete(&store, "ghost").await, 1, "the parked message");
        store.send(start_item("ghost")).await;
        let turn = store.turn_of("ghost").await;
        assert_eq!(turn.item.messages, vec![start_item("ghost")]);
    }
}

/// A new instance does not inherit status, status version or pin from a deleted one.
pub async fn test_delete_clears_custom_status_and_pin<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create_pinned("reused", "9.0.0").await;
    let shown = EventKind::CustomStatusUpdated { status: Some("old".to_owned()) };
    store.record("reused", vec![shown]).await;
    delete(&store, "reused").await;
    let status = store.provider.get_custom_status("reused", 0).await;
    assert_eq!(status.must("reading a custom status"), None);
    let stats = store.provider.get_instance_stats("reused").await.must("reading stats");
    assert_eq!(stats, None);

    store.create("reused").await;
    let status = store.provider.get_custom_status("reused", 0).await;
    assert_eq!(status.must("reading a custom status"), None, "the new instance has set no status");
    store.send(signal("reused", "next")).await;
    let filter = DispatcherCapabilityFilter::default_for_current_build();
    let lease = store.lease();
    let fetched =
        store.provider.fetch_orchestration_item(lease, Duration::ZERO, Some(&filter)).await;
    assert!(fetched.must("fetching with a filter").is_some(), "the new instance has no pin");
}

/// Timers, hidden messages and activities with a session or tag are deleted like all others.
pub async fn test_delete_removes_messages_of_every_kind<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("reused").await;
    store.send(timer("reused", 2, store.now_ms() + 60_000)).await;
    store.send_after(signal("reused", "later"), HOUR).await;
    store.send(queued("reused", "now")).await;
    let result = WorkItem::SubOrchCompleted {
        parent_instance: "reused".to_owned(),
        parent_execution_id: 1,
        parent_id: 3,
        result: "from a child".to_owned(),
    };
    store.send(result).await;
    let mut special = activity("reused", 4);
    if let WorkItem::ActivityExecute { session_id, tag, .. } = &mut special {
        *session_id = Some("session".to_owned());
        *tag = Some("tag".to_owned());
    }
    store.send_work(special).await;
    assert_eq!(delete(&store, "reused").await, 5);
    let depths = store.admin().get_queue_depths().await.must("queue depths");
    assert_eq!((depths.orchestrator_queue, depths.worker_queue), (0, 0));
}

/// A turn in progress cannot restore a deleted instance.
pub async fn test_force_delete_prevents_ack_recreation<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("busy").await;
    let turn = store.woken("busy").await;
    delete(&store, "busy").await;
    let shown = EventKind::CustomStatusUpdated { status: Some("back".to_owned()) };
    let late = commit(&turn, next_events(&turn, vec![shown]))
        .with_activities(vec![activity("busy", 9)])
        .with_messages(&turn.item.instance, vec![start_item("other")]);
    store.ack(late.clone()).await.must_fail_for_good("a commit of a deleted instance");
    assert_eq!(store.instances().await, [""; 0]);
    assert_eq!(store.history("busy").await, vec![]);
    store.no_work("the commit was refused").await;
    store.no_turn("the commit was refused").await;
    let renewed = store.provider.renew_orchestration_item_lock(&turn.token, HOUR).await;
    renewed.must_fail("renewing the lease of a deleted instance");

    // It cannot write into the next instance with the same id either.
    store.create("busy").await;
    store.ack(late).await.must_fail_for_good("a commit of a deleted instance");
    assert_eq!(store.history("busy").await.len(), 1, "only its own start");
    let status = store.provider.get_custom_status("busy", 0).await;
    assert_eq!(status.must("reading a custom status"), None);
}

/// An activity of a deleted instance cannot send its result to the next instance with the same id.
pub async fn test_stale_activity_after_delete_recreate<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("reused").await;
    store.send_work(activity("reused", 2)).await;
    let work = store.work().await;
    delete(&store, "reused").await;
    store.create("reused").await;
    let late = store.provider.ack_work_item(&work.token, Some(completed("reused", 2))).await;
    late.must_fail_for_good("completing an activity of a deleted instance");
    let renewed = store.provider.renew_work_item_lock(&work.token, HOUR).await;
    renewed.must_fail("renewing an activity of a deleted instance");
    store.no_turn("the new instance gets no message").await;
    let turn = store.woken("reused").await;
    assert_eq!(turn.item.messages, vec![signal("reused", "wake")]);
}
