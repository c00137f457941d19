//! At most one caller holds an instance.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::Provider;
use tokio::task::JoinSet;

use crate::ProviderFactory;
use crate::limits::RETRIES_MAX;
use crate::support::{Must, Store, Turn, commit, completed, heard, signal, start_item, started};

/// A leased instance can be fetched again only after its lease expires, under another token.
pub async fn test_exclusive_instance_lock<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let first = store.turn_of("a").await;
    store.no_turn("a leased instance is not fetched").await;
    store.pass(store.lease() / 2).await;
    store.no_turn("a lease holds until it expires").await;
    store.expire().await;
    let second = store.turn_of("a").await;
    assert_ne!(first.token, second.token, "every lease has its own token");
    assert_eq!(second.item.messages, first.item.messages, "an expired lease loses no message");
}

/// Every lease has a new token, for the same and for other instances.
pub async fn test_lock_token_uniqueness<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let mut tokens = BTreeSet::new();
    for number in 0..5 {
        let instance = format!("instance-{number}");
        store.send(start_item(&instance)).await;
        tokens.insert(store.turn_of(&instance).await.token);
    }
    assert_eq!(tokens.len(), 5, "five fetches return five tokens");
    let mut token = tokens.first().cloned().expect("five turns were fetched");
    for _ in 0..5 {
        let abandoned = store.provider.abandon_orchestration_item(&token, None, true).await;
        abandoned.must("abandoning a turn");
        token = store.try_turn().await.expect("an abandoned turn is fetchable").token;
        assert!(tokens.insert(token.clone()), "the token of a released lease is reused");
    }
}

/// An unknown token is refused and releases no lease.
pub async fn test_invalid_lock_token_rejection<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    let mut bogus = commit(&turn, vec![started("a", 1)]);
    bogus.lock_token = "no-such-token".to_owned();
    store.ack(bogus).await.must_fail_for_good("a commit under an unknown token");
    let abandoned = store.provider.abandon_orchestration_item("no-such-token", None, false).await;
    abandoned.must_fail("abandoning under an unknown token");
    let lease = store.lease();
    let renewed = store.provider.renew_orchestration_item_lock("no-such-token", lease).await;
    renewed.must_fail("renewing an unknown token");
    store.no_turn("the valid lease is still held").await;
    store.ack(commit(&turn, vec![started("a", 1)])).await.must("the commit under the valid token");
}

/// Ten callers fetch ten instances at the same time; each instance goes to one caller.
pub async fn test_concurrent_instance_fetching<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let instances = send_starts(&store, 10).await;
    let mut fetched = fetch_at_once(&store, 10).await;
    // A caller may lose a race and get nothing; the instance is still fetchable.
    while let Some(turn) = store.try_turn().await {
        fetched.push(turn);
    }
    assert_each_once(&fetched, &instances);
}

/// Messages that arrive under a lease wait until it expires and keep their order.
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
    store.no_turn("messages of a leased instance are not fetched").await;
    store.expire().await;
    let second = store.turn_of("a").await;
    assert_eq!(second.item.messages, expected, "all messages come, oldest first");
    assert_eq!(second.attempt, 2, "the start is fetched for the second time");
}

/// A lease on one instance does not block another.
pub async fn test_cross_instance_lock_isolation<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("held")).await;
    let held = store.turn_of("held").await;
    for number in 0..5 {
        store.send(signal("held", "waits")).await;
        let other = format!("other-{number}");
        store.send(start_item(&other)).await;
        let turn = store.turn_of(&other).await;
        store
            .ack(commit(&turn, vec![started(&other, 1)]))
            .await
            .must("a commit while another instance is leased");
        store.no_turn("only the leased instance has messages").await;
    }
    let own = commit(&held, vec![started("held", 1)]);
    store.ack(own).await.must("the commit of the leased instance");
    assert_eq!(store.turn_of("held").await.item.messages.len(), 5);
}

/// A commit consumes the messages of its turn; later messages are delivered next.
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

/// Of many callers exactly one fetches the instance, in every round.
pub async fn test_multi_threaded_lock_contention<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    for round in 1..=5 {
        let fetched = fetch_at_once(&store, 8).await;
        assert_eq!(fetched.len(), 1, "one instance goes to one caller, round {round}");
        let abandoned =
            store.provider.abandon_orchestration_item(&fetched[0].token, None, true).await;
        abandoned.must("abandoning a turn");
    }
}

/// With more callers than instances, every instance is processed exactly once.
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

/// A lease excludes other threads. After it expires one of them fetches the instance, and the old
/// holder cannot commit.
pub async fn test_multi_threaded_lock_expiration_recovery<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let first = store.turn_of("a").await;
    let too_early = fetch_at_once(&store, 4).await;
    assert!(too_early.is_empty(), "a held lease excludes all other callers: {too_early:?}");
    store.expire().await;
    let recovered = fetch_at_once(&store, 4).await;
    assert_eq!(recovered.len(), 1, "one caller fetches an expired instance");
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
    assert_eq!(&found, instances, "every instance is fetched");
    assert_eq!(turns.len(), instances.len(), "no instance is fetched twice");
}

/// Fetches with `callers` at the same time and returns what they got.
pub(crate) async fn fetch_at_once<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    callers: usize,
) -> Vec<Turn> {
    let mut fetches = JoinSet::new();
    for _ in 0..callers {
        let provider = Arc::clone(&store.provider);
        let lease = store.lease();
        fetches.spawn(async move { fetch_with_retries(&*provider, lease).await });
    }
    fetches.join_all().await.into_iter().flatten().collect()
}

/// Fetches once. Under contention a transient error is allowed and retried.
async fn fetch_with_retries(provider: &dyn Provider, lease: Duration) -> Option<Turn> {
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
    while let Some(turn) = fetch_with_retries(provider, lease).await {
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
            let transient = error.is_retryable() && attempt < RETRIES_MAX;
            assert!(transient, "a commit under contention: {error}");
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
