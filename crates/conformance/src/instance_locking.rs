//! One instance, one holder at a time.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::Provider;
use tokio::task::JoinSet;

use crate::ProviderFactory;
use crate::limits::RETRIES_MAX;
use crate::support::{Must, Store, Turn, commit, completed, heard, signal, start_item, started};

/// A held instance is handed out again only when its lease has ended, under another token.
pub async fn test_exclusive_instance_lock<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let first = store.turn_of("a").await;
    store.no_turn("a held instance is not handed out").await;
    store.pass(store.lease() / 2).await;
    store.no_turn("a lease holds to its end").await;
    store.expire().await;
    let second = store.turn_of("a").await;
    assert_ne!(first.token, second.token, "every lease has a token of its own");
    assert_eq!(second.item.messages, first.item.messages, "nothing is lost with a lease");
}

/// No token is given out twice, neither for other instances nor for the same one.
pub async fn test_lock_token_uniqueness<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let mut tokens = BTreeSet::new();
    for number in 0..5 {
        let instance = format!("instance-{number}");
        store.send(start_item(&instance)).await;
        tokens.insert(store.turn_of(&instance).await.token);
    }
    assert_eq!(tokens.len(), 5, "five fetches give five tokens");
    let mut token = tokens.first().cloned().expect("there are five");
    for _ in 0..5 {
        let given_back = store.provider.abandon_orchestration_item(&token, None, true).await;
        given_back.must("giving back a turn");
        token = store.try_turn().await.expect("a turn given back is fetchable").token;
        assert!(tokens.insert(token.clone()), "the token of an ended lease is used again");
    }
}

/// A token that nobody was given is refused and frees nothing.
pub async fn test_invalid_lock_token_rejection<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    let mut bogus = commit(&turn, vec![started("a", 1)]);
    bogus.lock_token = "no-such-token".to_owned();
    store.ack(bogus).await.must_fail_for_good("a commit under an unknown token");
    let given_back = store.provider.abandon_orchestration_item("no-such-token", None, false).await;
    given_back.must_fail("giving back under an unknown token");
    let lease = store.lease();
    let renewed = store.provider.renew_orchestration_item_lock("no-such-token", lease).await;
    renewed.must_fail("renewing an unknown token");
    store.no_turn("the real lease is still held").await;
    store.ack(commit(&turn, vec![started("a", 1)])).await.must("the real commit");
}

/// Ten instances, ten callers at once: each instance goes to one of them.
pub async fn test_concurrent_instance_fetching<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let instances = send_starts(&store, 10).await;
    let mut fetched = fetch_at_once(&store, 10).await;
    // A caller may lose a race and come back empty; what it missed is still there.
    while let Some(turn) = store.try_turn().await {
        fetched.push(turn);
    }
    assert_each_once(&fetched, &instances);
}

/// What arrives under a lease waits for its end and keeps its order.
pub async fn test_completions_arriving_during_lock_blocked<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let first = store.turn_of("a").await;
    let mut expected = first.item.messages;
    for id in 2..=4 {
        store.send(completed("a", id)).await;
        expected.push(completed("a", id));
    }
    store.no_turn("messages of a held instance are not handed out").await;
    store.expire().await;
    let second = store.turn_of("a").await;
    assert_eq!(second.item.messages, expected, "all messages come, oldest first");
    assert_eq!(second.attempt, 2, "the start is fetched for the second time");
}

/// Holding one instance does not hold up another.
pub async fn test_cross_instance_lock_isolation<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("held")).await;
    let held = store.turn_of("held").await;
    for number in 0..5 {
        store.send(signal("held", "waits")).await;
        let other = format!("other-{number}");
        store.send(start_item(&other)).await;
        let turn = store.turn_of(&other).await;
        store.ack(commit(&turn, vec![started(&other, 1)])).await.must("a commit beside a lease");
        store.no_turn("only the held instance has messages").await;
    }
    let own = commit(&held, vec![started("held", 1)]);
    store.ack(own).await.must("the commit of the held instance");
    assert_eq!(store.turn_of("held").await.item.messages.len(), 5);
}

/// A commit consumes what it was handed; what came later is delivered next.
pub async fn test_message_tagging_during_lock<F: ProviderFactory + ?Sized>(factory: &F) {
    later_messages_are_delivered_next(factory, &["later"]).await;
}

/// The same with two later messages.
pub async fn test_ack_only_affects_locked_messages<F: ProviderFactory + ?Sized>(factory: &F) {
    later_messages_are_delivered_next(factory, &["later 1", "later 2"]).await;
}

async fn later_messages_are_delivered_next<F: ProviderFactory + ?Sized>(
    factory: &F,
    later: &[&str],
) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.send(signal("a", "first")).await;
    let turn = store.turn_of("a").await;
    assert_eq!(turn.item.messages, vec![signal("a", "first")]);
    let later: Vec<_> = later.iter().map(|data| signal("a", data)).collect();
    for message in &later {
        store.send(message.clone()).await;
    }
    store.ack(commit(&turn, vec![heard("a", 1, 2)])).await.must("a commit");
    let next = store.turn_of("a").await;
    assert_eq!(next.item.messages, later, "later messages are delivered, the first is consumed");
    assert_eq!(next.attempt, 1, "later messages were not part of the first fetch");
    store.ack(commit(&next, vec![heard("a", 1, 3)])).await.must("the next commit");
    store.no_turn("everything is consumed").await;
}

