//! The first turn of an instance goes straight to a fetch, before anything is stored.

use std::collections::HashSet;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{
    FetchedTurn, Provider, ProviderAdmin, ProviderErrorKind, TurnFetch,
};

use crate::deletion::hide;
use crate::polls::Polls;
use crate::support::*;

fn patient(turns_max: usize) -> TurnFetch<'static> {
    wish(turns_max).with_poll_timeout(PATIENCE)
}

async fn send(node: &impl Provider, instance: &str) {
    node.enqueue_for_orchestrator(start(instance), None).await.unwrap();
}

/// Waits until a fetch has polled in vain and waits: on a busy machine a poll takes so long that a
/// start would become a message before the fetch claims it.
async fn until_it_waits<T>(store: &Store, fetch: Pin<&mut impl Future<Output = T>>) {
    let polls = Polls::from_now(store).await;
    tokio::select! {
        biased;
        _turns = fetch => panic!("nothing is there"),
        () = polls.until_one_ends() => {}
    }
}

/// A fetch that has polled and waits, and the turns that it returns once `sent` has started.
async fn fetch_during(
    store: &Store,
    node: &impl Provider,
    turns_max: usize,
    sent: impl Future<Output = ()>,
) -> Vec<FetchedTurn> {
    let mut fetch = pin!(node.fetch_orchestration_items(patient(turns_max)));
    until_it_waits(store, fetch.as_mut()).await;
    let (turns, ()) = tokio::join!(fetch, sent);
    turns.unwrap()
}

#[tokio::test]
async fn a_start_returns_its_turn_without_a_poll() {
    let store = Store::live();
    let node = store.node().await;
    let sql = store.sql().await;
    let sent = async {
        // From now on no fetch can find anything.
        sql.run(&format!("DROP FUNCTION $.{}", sql.function("fetch_turns").await)).await;
        send(&*node, "a").await;
    };
    let turns = fetch_during(&store, &*node, 4, sent).await;
    assert_eq!(turns.len(), 1);
    assert_eq!(turns[0].item.messages, [start("a")]);
    assert_eq!((turns[0].attempt_count, turns[0].item.orchestration_name.as_str()), (1, "Test"));
    node.store_turn(commit(&turns[0].lock_token, vec![started("a")])).await.unwrap();
}

/// Fetches the turn of a start and continues with it before the start gets its response.
async fn start_and<T>(
    node: &impl Provider,
    instance: &str,
    then: impl AsyncFnOnce(FetchedTurn) -> T,
) -> T {
    let turn = async {
        let turn = node.fetch_orchestration_items(patient(4)).await.unwrap().pop().unwrap();
        then(turn).await
    };
    let (answer, ()) = tokio::join!(turn, send(node, instance));
    answer
}

/// Like [`start_and`], with a fetch that waits already.
async fn start_waiting_and<T>(
    store: &Store,
    node: &impl Provider,
    instance: &str,
    then: impl AsyncFnOnce(FetchedTurn) -> T,
) -> T {
    let mut fetch = pin!(node.fetch_orchestration_items(patient(4)));
    until_it_waits(store, fetch.as_mut()).await;
    let turn = async { then(fetch.await.unwrap().pop().unwrap()).await };
    let (answer, ()) = tokio::join!(turn, send(node, instance));
    answer
}

#[tokio::test]
async fn the_commit_of_the_first_turn_stores_the_start() {
    const INSTANCES: i64 = 30;
    let store = Store::live();
    let node = store.node().await;
    let sql = store.sql().await;
    sql.run(
        "CREATE TABLE $.seen (id BIGINT);
         CREATE FUNCTION $.see() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN INSERT INTO $.seen VALUES (new.id); RETURN NULL; END';
         CREATE TRIGGER see AFTER INSERT ON $.orchestrator_queue
             FOR EACH ROW EXECUTE FUNCTION $.see()",
    )
    .await;
    for number in 0..INSTANCES {
        let instance = format!("i-{number}");
        let stored = start_and(&*node, &instance, async |turn| {
            node.store_turn(commit(&turn.lock_token, vec![started(&instance)])).await.unwrap()
        });
        assert!(stored.await.incarnation.is_some());
        assert_eq!(node.read(&instance).await.unwrap().len(), 1);
    }
    assert_eq!(sql.count("SELECT count(*) FROM $.instances").await, INSTANCES);
    // A busy machine may make some of them late.
    let messages = sql.count("SELECT count(*) FROM $.seen").await;
    assert!(messages < INSTANCES, "{messages} of {INSTANCES} starts were messages first");
}

