//! The writes of the running execution overlay the values of finished ones until it finishes.

use super::values::{assert_live, assert_snapshot, clear, clear_all, set};
use crate::ProviderFactory;
use crate::support::{End, Store};

/// The first execution's own writes are not in the snapshot of its turns.
pub async fn test_kv_delta_snapshot_excludes_current_execution<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.record("keeper", vec![set("counter", "1")]).await;
    assert_snapshot(&store, "keeper", &[]).await;
    store.record("keeper", vec![set("counter", "2")]).await;
    assert_snapshot(&store, "keeper", &[]).await;
    assert_live(&store, "keeper", &[("counter", "2")]).await;
}

/// The writes of a finished execution are in the snapshot.
pub async fn test_kv_delta_snapshot_includes_completed_execution<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.record("keeper", vec![set("a", "1")]).await;
    store.complete("keeper", "done").await;
    assert_snapshot(&store, "keeper", &[("a", "1")]).await;
}

/// A client sees the merged values.
pub async fn test_kv_delta_client_reads_merged<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.continue_with("keeper", vec![set("a", "1"), set("b", "1")]).await;
    store.record("keeper", vec![set("b", "2"), set("c", "2")]).await;
    assert_live(&store, "keeper", &[("a", "1"), ("b", "2"), ("c", "2")]).await;
}

/// A key that the running execution cleared is hidden from clients, but still in the snapshot.
pub async fn test_kv_delta_tombstone_overrides_store<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.continue_with("keeper", vec![set("a", "1"), set("b", "1")]).await;
    store.record("keeper", vec![clear("a")]).await;
    assert_live(&store, "keeper", &[("b", "1")]).await;
    assert_eq!(super::values::get(&store, "keeper", "a").await, None);
    assert_snapshot(&store, "keeper", &[("a", "1"), ("b", "1")]).await;
}

/// Clearing everything also hides the values of finished executions.
pub async fn test_kv_delta_clear_all_tombstones_store<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.continue_with("keeper", vec![set("a", "1"), set("b", "1")]).await;
    store.record("keeper", vec![set("c", "2"), clear_all(), set("b", "3")]).await;
    assert_live(&store, "keeper", &[("b", "3")]).await;
    assert_eq!(super::values::get(&store, "keeper", "a").await, None);
    assert_snapshot(&store, "keeper", &[("a", "1"), ("b", "1")]).await;
    store.continue_as_new("keeper").await;
    assert_snapshot(&store, "keeper", &[("b", "3")]).await;
}

/// Completion merges the writes into the stored values.
pub async fn test_kv_delta_merged_on_completion<F: ProviderFactory + ?Sized>(factory: &F) {
    assert_merged_by(factory, End::Completed("done")).await;
}

/// A failure merges the writes into the stored values.
pub async fn test_kv_delta_merged_on_failure<F: ProviderFactory + ?Sized>(factory: &F) {
    assert_merged_by(factory, End::Failed("why")).await;
}

/// An execution overwrites values of the previous one and finishes.
async fn assert_merged_by<F: ProviderFactory + ?Sized>(factory: &F, end: End<'_>) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.continue_with("keeper", vec![set("a", "1"), set("b", "1"), set("c", "1")]).await;
    store.record("keeper", vec![set("a", "2"), clear("b"), set("d", "2")]).await;
    store.end_with("keeper", end, vec![]).await;
    let left = [("a", "2"), ("c", "1"), ("d", "2")];
    assert_live(&store, "keeper", &left).await;
    assert_snapshot(&store, "keeper", &left).await;
}

/// Continuing as new merges the writes; the next execution starts with an empty delta.
pub async fn test_kv_delta_merged_on_can<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.record("keeper", vec![set("a", "1"), set("b", "1")]).await;
    store.continue_as_new("keeper").await;
    assert_snapshot(&store, "keeper", &[("a", "1"), ("b", "1")]).await;
    store.record("keeper", vec![clear("a")]).await;
    store.continue_as_new("keeper").await;
    assert_live(&store, "keeper", &[("b", "1")]).await;
    // The tombstone belonged to one execution and does not hide later values.
    store.continue_with("keeper", vec![set("a", "3")]).await;
    assert_snapshot(&store, "keeper", &[("a", "3"), ("b", "1")]).await;
}

/// The writes of an execution's last commit are merged with the others.
pub async fn test_kv_delta_in_the_last_commit_is_merged<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.record("keeper", vec![set("a", "1"), set("b", "1")]).await;
    let last = vec![set("a", "2"), clear("b"), set("c", "2")];
    store.end_with("keeper", End::Completed("done"), last).await;
    assert_live(&store, "keeper", &[("a", "2"), ("c", "2")]).await;
    assert_snapshot(&store, "keeper", &[("a", "2"), ("c", "2")]).await;
}
