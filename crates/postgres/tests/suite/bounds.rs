//! How much one turn and one fetch take.

use duroxide_core::providers::{Provider, TurnFetch, WorkFetch, WorkItem, WorkSlot};

use crate::support::*;

/// What a turn takes at the most; the limits of the crate are not public.
const TURN_MESSAGES: usize = 1024;

/// Adds queue messages directly: a call for each would be most of the test.
async fn add_messages(store: &Store, instance: &str, count: usize, size: usize) {
    let sql = format!(
        r#"INSERT INTO $.orchestrator_queue
               (instance_id, work_item, visible_at, created_at, kind)
           SELECT '{instance}', '{{"QueueMessage":{{"instance":"{instance}","name":"queue","data":"'
               || n || repeat('x', {size}) || '"}}}}', {BEGIN_MS}, {BEGIN_MS}, 2
           FROM generate_series(0, {count} - 1) AS n"#
    );
    store.sql().await.run(&sql).await;
}

fn message(instance: &str, number: usize) -> WorkItem {
    WorkItem::QueueMessage {
        instance: instance.to_owned(),
        name: "queue".to_owned(),
        data: number.to_string(),
    }
}

fn continued(instance: &str, input: &str) -> WorkItem {
    WorkItem::ContinueAsNew {
        instance: instance.to_owned(),
        orchestration: "Test".to_owned(),
        input: input.to_owned(),
        version: Some("1.0.0".to_owned()),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: Vec::new(),
        initial_custom_status: None,
    }
}

