//! The first turn of an instance goes straight to a fetch that waits.

use std::collections::HashSet;
use std::time::Duration;

use duroxide_core::providers::{FetchedTurn, Provider, TurnFetch};

use crate::support::*;

fn patient(turns_max: usize) -> TurnFetch<'static> {
    TurnFetch { poll_timeout: PATIENCE, ..wish(turns_max) }
}

async fn send(node: &impl Provider, instance: &str) {
    node.enqueue_for_orchestrator(start(instance), None).await.unwrap();
}

/// A fetch that has looked and waits, and the turns that it gets once `sent` has begun.
async fn fetch_during(
    node: &impl Provider,
    turns_max: usize,
    sent: impl Future<Output = ()>,
) -> Vec<FetchedTurn> {
    let fetch = node.fetch_orchestration_items(patient(turns_max));
    tokio::pin!(fetch);
    // Nothing is there: it looks and begins to wait.
    let looked = tokio::time::timeout(Duration::from_millis(300), &mut fetch).await;
    assert!(looked.is_err());
    let (turns, ()) = tokio::join!(fetch, sent);
    turns.unwrap()
}

#[tokio::test]
async fn a_start_brings_its_turn_without_a_fetch() {
    let store = Store::live();
    let node = store.node().await;
    let sql = store.sql().await;
    let sent = async {
        // From now on no fetch can find anything.
        sql.run("DROP FUNCTION $.fetch_turns").await;
        send(&*node, "a").await;
    };
    let turns = fetch_during(&*node, 4, sent).await;
    assert_eq!(turns.len(), 1);
    node.store_turn(commit(&turns[0].lock_token, vec![started("a")])).await.unwrap();
}

#[tokio::test]
async fn what_waits_for_a_new_instance_comes_with_its_start() {
    let store = Store::live();
    let node = store.node().await;
    node.enqueue_for_orchestrator(signal("a", "early"), None).await.unwrap();
    assert!(try_turn(&*node).await.is_none(), "it is set aside");
    let turns = fetch_during(&*node, 4, send(&*node, "a")).await;
    assert_eq!(turns.len(), 1);
    assert_eq!(turns[0].item.messages, [signal("a", "early"), start("a")]);
    assert_eq!((turns[0].attempt_count, turns[0].item.orchestration_name.as_str()), (1, "Test"));
    node.store_turn(commit(&turns[0].lock_token, vec![started("a")])).await.unwrap();
    assert_eq!(store.count("SELECT count(*) FROM $.orchestrator_queue").await, 0);
}

#[tokio::test]
async fn a_second_start_is_a_message_for_what_exists() {
    let store = Store::live();
    let node = store.node().await;
    create(&*node, "a").await;
    let turns = fetch_during(&*node, 4, send(&*node, "a")).await;
    assert_eq!(turns.len(), 1);
    assert_eq!(turns[0].item.history.len(), 1);
    assert_eq!(turns[0].item.messages, [start("a")]);
}

#[tokio::test]
async fn two_starts_at_once_are_one_turn() {
    let store = Store::live();
    let node = store.node().await;
    let both = async {
        tokio::join!(send(&*node, "a"), send(&*node, "a"));
    };
    let turns = fetch_during(&*node, 4, both).await;
    assert_eq!(turns.len(), 1);
    let left = try_turn(&*node).await;
    assert!(left.is_none(), "it is leased");
}

#[tokio::test]
async fn more_starts_than_were_asked_for_are_left_to_the_next_fetch() {
    let store = Store::live();
    let node = store.node().await;
    let three = async {
        tokio::join!(send(&*node, "a"), send(&*node, "b"), send(&*node, "c"));
    };
    let first = fetch_during(&*node, 2, three).await;
    assert!(!first.is_empty() && first.len() <= 2);
    let mut seen: HashSet<String> = first.into_iter().map(|turn| turn.item.instance).collect();
    while seen.len() < 3 {
        let next = node.fetch_orchestration_items(patient(2)).await.unwrap();
        assert!(!next.is_empty(), "a start is left");
        for turn in next {
            assert!(seen.insert(turn.item.instance), "handed out twice");
        }
    }
}

#[tokio::test]
async fn another_node_need_not_look_at_a_start_that_is_taken() {
    let store = Store::live();
    let (node, other) = (store.node().await, store.node().await);
    let waiting = other.fetch_orchestration_item(LEASE, Duration::from_millis(600), None);
    let taken = fetch_during(&*node, 4, send(&*node, "a"));
    let (waited, taken) = tokio::join!(waiting, taken);
    assert_eq!(taken.len(), 1);
    assert!(waited.unwrap().is_none());
}

/// A fetch may be dropped at any moment, also when its ride is under way: nothing is lost, nothing
/// waits for the end of a lease, and nothing counts as an attempt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_fetch_gives_back_what_was_brought() {
    const INSTANCES: usize = 120;
    let store = Store::live();
    let node = store.node().await;
    let mut seen = HashSet::new();
    for number in 0..INSTANCES {
        let instance = format!("i{number}");
        let limit = Duration::from_micros(u64::try_from(number).unwrap() * 60);
        let fetch = tokio::time::timeout(limit, node.fetch_orchestration_items(patient(4)));
        let (fetched, ()) = tokio::join!(fetch, send(&*node, &instance));
        for turn in fetched.map(Result::unwrap).unwrap_or_default() {
            assert!(seen.insert(turn.item.instance), "handed out twice");
        }
    }
    let begun = tokio::time::Instant::now();
    while seen.len() < INSTANCES {
        for turn in node.fetch_orchestration_items(patient(64)).await.unwrap() {
            assert_eq!(turn.attempt_count, 1);
            assert!(seen.insert(turn.item.instance), "handed out twice");
        }
        assert!(begun.elapsed() < LEASE, "{} of {INSTANCES} came in time", seen.len());
    }
}
