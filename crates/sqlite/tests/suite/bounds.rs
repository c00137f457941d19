//! How much one turn and one fetch take.

use duroxide_core::providers::{Provider, TurnFetch, WorkItem};
use rusqlite::params;

use crate::support::*;

/// What a turn takes at the most; the limits of the crate are not public.
const TURN_MESSAGES: usize = 1024;

/// Adds queue messages directly: a call for each would be most of the test.
fn add_messages(store: &Store, instance: &str, count: usize, size: usize) {
    let mut sql = store.sql();
    let added = sql.transaction().unwrap();
    for number in 0..count {
        let text = serde_json::to_string(&message(instance, number, size)).unwrap();
        added
            .execute(
                "INSERT INTO orchestrator_queue (instance_id, work_item, visible_at)
                 VALUES (?1, ?2, ?3)",
                params![instance, text, i64::try_from(BEGIN_MS).unwrap()],
            )
            .unwrap();
    }
    added.commit().unwrap();
}

fn message(instance: &str, number: usize, size: usize) -> WorkItem {
    queued(instance, &format!("{number}{}", "x".repeat(size)))
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

/// A million messages of one instance were read, tagged and committed as one turn, which outlived
/// its lease before it began.
#[tokio::test]
async fn a_turn_takes_a_bounded_number_of_messages_in_order() {
    let store = Store::new().await;
    create(&*store.provider, "a").await;
    let count = 2 * TURN_MESSAGES + 7;
    add_messages(&store, "a", count, 1);
    let mut received = Vec::new();
    let mut sizes = Vec::new();
    while let Some(turn) = try_turn(&*store.provider).await {
        assert_eq!(turn.attempt_count, 1);
        sizes.push(turn.item.messages.len());
        received.extend(turn.item.messages);
        store.provider.store_turn(commit(&turn.lock_token, Vec::new())).await.unwrap();
    }
    assert_eq!(sizes, [TURN_MESSAGES, TURN_MESSAGES, 7]);
    let expected: Vec<_> = (0..count).map(|number| message("a", number, 1)).collect();
    assert_eq!(received, expected);
}

#[tokio::test]
async fn a_turn_takes_a_bounded_number_of_bytes() {
    let store = Store::new().await;
    create(&*store.provider, "a").await;
    add_messages(&store, "a", 5, 400_000);
    let mut sizes = Vec::new();
    while let Some(turn) = try_turn(&*store.provider).await {
        sizes.push(turn.item.messages.len());
        store.provider.store_turn(commit(&turn.lock_token, Vec::new())).await.unwrap();
    }
    assert_eq!(sizes, [2, 2, 1]);
    // A message beyond the bound is a turn by itself.
    add_messages(&store, "a", 2, 3_000_000);
    assert_eq!(turn(&*store.provider).await.item.messages.len(), 1);
}

#[tokio::test]
async fn a_released_part_is_fetched_again_and_an_expired_one_too() {
    let store = Store::new().await;
    create(&*store.provider, "a").await;
    add_messages(&store, "a", TURN_MESSAGES + 1, 1);
    let first = turn(&*store.provider).await;
    store.provider.abandon_orchestration_item(&first.lock_token, None, true).await.unwrap();
    let second = turn(&*store.provider).await;
    assert_eq!((second.attempt_count, &second.item.messages), (1, &first.item.messages));
    store.clock.advance(LEASE);
    let third = turn(&*store.provider).await;
    assert_eq!((third.attempt_count, &third.item.messages), (2, &first.item.messages));
    store.provider.store_turn(commit(&third.lock_token, Vec::new())).await.unwrap();
    assert_eq!(turn(&*store.provider).await.item.messages, [message("a", TURN_MESSAGES, 1)]);
}

/// A continuation that waited behind a turn's worth of messages never came: each turn without it
/// was released until the instance was poisoned.
#[tokio::test]
async fn a_continuation_behind_many_messages_comes_with_the_next_turn() {
    let store = Store::new().await;
    create(&*store.provider, "a").await;
    add_messages(&store, "a", TURN_MESSAGES + 5, 1);
    store.provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    store.provider.enqueue_for_orchestrator(continued("a", "next"), None).await.unwrap();
    let next = turn(&*store.provider).await;
    assert_eq!(next.item.messages.len(), TURN_MESSAGES + 1);
    assert_eq!(next.item.messages.last(), Some(&continued("a", "next")));
    store.provider.store_turn(commit(&next.lock_token, Vec::new())).await.unwrap();
    let rest = turn(&*store.provider).await;
    assert_eq!(rest.item.messages.len(), 6);
    assert!(!rest.item.messages.contains(&continued("a", "next")));
}

#[tokio::test]
async fn a_start_behind_many_messages_comes_with_the_first_turn() {
    let store = Store::new().await;
    add_messages(&store, "a", TURN_MESSAGES + 5, 1);
    store.provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    let first = turn(&*store.provider).await;
    assert_eq!(first.item.orchestration_name, "Test");
    assert_eq!(first.item.messages.last(), Some(&start("a")));
    store.provider.store_turn(commit(&first.lock_token, vec![started("a", 1)])).await.unwrap();
    assert_eq!(turn(&*store.provider).await.item.messages.len(), 5);
}

/// An instance that continues as new after each message carried all that waited, once more with
/// each execution.
#[tokio::test]
async fn a_continuation_that_carries_much_comes_alone() {
    let store = Store::new().await;
    create(&*store.provider, "a").await;
    add_messages(&store, "a", 3, 1);
    let carrying = continued("a", &"x".repeat(100_000));
    store.provider.enqueue_for_orchestrator(carrying.clone(), None).await.unwrap();
    let alone = turn(&*store.provider).await;
    assert_eq!(alone.item.messages, [carrying]);
    store.provider.store_turn(commit(&alone.lock_token, Vec::new())).await.unwrap();
    assert_eq!(turn(&*store.provider).await.item.messages.len(), 3);
}

#[tokio::test]
async fn a_fetch_leases_fewer_turns_if_they_are_large() {
    let store = Store::new().await;
    for instance in ["a", "b", "c", "d", "e", "f"] {
        create(&*store.provider, instance).await;
    }
    for instance in ["a", "b", "c", "d", "e", "f"] {
        add_messages(&store, instance, 1, 3_000_000);
    }
    let fetched = store.provider.fetch_orchestration_items(wish(6)).await.unwrap();
    assert_eq!(fetched.len(), 3);
    let fetched = store.provider.fetch_orchestration_items(wish(6)).await.unwrap();
    assert_eq!(fetched.len(), 3);
}

/// The histories of all turns of a fetch were read by the writer thread, while every commit waited.
#[tokio::test]
async fn a_long_history_is_left_to_a_caller_who_reads_it() {
    let store = Store::new().await;
    create(&*store.provider, "a").await;
    let events = (2..=5000).map(|id| heard("a", id)).collect();
    step(&*store.provider, "a", events).await;
    store.provider.enqueue_for_orchestrator(signal("a", "1"), None).await.unwrap();
    let request = TurnFetch::new(1, LEASE).with_deferred_histories();
    let turn = store.provider.fetch_orchestration_items(request).await.unwrap().pop().unwrap();
    let deferred = turn.deferred.expect("the history is long");
    assert_eq!((deferred.events, turn.item.history.len()), (5000, 0));
    let state = store.provider.read_turn_state("a", 1).await.unwrap();
    assert_eq!(state.history, store.provider.read("a").await.unwrap());
    assert_eq!(state.history.len(), 5000);
    assert!(state.kv_snapshot.is_some());
    let stored: u64 =
        state.history.iter().map(|e| serde_json::to_string(e).unwrap().len() as u64).sum();
    assert!(deferred.bytes.abs_diff(stored) < stored / 5, "{} of {stored}", deferred.bytes);
    // A caller that does not read histories gets them with the turn.
    store.provider.abandon_orchestration_item(&turn.lock_token, None, true).await.unwrap();
    let whole = try_turn(&*store.provider).await.unwrap();
    assert_eq!((whole.item.history.len(), whole.deferred), (5000, None));
}

/// The fetch took as many listed messages as it wants turns. Two of them were of one instance, so
/// that it returned one turn and left the next instance waiting.
#[tokio::test]
async fn several_listed_messages_of_one_instance_do_not_hide_the_next_one() {
    let store = Store::new().await;
    let provider = &store.provider;
    for instance in ["a", "b"] {
        create(&**provider, instance).await;
    }
    let seconds = |seconds| Some(std::time::Duration::from_secs(seconds));
    // Each becomes visible before the others that wait, so that both are listed.
    for (instance, delay) in [("b", seconds(2)), ("b", seconds(1)), ("a", seconds(2))] {
        provider.enqueue_for_orchestrator(signal(instance, "x"), delay).await.unwrap();
    }
    store.clock.advance(std::time::Duration::from_secs(2));
    let turns = provider.fetch_orchestration_items(wish(2)).await.unwrap();
    let instances: Vec<&str> = turns.iter().map(|turn| turn.item.instance.as_str()).collect();
    assert_eq!(instances, ["b", "a"]);
}