/// All messages of one instance came as one array. Above one gigabyte every fetch of the schema
/// failed, for ever.
#[tokio::test]
async fn a_turn_takes_a_bounded_number_of_messages_in_order() {
    let store = Store::new();
    let node = store.node().await;
    create(&*node, "a").await;
    let count = 2 * TURN_MESSAGES + 7;
    add_messages(&store, "a", count, 0).await;
    let (mut received, mut sizes) = (Vec::new(), Vec::new());
    while let Some(turn) = try_turn(&*node).await {
        assert_eq!(turn.attempt_count, 1);
        sizes.push(turn.item.messages.len());
        received.extend(turn.item.messages);
        node.store_turn(commit(&turn.lock_token, Vec::new())).await.unwrap();
    }
    assert_eq!(sizes, [TURN_MESSAGES, TURN_MESSAGES, 7]);
    assert_eq!(received, (0..count).map(|number| message("a", number)).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_turn_takes_a_bounded_number_of_bytes() {
    let store = Store::new();
    let node = store.node().await;
    create(&*node, "a").await;
    add_messages(&store, "a", 5, 400_000).await;
    let mut sizes = Vec::new();
    while let Some(turn) = try_turn(&*node).await {
        sizes.push(turn.item.messages.len());
        node.store_turn(commit(&turn.lock_token, Vec::new())).await.unwrap();
    }
    assert_eq!(sizes, [2, 2, 1]);
    // A message beyond the bound is a turn by itself.
    add_messages(&store, "a", 2, 3_000_000).await;
    assert_eq!(turn(&*node).await.item.messages.len(), 1);
}

/// A continuation that waited behind a turn's worth of messages never came: each turn without it
/// was released until the instance was poisoned.
#[tokio::test]
async fn a_continuation_behind_many_messages_comes_with_the_next_turn() {
    let store = Store::new();
    let node = store.node().await;
    create(&*node, "a").await;
    add_messages(&store, "a", TURN_MESSAGES + 5, 0).await;
    node.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    node.enqueue_for_orchestrator(continued("a", "next"), None).await.unwrap();
    let next = turn(&*node).await;
    assert_eq!(next.item.messages.len(), TURN_MESSAGES + 1);
    assert_eq!(next.item.messages.last(), Some(&continued("a", "next")));
    node.store_turn(commit(&next.lock_token, Vec::new())).await.unwrap();
    let rest = turn(&*node).await;
    assert_eq!(rest.item.messages.len(), 6);
    assert!(!rest.item.messages.contains(&continued("a", "next")));
}

#[tokio::test]
async fn a_start_behind_many_messages_comes_with_the_first_turn() {
    let store = Store::new();
    let node = store.node().await;
    add_messages(&store, "a", TURN_MESSAGES + 5, 0).await;
    node.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    let first = turn(&*node).await;
    assert_eq!(first.item.orchestration_name, "Test");
    assert_eq!(first.item.messages.last(), Some(&start("a")));
    node.store_turn(commit(&first.lock_token, vec![started("a")])).await.unwrap();
    assert_eq!(turn(&*node).await.item.messages.len(), 5);
}

/// An instance that continues as new after each message carried all that waited, once more with
/// each execution.
#[tokio::test]
async fn a_continuation_that_carries_much_comes_alone() {
    for before in [3, TURN_MESSAGES + 3] {
        let store = Store::new();
        let node = store.node().await;
        create(&*node, "a").await;
        add_messages(&store, "a", before, 0).await;
        let carrying = continued("a", &"x".repeat(100_000));
        node.enqueue_for_orchestrator(carrying.clone(), None).await.unwrap();
        let alone = turn(&*node).await;
        assert_eq!(alone.item.messages, [carrying]);
        node.store_turn(commit(&alone.lock_token, Vec::new())).await.unwrap();
        assert_eq!(turn(&*node).await.item.messages.len(), before.min(TURN_MESSAGES));
    }
}

#[tokio::test]
async fn a_fetch_leases_fewer_turns_if_they_are_large() {
    let store = Store::new();
    let node = store.node().await;
    for instance in ["a", "b", "c", "d", "e"] {
        create(&*node, instance).await;
    }
    for instance in ["a", "b", "c", "d", "e"] {
        add_messages(&store, instance, 1, 3_000_000).await;
    }
    let fetched = node.fetch_orchestration_items(wish(5)).await.unwrap();
    assert_eq!(fetched.len(), 2);
    let fetched = node.fetch_orchestration_items(wish(5)).await.unwrap();
    assert_eq!(fetched.len(), 2);
    let fetched = node.fetch_orchestration_items(wish(5)).await.unwrap();
    assert_eq!(fetched.len(), 1);
}

/// Histories that came with a turn had no bound in bytes.
#[tokio::test]
async fn a_long_history_is_left_to_a_caller_who_reads_it() {
    for (events, size) in [(5000, 10), (20, 20_000)] {
        let store = Store::new();
        let (writer, node) = (store.node().await, store.node().await);
        create(&*writer, "a").await;
        let long = |id| {
            let kind = duroxide_core::EventKind::ExternalEvent {
                name: "signal".to_owned(),
                data: "x".repeat(size),
            };
            event("a", id, kind)
        };
        writer.append_with_execution("a", 1, (2..=events).map(long).collect()).await.unwrap();
        writer.enqueue_for_orchestrator(signal("a", "1"), None).await.unwrap();
        store.advance(LEASE);
        let request = TurnFetch::new(1, LEASE).with_deferred_histories();
        let turn = node.fetch_orchestration_items(request).await.unwrap().pop().unwrap();
        let deferred = turn.deferred.expect("the history is long");
        assert_eq!((deferred.events, turn.item.history.len()), (events, 0));
        let state = node.read_turn_state("a", 1).await.unwrap();
        assert_eq!(state.history, node.read("a").await.unwrap());
        assert_eq!(state.history.len() as u64, events);
        assert!(state.kv_snapshot.is_some());
        // A caller that does not read histories gets them with the turn.
        node.abandon_orchestration_item(&turn.lock_token, None, true).await.unwrap();
        let whole = try_turn(&*node).await.unwrap();
        assert_eq!((whole.item.history.len() as u64, whole.deferred), (events, None));
    }
}

/// Completes activities of `a` in one transaction.
async fn complete_together(store: &Store, ids: std::ops::Range<u64>) {
    let sql = store.sql().await;
    let complete = sql.function("complete_work").await;
    let count = ids.end - ids.start;
    let list = |each: &dyn Fn(u64) -> String| ids.clone().map(each).collect::<Vec<_>>().join(",");
    let items = list(&|id| format!("'{}'", serde_json::to_string(&completed("a", id)).unwrap()));
    let rows = list(&|id| id.to_string());
    sql.run(&format!(
        "SELECT $.{complete}({BEGIN_MS}, array_agg(q.id ORDER BY q.id),
             array_agg(q.lock_token ORDER BY q.id), array_fill(FALSE, ARRAY[{count}]),
             ARRAY(SELECT generate_series(1, {count})), array_fill('a'::TEXT, ARRAY[{count}]),
             ARRAY[{items}], array_fill(0::SMALLINT, ARRAY[{count}]))
         FROM $.worker_queue q WHERE q.activity_id IN ({rows})"
    ))
    .await;
}

/// Each result asked whether others stand before it, which took most of the time of a large
/// fan-out. Those of one transaction follow the first.
#[tokio::test]
async fn results_that_arrive_together_are_listed_once_and_all_consumed() {
    let store = Store::new();
    let node = store.node().await;
    create(&*node, "a").await;
    for id in 10..20 {
        node.enqueue_for_worker(activity("a", id)).await.unwrap();
    }
    let slots = vec![WorkSlot::new(None); 10];
    assert_eq!(node.fetch_work_items(WorkFetch::new(&slots, LEASE)).await.unwrap().len(), 10);
    complete_together(&store, 10..15).await;
    let listed = "SELECT count(*) FROM $.orchestrator_queue WHERE pin IS NOT NULL";
    assert_eq!(store.count(listed).await, 1);
    let first = turn(&*node).await;
    let results: Vec<WorkItem> = (10..15).map(|id| completed("a", id)).collect();
    assert_eq!(first.item.messages, results);
    // Others arrive under the lease, and its commit leaves them fetchable.
    complete_together(&store, 15..20).await;
    let committed = node.store_turn(commit(&first.lock_token, vec![heard("a", 2)])).await.unwrap();
    assert!(committed.more_waits);
    let results: Vec<WorkItem> = (15..20).map(|id| completed("a", id)).collect();
    assert_eq!(turn(&*node).await.item.messages, results);
}

/// A cancellation behind a turn that does not take all messages comes with it. Its attempts did not
/// count, so that one that never got through was never given up.
#[tokio::test]
async fn a_cancellation_that_joins_a_turn_counts_with_its_attempts() {
    let store = Store::new();
    let node = store.node().await;
    create(&*node, "a").await;
    let sql = store.sql().await;
    add_messages(&store, "a", TURN_MESSAGES + 1, 1).await;
    let cancel = WorkItem::CancelInstance { instance: "a".to_owned(), reason: "why".to_owned() };
    node.enqueue_for_orchestrator(cancel.clone(), None).await.unwrap();
    sql.run(
        "UPDATE $.orchestrator_queue SET attempt_count = 5
         WHERE id = (SELECT max(id) FROM $.orchestrator_queue)",
    )
    .await;
    let turn = turn(&*node).await;
    assert_eq!(turn.item.messages.last(), Some(&cancel));
    assert_eq!(turn.attempt_count, 6);
}
