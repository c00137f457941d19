//! A fetch with a filter returns matching turns and does not change the others.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{DispatcherCapabilityFilter, Provider};
use tokio::sync::Barrier;

use super::nodes::{fetch, gets, pinned_and_ready, replays};
use crate::ProviderFactory;
use crate::limits::RETRIES_MAX;
use crate::support::{Must, Store, signal, start_item};

const LONG: Duration = Duration::from_secs(60);

/// Without a filter a fetch returns every instance, whatever its pin.
pub async fn test_fetch_with_filter_none_returns_any_item<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = pinned_and_ready(factory, "99.0.0").await;
    let turn = store.turn_of("pinned").await;
    assert_eq!(turn.item.messages, vec![signal("pinned", "next")]);
}

/// A matching turn is the same as one fetched without a filter.
pub async fn test_fetch_with_compatible_filter_returns_item<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = pinned_and_ready(factory, "1.2.3").await;
    let turn = fetch(&store, &replays(&[("1.0.0", "2.0.0")])).await.expect("the pin matches");
    assert_eq!(turn.item.instance, "pinned");
    assert_eq!(turn.item.messages, vec![signal("pinned", "next")]);
    assert_eq!(turn.item.history, store.history("pinned").await);
    assert_eq!((turn.attempt, turn.item.execution_id), (1, 1));
    store.no_turn("the instance is leased").await;
}

/// A turn that does not match is not fetched.
pub async fn test_fetch_with_incompatible_filter_skips_item<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = pinned_and_ready(factory, "3.0.0").await;
    assert!(!gets(&store, "pinned", &[("1.0.0", "2.0.0")]).await, "the pin is above");
    assert!(!gets(&store, "pinned", &[("4.0.0", "5.0.0")]).await, "the pin is below");
    assert!(gets(&store, "pinned", &[("3.0.0", "3.0.0")]).await, "the pin matches");
}

/// Instances that do not match do not block those that do.
pub async fn test_fetch_filter_skips_incompatible_selects_compatible<
    F: ProviderFactory + ?Sized,
>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    let old: Vec<String> = (0..20).map(|number| format!("old {number}")).collect();
    for instance in &old {
        store.create_pinned(instance, "1.0.0").await;
    }
    store.create_pinned("new", "2.0.0").await;
    for instance in &old {
        store.send(signal(instance, "next")).await;
    }
    store.send(signal("new", "next")).await;
    let node = replays(&[("2.0.0", "2.0.0")]);
    let turn = fetch(&store, &node).await.expect("one of them matches");
    assert_eq!(turn.item.instance, "new");
    assert!(fetch(&store, &node).await.is_none(), "only one of them matches");
}

/// Skipping neither locks an instance nor counts as an attempt.
pub async fn test_fetch_filter_does_not_lock_skipped_instances<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = pinned_and_ready(factory, "3.0.0").await;
    for _ in 0..3 {
        assert!(!gets(&store, "pinned", &[("1.0.0", "2.0.0")]).await, "the pin does not match");
    }
    let turn = store.turn_of("pinned").await;
    assert_eq!(turn.attempt, 1, "skipping does not count as an attempt");
}

/// An instance without a pin matches every node, and so does one that has not started.
pub async fn test_fetch_filter_null_pinned_version_always_compatible<
    F: ProviderFactory + ?Sized,
>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.create("unpinned").await;
    store.send(signal("unpinned", "next")).await;
    assert!(gets(&store, "unpinned", &[("9.0.0", "9.0.0")]).await, "without a pin");

    let store = Store::open(factory).await;
    store.send(start_item("new")).await;
    assert!(gets(&store, "new", &[("9.0.0", "9.0.0")]).await, "not started");
}

/// After a node loses a turn, only a node that matches its pin can fetch it.
pub async fn test_fetch_filter_applies_to_expired_leases<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = pinned_and_ready(factory, "3.0.0").await;
    store.turn_of("pinned").await;
    store.expire().await;
    assert!(!gets(&store, "pinned", &[("1.0.0", "2.0.0")]).await, "the pin does not match");
    let turn = fetch(&store, &replays(&[("3.0.0", "3.0.0")])).await.expect("the pin matches");
    assert_eq!(turn.attempt, 2);
}

/// A node that supports no version gets nothing, not even instances without a pin.
pub async fn test_filter_with_empty_supported_versions_returns_nothing<
    F: ProviderFactory + ?Sized,
>(
    factory: &F,
) {
    let store = pinned_and_ready(factory, "1.0.0").await;
    store.send(start_item("new")).await;
    assert!(fetch(&store, &replays(&[])).await.is_none());
    let first = store.try_turn().await.expect("both are still fetchable");
    assert_eq!(first.attempt, 1);
}

/// Nodes that fetch at the same time get different instances.
pub async fn test_concurrent_filtered_fetch_no_double_lock<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    const INSTANCES: usize = 4;
    const NODES: usize = 8;
    let store = Store::open(factory).await;
    let instances: Vec<String> = (0..INSTANCES).map(|number| format!("pinned {number}")).collect();
    for instance in &instances {
        store.create_pinned(instance, "1.0.0").await;
    }
    for instance in &instances {
        store.send(signal(instance, "next")).await;
    }
    let barrier = Arc::new(Barrier::new(NODES));
    let mut tasks = Vec::new();
    for _ in 0..NODES {
        let (provider, barrier) = (Arc::clone(&store.provider), Arc::clone(&barrier));
        tasks.push(tokio::spawn(async move {
            barrier.wait().await;
            fetch_with_retries(&*provider, &replays(&[("1.0.0", "1.0.0")])).await
        }));
    }
    let mut fetched = BTreeMap::new();
    for task in tasks {
        if let Some(instance) = task.await.expect("a fetch must not panic") {
            *fetched.entry(instance).or_insert(0) += 1;
        }
    }
    let each_once: BTreeMap<_, _> = instances.into_iter().map(|instance| (instance, 1)).collect();
    assert_eq!(fetched, each_once);
}

/// Fetches once and retries after a transient error.
async fn fetch_with_retries(
    provider: &dyn Provider,
    filter: &DispatcherCapabilityFilter,
) -> Option<String> {
    for _ in 0..RETRIES_MAX {
        match provider.fetch_orchestration_item(LONG, Duration::ZERO, Some(filter)).await {
            Ok(found) => return found.map(|(item, _, _)| item.instance),
            Err(error) if error.is_retryable() => {}
            Err(error) => return Err(error).must("fetching a turn with a filter"),
        }
    }
    panic!("fetching a turn failed {RETRIES_MAX} times");
}