#[tokio::test]
async fn a_start_whose_turn_takes_long_is_stored_under_its_lease() {
    let store = Store::live();
    let (node, other) = (store.node().await, store.node().await);
    let turns = fetch_during(&store, &*node, 4, send(&*node, "a")).await;
    assert_eq!(store.count("SELECT count(*) FROM $.orchestrator_queue").await, 1);
    assert!(try_turn(&*other).await.is_none(), "it is leased");
    node.renew_orchestration_item_lock(&turns[0].lock_token, LEASE).await.unwrap();
    node.store_turn(commit(&turns[0].lock_token, vec![started("a")])).await.unwrap();
    assert_eq!(store.count("SELECT count(*) FROM $.orchestrator_queue").await, 0);
}

/// A deletion that had removed the history, but not all rows of the id, took the new instance with
/// it, although its start had been acknowledged.
#[tokio::test]
async fn a_first_turn_waits_until_a_deletion_of_its_id_is_complete() {
    let store = Store::live();
    let (deleting, node) = (store.node().await, store.node().await);
    create(&*deleting, "a").await;
    let sql = store.sql().await;
    // The deletion is between two slices, and its caller is alive.
    hide(&sql, "a").await;
    sql.run("DELETE FROM $.history; UPDATE $.deletions SET touched_at = 'infinity'").await;
    start_waiting_and(&store, &*node, "a", async |turn| {
        let refused = node.store_turn(commit(&turn.lock_token, vec![started("a")])).await;
        assert!(refused.is_err(), "{refused:?}");
    })
    .await;
    assert!(try_turn(&*node).await.is_none(), "it waits");
    let other = deleting.delete_instance("a", true).await.unwrap_err();
    assert_eq!(other.kind, ProviderErrorKind::NotFound, "another caller deletes it");
    sql.run("UPDATE $.deletions SET touched_at = 'epoch'").await;
    deleting.delete_instance("a", true).await.unwrap();
    let turn = node.fetch_orchestration_items(patient(1)).await.unwrap().pop().unwrap();
    assert_eq!(turn.item.messages, [start("a")]);
    node.store_turn(commit(&turn.lock_token, vec![started("a")])).await.unwrap();
    assert_eq!(node.read("a").await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_first_turn_can_be_abandoned() {
    let store = Store::live();
    let node = store.node().await;
    for (instance, ignore_attempt, attempts) in [("a", true, 1), ("b", false, 2)] {
        start_and(&*node, instance, async |turn| {
            let token = turn.lock_token;
            node.abandon_orchestration_item(&token, None, ignore_attempt).await.unwrap();
            let refused = node.store_turn(commit(&token, vec![started(instance)])).await;
            assert!(refused.unwrap_err().message.contains("Invalid lock token"));
        })
        .await;
        let again = turn(&*node).await;
        assert_eq!((again.item.instance.as_str(), again.attempt_count), (instance, attempts));
        node.store_turn(commit(&again.lock_token, vec![started(instance)])).await.unwrap();
    }
}

#[tokio::test]
async fn a_commit_that_fails_leaves_the_start_a_message() {
    let store = Store::live();
    let node = store.node().await;
    start_waiting_and(&store, &*node, "a", async |turn| {
        let twice = vec![started("a"), started("a")];
        node.store_turn(commit(&turn.lock_token, twice)).await.unwrap_err();
        // On a busy machine the start was late: then its message is leased to the turn.
        if let Err(error) = node.abandon_orchestration_item(&turn.lock_token, None, true).await {
            assert!(error.message.contains("Invalid lock token"), "{error}");
        }
    })
    .await;
    let again = turn(&*node).await;
    assert_eq!(again.item.messages, [start("a")]);
    assert_eq!(again.attempt_count, 1);
}

#[tokio::test]
async fn a_start_whose_caller_went_away_did_not_happen() {
    let store = Store::live();
    let node = store.node().await;
    let mut fetch = pin!(node.fetch_orchestration_items(patient(4)));
    until_it_waits(&store, fetch.as_mut()).await;
    let turns = tokio::select! {
        biased;
        turns = fetch => turns.unwrap(),
        _ = node.enqueue_for_orchestrator(start("a"), None) => panic!("no turn has been committed"),
    };
    let refused = node.store_turn(commit(&turns[0].lock_token, vec![started("a")])).await;
    assert!(refused.unwrap_err().message.contains("Invalid lock token"));
    assert_eq!(store.count("SELECT count(*) FROM $.orchestrator_queue").await, 0);
}

#[tokio::test]
async fn messages_for_a_new_instance_come_after_its_start() {
    let store = Store::live();
    let node = store.node().await;
    for instance in ["soon", "late"] {
        node.enqueue_for_orchestrator(queued(instance, "early"), None).await.unwrap();
        assert!(try_turn(&*node).await.is_none(), "it is set aside");
        let committed = if instance == "soon" {
            start_waiting_and(&store, &*node, instance, async |turn| {
                assert_eq!(turn.item.messages, [start(instance)]);
                node.store_turn(commit(&turn.lock_token, vec![started(instance)])).await.unwrap()
            })
            .await
        } else {
            let turn = fetch_during(&store, &*node, 4, send(&*node, instance)).await.pop().unwrap();
            node.store_turn(commit(&turn.lock_token, vec![started(instance)])).await.unwrap()
        };
        assert!(committed.more_waits);
        let next = turn(&*node).await;
        assert_eq!(next.item.messages, [queued(instance, "early")]);
        node.store_turn(commit(&next.lock_token, vec![heard(instance, 2)])).await.unwrap();
    }
}

#[tokio::test]
async fn a_second_start_is_a_message_for_what_exists() {
    let store = Store::live();
    let (node, other) = (store.node().await, store.node().await);
    create(&*other, "a").await;
    start_waiting_and(&store, &*node, "a", async |turn| {
        assert!(turn.item.history.is_empty(), "no fetch has read it");
        let refused = node.store_turn(commit(&turn.lock_token, vec![started("a")])).await;
        assert!(refused.unwrap_err().message.contains("Invalid lock token"));
    })
    .await;
    let is_a_message = async |next: FetchedTurn| {
        assert_eq!(next.item.history.len(), 1);
        assert_eq!(next.item.messages, [start("a")]);
        node.store_turn(commit(&next.lock_token, vec![])).await.unwrap();
    };
    // The other node has its history in memory and comes first for a moment.
    is_a_message(node.fetch_orchestration_items(patient(1)).await.unwrap().remove(0)).await;
    // Now this node knows that it is not new.
    is_a_message(fetch_during(&store, &*node, 4, send(&*node, "a")).await.remove(0)).await;
}

#[tokio::test]
async fn two_starts_at_once_are_one_turn() {
    let store = Store::live();
    let node = store.node().await;
    let both = async {
        tokio::join!(send(&*node, "a"), send(&*node, "a"));
    };
    let turns = fetch_during(&store, &*node, 4, both).await;
    assert_eq!(turns.len(), 1);
    let left = try_turn(&*node).await;
    assert!(left.is_none(), "it is leased");
}

/// Whatever happens to the turns, every start gets a response, every instance starts once, and
/// nothing is left over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_start_the_same_instances_start_each_once() {
    const INSTANCES: usize = 60;
    let store = Store::live();
    let nodes = [store.node().await, store.node().await, store.node().await];
    let runs = nodes.clone().map(|node| {
        tokio::spawn(async move {
            loop {
                for turn in node.fetch_orchestration_items(patient(8)).await.unwrap() {
                    let events = match turn.item.history.is_empty() {
                        true => vec![started(&turn.item.instance)],
                        false => vec![],
                    };
                    let committed = node.store_turn(commit(&turn.lock_token, events)).await;
                    if let Err(error) = committed {
                        assert!(error.message.contains("Invalid lock token"), "{error}");
                    }
                }
            }
        })
    });
    let starts = (0..INSTANCES).flat_map(|number| nodes.clone().map(|node| (number, node)));
    let starts = starts.map(|(number, node)| {
        tokio::spawn(async move { send(&*node, &format!("i-{number}")).await })
    });
    for start in starts.collect::<Vec<_>>() {
        start.await.unwrap();
    }
    let left = "SELECT (SELECT count(*) FROM $.orchestrator_queue)
         + (SELECT count(*) FROM $.instance_locks)";
    let sql = store.sql().await;
    let done = async { while sql.count(left).await > 0 {} };
    tokio::time::timeout(PATIENCE, done).await.expect("every message is consumed");
    for run in runs {
        assert!(!run.is_finished(), "a node has failed");
        run.abort();
    }
    let instances = i64::try_from(INSTANCES).unwrap();
    assert_eq!(store.count("SELECT count(*) FROM $.history").await, instances);
    assert_eq!(store.count("SELECT count(*) FROM $.instances").await, instances);
}

#[tokio::test]
async fn surplus_starts_are_left_to_the_next_fetch() {
    let store = Store::live();
    let node = store.node().await;
    let three = async {
        tokio::join!(send(&*node, "a"), send(&*node, "b"), send(&*node, "c"));
    };
    let first = fetch_during(&store, &*node, 2, three).await;
    assert!(!first.is_empty() && first.len() <= 2);
    let mut seen: HashSet<String> = first.into_iter().map(|turn| turn.item.instance).collect();
    while seen.len() < 3 {
        let next = node.fetch_orchestration_items(patient(2)).await.unwrap();
        assert!(!next.is_empty(), "a start is left");
        for turn in next {
            assert!(seen.insert(turn.item.instance), "leased twice");
        }
    }
}

#[tokio::test]
async fn another_node_does_not_lease_a_claimed_start() {
    let store = Store::live();
    let (node, other) = (store.node().await, store.node().await);
    let waiting = other.fetch_orchestration_item(LEASE, Duration::from_secs(2), None);
    let taken = fetch_during(&store, &*node, 4, send(&*node, "a"));
    let (waited, taken) = tokio::join!(waiting, taken);
    assert_eq!(taken.len(), 1);
    assert!(waited.unwrap().is_none());
}

/// A caller may drop a fetch at any moment, also when a start arrives: nothing is lost, no lease
/// remains, and no attempt is counted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_fetch_keeps_no_lease() {
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
            assert!(seen.insert(turn.item.instance), "leased twice");
        }
    }
    let begun = tokio::time::Instant::now();
    while seen.len() < INSTANCES {
        for turn in node.fetch_orchestration_items(patient(64)).await.unwrap() {
            assert_eq!(turn.attempt_count, 1);
            assert!(seen.insert(turn.item.instance), "leased twice");
        }
        assert!(begun.elapsed() < LEASE, "{} of {INSTANCES} came in time", seen.len());
    }
}

