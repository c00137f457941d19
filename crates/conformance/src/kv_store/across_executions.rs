//! Values belong to the instance, not to the execution that set them.

use duroxide_core::providers::{PruneOptions, PruneResult};

use super::values::{assert_live, assert_snapshot, clear, set};
use crate::ProviderFactory;
use crate::support::{Must, Store};

/// Later executions see the values of earlier ones and may add to them.
pub async fn test_kv_execution_id_tracking<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.continue_with("keeper", vec![set("first", "1")]).await;
    store.continue_with("keeper", vec![set("second", "2")]).await;
    store.record("keeper", vec![set("third", "3")]).await;
    let all = [("first", "1"), ("second", "2"), ("third", "3")];
    assert_live(&store, "keeper", &all).await;
    assert_snapshot(&store, "keeper", &all[..2]).await;
}

/// A later execution may overwrite a value.
pub async fn test_kv_cross_execution_overwrite<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.continue_with("keeper", vec![set("a", "1"), set("b", "1")]).await;
    store.record("keeper", vec![set("a", "2")]).await;
    assert_live(&store, "keeper", &[("a", "2"), ("b", "1")]).await;
    store.continue_as_new("keeper").await;
    assert_live(&store, "keeper", &[("a", "2"), ("b", "1")]).await;
    assert_snapshot(&store, "keeper", &[("a", "2"), ("b", "1")]).await;
}

/// A later execution may clear a key, and one after that may set it again.
pub async fn test_kv_cross_execution_remove_readd<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.continue_with("keeper", vec![set("a", "1")]).await;
    store.continue_with("keeper", vec![clear("a")]).await;
    assert_live(&store, "keeper", &[]).await;
    store.record("keeper", vec![set("a", "3")]).await;
    assert_live(&store, "keeper", &[("a", "3")]).await;
    assert_snapshot(&store, "keeper", &[]).await;
    store.complete("keeper", "done").await;
    assert_live(&store, "keeper", &[("a", "3")]).await;
}

/// Prunes everything but the current execution.
async fn prune<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, instance: &str) -> PruneResult {
    store.admin().prune_executions(instance, PruneOptions::default()).await.must("pruning")
}

/// Pruning the execution that first set a value does not restore that value.
pub async fn test_kv_prune_preserves_overwritten<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.continue_with("keeper", vec![set("a", "1")]).await;
    store.continue_with("keeper", vec![set("a", "2")]).await;
    assert_eq!(prune(&store, "keeper").await.executions_deleted, 2);
    assert_live(&store, "keeper", &[("a", "2")]).await;
    assert_snapshot(&store, "keeper", &[("a", "2")]).await;
}

/// Pruning executions deletes no values, whichever execution set them.
pub async fn test_kv_prune_preserves_all_keys<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.continue_with("keeper", vec![set("a", "1")]).await;
    store.continue_with("keeper", vec![set("b", "2")]).await;
    store.record("keeper", vec![set("c", "3")]).await;
    assert_eq!(prune(&store, "keeper").await.executions_deleted, 2);
    assert_live(&store, "keeper", &[("a", "1"), ("b", "2"), ("c", "3")]).await;
    assert_snapshot(&store, "keeper", &[("a", "1"), ("b", "2")]).await;
}

/// Pruning does not change what the current execution wrote, including cleared keys.
pub async fn test_kv_prune_current_execution_protected<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.continue_with("keeper", vec![set("a", "1"), set("b", "1")]).await;
    store.record("keeper", vec![set("a", "2"), clear("b")]).await;
    assert_eq!(prune(&store, "keeper").await.executions_deleted, 1);
    assert_live(&store, "keeper", &[("a", "2")]).await;
    assert_snapshot(&store, "keeper", &[("a", "1"), ("b", "1")]).await;
}

/// A value that only a pruned execution wrote is visible to all later ones.
pub async fn test_kv_delta_prune_untouched_key_survives<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.continue_with("keeper", vec![set("old", "1")]).await;
    store.continue_as_new("keeper").await;
    assert_eq!(prune(&store, "keeper").await.executions_deleted, 2);
    assert_snapshot(&store, "keeper", &[("old", "1")]).await;
    store.continue_as_new("keeper").await;
    assert_live(&store, "keeper", &[("old", "1")]).await;
}
