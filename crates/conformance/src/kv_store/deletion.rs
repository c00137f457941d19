//! Deleting an instance deletes its values.

use super::values::{assert_live, assert_snapshot, clear, set};
use crate::ProviderFactory;
use crate::support::{Must, Store};

async fn delete<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, instance: &str) {
    store.admin().delete_instance(instance, true).await.must("deleting an instance");
}

/// The values of a deleted instance are gone, also when its id is reused.
async fn assert_gone<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, instance: &str) {
    assert_live(store, instance, &[]).await;
    store.create(instance).await;
    assert_live(store, instance, &[]).await;
    assert_snapshot(store, instance, &[]).await;
}

/// Deleting a finished instance deletes its values.
pub async fn test_kv_delete_instance_cascades<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for instance in ["keeper", "other"] {
        store.create(instance).await;
        store.record(instance, vec![set("a", "1")]).await;
        store.complete(instance, "done").await;
    }
    delete(&store, "keeper").await;
    assert_gone(&store, "keeper").await;
    assert_live(&store, "other", &[("a", "1")]).await;
}

/// Deleting a root deletes the values of its descendants.
pub async fn test_kv_delete_instance_with_children<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("root").await;
    store.create_child("child", "root").await;
    store.create_child("grandchild", "child").await;
    let tree = ["root", "child", "grandchild"];
    for instance in tree {
        store.record(instance, vec![set("a", instance)]).await;
    }
    store.complete("child", "done").await;
    delete(&store, "root").await;
    for instance in tree {
        assert_live(&store, instance, &[]).await;
    }
    assert_gone(&store, "child").await;
}

/// Deleting a running instance deletes the writes and cleared keys of its running execution.
pub async fn test_kv_delta_delete_instance_cascades<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.continue_with("keeper", vec![set("a", "1"), set("b", "1")]).await;
    store.record("keeper", vec![set("a", "2"), clear("b")]).await;
    delete(&store, "keeper").await;
    assert_gone(&store, "keeper").await;
    // A leftover tombstone would hide this value.
    store.continue_with("keeper", vec![set("b", "3")]).await;
    assert_live(&store, "keeper", &[("b", "3")]).await;
}