/// A node that shuts down drops its fetch, and its process exits. What the server had already
/// leased to that fetch used to stay leased until it expired, because the release was still on its
/// way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_checkpoint_a_dropped_fetch_holds_no_lease() {
    const INSTANCES: u64 = 60;
    let store = Store::live();
    let (node, other) = (store.node().await, store.node().await);
    for number in 0..INSTANCES {
        let instance = format!("i{number}");
        send(&*other, &instance).await;
        let limit = Duration::from_micros(number * 60);
        let fetch = tokio::time::timeout(limit, node.fetch_orchestration_items(wish(4))).await;
        node.checkpoint().await.unwrap();
        let turns = match fetch {
            Ok(turns) => turns.unwrap(),
            Err(_dropped) => other.fetch_orchestration_items(wish(4)).await.unwrap(),
        };
        assert_eq!(turns.len(), 1, "{instance}");
    }
}

/// Starts arrive faster than turns are fetched, so that one always waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_of_starts_does_not_delay_other_messages() {
    let store = Store::live();
    let (node, other) = (store.node().await, store.node().await);
    create(&*node, "old").await;
    let senders: Vec<_> = (0..16)
        .map(|sender| {
            let node = Arc::clone(&node);
            tokio::spawn(async move {
                for number in 0.. {
                    send(&*node, &format!("new-{sender}-{number}")).await;
                }
            })
        })
        .collect();
    let take = async || {
        let turn = node.fetch_orchestration_items(patient(1)).await.unwrap().remove(0);
        let instance = turn.item.instance;
        let event = if instance == "old" { heard("old", 2) } else { started(&instance) };
        node.store_turn(commit(&turn.lock_token, vec![event])).await.unwrap();
        instance
    };
    for _ in 0..20 {
        take().await;
    }
    other.enqueue_for_orchestrator(signal("old", "1"), None).await.unwrap();
    let mut others = 0;
    while take().await != "old" {
        others += 1;
        assert!(others < 300, "{others} starts came first");
    }
    for sender in senders {
        sender.abort();
    }
}
