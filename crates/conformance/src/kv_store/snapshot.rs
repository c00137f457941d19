//! The snapshot of a turn: the values of finished executions.

use duroxide_core::providers::KvEntry;

use super::values::{SET_AT_MS, assert_snapshot, clear, clear_all, set, set_at};
use crate::ProviderFactory;
use crate::support::Store;

/// A turn contains the values of the previous execution.
pub async fn test_kv_snapshot_in_fetch<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.record("keeper", vec![set("a", "1")]).await;
    store.continue_with("keeper", vec![set("b", "2")]).await;
    assert_snapshot(&store, "keeper", &[("a", "1"), ("b", "2")]).await;
}

/// A key that the previous execution cleared is not in the snapshot.
pub async fn test_kv_snapshot_after_clear_single<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.continue_with("keeper", vec![set("a", "1"), set("b", "2")]).await;
    store.continue_with("keeper", vec![clear("a")]).await;
    assert_snapshot(&store, "keeper", &[("b", "2")]).await;
}

/// The snapshot is empty if the previous execution cleared everything.
pub async fn test_kv_snapshot_after_clear_all<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.continue_with("keeper", vec![set("a", "1"), set("b", "2")]).await;
    store.record("keeper", vec![set("c", "3")]).await;
    store.continue_with("keeper", vec![clear_all()]).await;
    assert_snapshot(&store, "keeper", &[]).await;
}

/// An instance without values has an empty snapshot.
pub async fn test_kv_snapshot_empty<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    assert_snapshot(&store, "keeper", &[]).await;
    store.continue_as_new("keeper").await;
    assert_snapshot(&store, "keeper", &[]).await;
}

/// The snapshot excludes the writes of the running execution, because replay repeats them.
pub async fn test_kv_snapshot_cross_execution<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.continue_with("keeper", vec![set("a", "1"), set("b", "1")]).await;
    store.record("keeper", vec![set("a", "2"), set("c", "2"), clear("b")]).await;
    assert_snapshot(&store, "keeper", &[("a", "1"), ("b", "1")]).await;
    store.continue_as_new("keeper").await;
    assert_snapshot(&store, "keeper", &[("a", "2"), ("c", "2")]).await;
}

/// Each value carries the time at which it was set, taken from the event.
pub async fn test_kv_snapshot_keeps_times<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.record("keeper", vec![set("a", "1"), set_at("b", "1", 7)]).await;
    store.continue_with("keeper", vec![set_at("a", "2", 8), set_at("c", "2", 0)]).await;
    store.continue_with("keeper", vec![set_at("c", "3", 9), set("d", "3")]).await;
    let snapshot = store.woken("keeper").await.item.kv_snapshot;
    let expected = [("a", "2", 8), ("b", "1", 7), ("c", "3", 9), ("d", "3", SET_AT_MS)];
    let expected = expected.map(|(key, value, last_updated_at_ms)| {
        (key.to_owned(), KvEntry { value: value.to_owned(), last_updated_at_ms })
    });
    assert_eq!(snapshot, expected.into_iter().collect());
}