/// Many callers, one instance, one winner, round after round.
pub async fn test_multi_threaded_lock_contention<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    for round in 1..=5 {
        let fetched = fetch_at_once(&store, 8).await;
        assert_eq!(fetched.len(), 1, "one instance goes to one caller, round {round}");
        let given_back =
            store.provider.abandon_orchestration_item(&fetched[0].token, None, true).await;
        given_back.must("giving back a turn");
    }
}

/// More callers than instances: no instance is processed twice, none is left out.
pub async fn test_multi_threaded_no_duplicate_processing<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let instances = send_starts(&store, 10).await;
    let mut workers = JoinSet::new();
    for _ in 0..16 {
        let provider = Arc::clone(&store.provider);
        let lease = store.lease();
        workers.spawn(async move { process_all(&*provider, lease).await });
    }
    let mut processed: Vec<Turn> = workers.join_all().await.into_iter().flatten().collect();
    while let Some(turn) = store.try_turn().await {
        processed.push(turn);
    }
    assert_each_once(&processed, &instances);
}

/// A held lease keeps other threads out; its end lets one in and the old holder out.
pub async fn test_multi_threaded_lock_expiration_recovery<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let first = store.turn_of("a").await;
    let too_early = fetch_at_once(&store, 4).await;
    assert!(too_early.is_empty(), "a held lease keeps everyone out: {too_early:?}");
    store.expire().await;
    let recovered = fetch_at_once(&store, 4).await;
    assert_eq!(recovered.len(), 1, "an ended lease lets one caller in");
    let late = store.ack(commit(&first, vec![started("a", 1)])).await;
    late.must_fail_for_good("a commit of the old holder");
    let timely = store.ack(commit(&recovered[0], vec![started("a", 1)])).await;
    timely.must("the commit of the new holder");
}

async fn send_starts<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    count: usize,
) -> BTreeSet<String> {
    let instances: BTreeSet<_> = (0..count).map(|number| format!("instance-{number}")).collect();
    for instance in &instances {
        store.send(start_item(instance)).await;
    }
    instances
}

#[track_caller]
fn assert_each_once(turns: &[Turn], instances: &BTreeSet<String>) {
    let found: BTreeSet<_> = turns.iter().map(|turn| turn.item.instance.clone()).collect();
    assert_eq!(&found, instances, "every instance is handed out");
    assert_eq!(turns.len(), instances.len(), "no instance is handed out twice");
}

/// Fetches by `callers` at the same time; what they were handed.
pub(crate) async fn fetch_at_once<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    callers: usize,
) -> Vec<Turn> {
    let mut fetches = JoinSet::new();
    for _ in 0..callers {
        let provider = Arc::clone(&store.provider);
        let lease = store.lease();
        fetches.spawn(async move { fetch_patiently(&*provider, lease).await });
    }
    fetches.join_all().await.into_iter().flatten().collect()
}

/// One fetch. Under contention a passing error is allowed, and the call is repeated.
async fn fetch_patiently(provider: &dyn Provider, lease: Duration) -> Option<Turn> {
    for _ in 0..RETRIES_MAX {
        match provider.fetch_orchestration_item(lease, Duration::ZERO, None).await {
            Ok(fetched) => {
                return fetched.map(|(item, token, attempt)| Turn { item, token, attempt });
            }
            Err(error) => assert!(error.is_retryable(), "a fetch under contention: {error}"),
        }
        tokio::task::yield_now().await;
    }
    panic!("a fetch failed {RETRIES_MAX} times in a row");
}

async fn process_all(provider: &dyn Provider, lease: Duration) -> Vec<Turn> {
    let mut processed = Vec::new();
    while let Some(turn) = fetch_patiently(provider, lease).await {
        let done = commit(&turn, vec![started(&turn.item.instance, 1)]);
        for attempt in 1.. {
            let acked = provider
                .ack_orchestration_item(
                    &done.lock_token,
                    done.execution_id,
                    done.history_delta.clone(),
                    vec![],
                    vec![],
                    done.metadata.clone(),
                    vec![],
                )
                .await;
            let Err(error) = acked else { break };
            let hopeful = error.is_retryable() && attempt < RETRIES_MAX;
            assert!(hopeful, "a commit under contention: {error}");
        }
        processed.push(turn);
    }
    processed
}

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __instance_locking {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context instance_locking
            test_exclusive_instance_lock;
            test_lock_token_uniqueness;
            test_invalid_lock_token_rejection;
            test_concurrent_instance_fetching;
            test_completions_arriving_during_lock_blocked;
            test_cross_instance_lock_isolation;
            test_message_tagging_during_lock;
            test_ack_only_affects_locked_messages;
            test_multi_threaded_lock_contention;
            test_multi_threaded_no_duplicate_processing;
            test_multi_threaded_lock_expiration_recovery;
        }
    };
}
