//! One fetch returns several turns. A provider may return fewer than requested, never more.

use std::collections::BTreeSet;
use std::time::Duration;

use duroxide_core::EventKind;
use duroxide_core::providers::{
    DispatcherCapabilityFilter, ExecutionMetadata, FetchFilter, FetchedTurn, SemverRange, TurnFetch,
};
use semver::Version;

use crate::ProviderFactory;
use crate::support::{
    Must, Store, Turn, commit, ended, event, heard, named, signal, start_item, started,
};

/// A request for turns that does not wait.
pub(crate) fn turn_fetch(turns_max: usize, lock_timeout: Duration) -> TurnFetch<'static> {
    TurnFetch::new(turns_max, lock_timeout)
}

/// A turn of a batch as a single fetch returns it. The caller held no history.
#[track_caller]
pub(crate) fn single(turn: FetchedTurn) -> Turn {
    assert_eq!(turn.history_after, 0, "the caller holds no history, so it needs all of it");
    Turn { item: turn.item, token: turn.lock_token, attempt: turn.attempt_count }
}

/// Fetches in batches until nothing is left.
async fn drain<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, turns_max: usize) -> Vec<Turn> {
    let mut found = Vec::new();
    loop {
        let request = turn_fetch(turns_max, store.lease());
        let batch = store.provider.fetch_orchestration_items(request).await;
        let batch = batch.must("fetching a batch of turns");
        assert!(batch.len() <= turns_max, "{} turns, requested {turns_max}", batch.len());
        if batch.is_empty() {
            return found;
        }
        found.extend(batch.into_iter().map(single));
    }
}

/// A batch holds at most the requested number of turns; a request for none leases none.
pub async fn a_batch_of_turns_has_at_most_its_size<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for number in 0..5 {
        store.send(start_item(&format!("instance-{number}"))).await;
    }
    let none = store.provider.fetch_orchestration_items(turn_fetch(0, store.lease())).await;
    assert!(none.must("fetching no turns").is_empty());
    let turns = drain(&store, 2).await;
    assert_eq!(turns.len(), 5, "a request for none leases none");
    assert!(turns.iter().all(|turn| turn.attempt == 1), "a request for none counts no attempt");
}

/// A batch contains each instance once, with its own token and its own messages.
pub async fn a_batch_returns_each_instance_once<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let instances: BTreeSet<_> = (0..6).map(|number| format!("instance-{number}")).collect();
    for round in ["1", "2"] {
        for instance in &instances {
            let first = round == "1";
            store.send(if first { start_item(instance) } else { signal(instance, round) }).await;
        }
    }
    let turns = drain(&store, 10).await;
    let found: BTreeSet<_> = turns.iter().map(|turn| turn.item.instance.clone()).collect();
    assert_eq!(found, instances, "every instance is fetched");
    assert_eq!(turns.len(), instances.len(), "no instance is fetched twice");
    let tokens: BTreeSet<_> = turns.iter().map(|turn| turn.token.clone()).collect();
    assert_eq!(tokens.len(), turns.len(), "each turn has its own token");
    for turn in &turns {
        let instance = turn.item.instance.as_str();
        let expected = vec![start_item(instance), signal(instance, "2")];
        assert_eq!(turn.item.messages, expected, "a turn holds the messages of its instance");
    }
    store.no_turn("all instances are leased").await;
    for turn in &turns {
        let events = vec![started(&turn.item.instance, 1)];
        store.ack(commit(turn, events)).await.must("a commit of one turn of a batch");
    }
    store.no_turn("all messages are consumed").await;
}

/// A turn of a batch equals the same turn fetched alone.
pub async fn a_turn_of_a_batch_is_a_whole_turn<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let first = store.turn_of("a").await;
    let set = EventKind::KeyValueSet {
        key: "key".to_owned(),
        value: "value".to_owned(),
        last_updated_at_ms: 7,
    };
    let ending = commit(&first, vec![started("a", 1), event("a", 1, 2, set)])
        .with_metadata(ended("ContinuedAsNew", "next"));
    store.ack(ending).await.must("a commit that ends an execution");
    store.send(signal("a", "1")).await;
    store.send(signal("a", "2")).await;
    let alone = store.turn_of("a").await;
    store.expire().await;
    let batch = drain(&store, 4).await;
    let [whole] = batch.as_slice() else { panic!("one turn is fetchable: {batch:?}") };
    assert_eq!(whole.attempt, 2);
    assert_ne!(whole.token, alone.token);
    let (whole, alone) = (&whole.item, &alone.item);
    assert_eq!(whole.instance, alone.instance);
    assert_eq!(whole.orchestration_name, alone.orchestration_name);
    assert_eq!(whole.version, alone.version);
    assert_eq!(whole.execution_id, alone.execution_id);
    assert_eq!(whole.history, alone.history);
    assert_eq!(whole.messages, alone.messages);
    assert_eq!(whole.history_error, None);
    assert_eq!(whole.kv_snapshot, alone.kv_snapshot);
    assert_eq!(whole.kv_snapshot.len(), 1, "values of finished executions are part of a turn");
}

/// A batch holds only instances that match the filter and does not change the others.
pub async fn a_batch_honours_the_filter<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for (instance, minor) in [("old", 1), ("new", 9)] {
        store.send(start_item(instance)).await;
        let turn = store.turn_of(instance).await;
        let pin = Some(Version::new(1, minor, 0));
        let metadata = ExecutionMetadata { pinned_duroxide_version: pin, ..named() };
        let pinned = commit(&turn, vec![started(instance, 1)]).with_metadata(metadata);
        store.ack(pinned).await.must("a commit with a pin");
    }
    for instance in ["new", "old"] {
        store.send(signal(instance, "1")).await;
    }
    let range = SemverRange::new(Version::new(1, 0, 0), Version::new(1, 5, 0));
    let filter = DispatcherCapabilityFilter { supported_duroxide_versions: vec![range] };
    let filter = FetchFilter::from(Some(&filter));
    let request = turn_fetch(4, store.lease()).with_filter(&filter);
    let batch = store.provider.fetch_orchestration_items(request).await;
    let batch = batch.must("fetching a batch with a filter");
    let found: Vec<_> = batch.iter().map(|turn| turn.item.instance.as_str()).collect();
    assert_eq!(found, ["old"], "only the matching instance is fetched");
    let left = store.turn_of("new").await;
    assert_eq!(left.attempt, 1, "the other instance is not changed");
}

/// The commit of one turn of a batch can fail without affecting the others.
pub async fn turns_of_a_batch_are_independent<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for instance in ["a", "b"] {
        store.create(instance).await;
    }
    for instance in ["a", "b"] {
        store.send(signal(instance, "1")).await;
    }
    let turns = drain(&store, 2).await;
    let [first, second] = turns.as_slice() else { panic!("two turns are fetchable: {turns:?}") };
    let doomed = vec![started(&first.item.instance, 1)];
    store.ack(commit(first, doomed)).await.must_fail_for_good("a commit of a stored event");
    let delta = vec![heard(&second.item.instance, 1, 2)];
    store.ack(commit(second, delta)).await.must("the commit of the other turn");
    assert_eq!(store.history(&first.item.instance).await.len(), 1);
    assert_eq!(store.history(&second.item.instance).await.len(), 2);
    store.no_turn("the failed turn is still leased").await;
}
