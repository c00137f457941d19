//! Deleting a list of instances: all of them or none.

use duroxide_core::providers::{DeleteInstanceResult, ProviderError};

use crate::ProviderFactory;
use crate::support::{Must, Store, activity, start_item};

async fn delete<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    ids: &[&str],
    force: bool,
) -> Result<DeleteInstanceResult, ProviderError> {
    let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
    store.admin().delete_instances_atomic(&ids, force).await
}

/// All listed instances are deleted; one running instance makes the call fail and deletes nothing.
pub async fn test_delete_instances_atomic<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for instance in ["one", "two", "busy", "kept"] {
        store.create(instance).await;
        store.send_work(activity(instance, 2)).await;
    }
    for instance in ["one", "two", "kept"] {
        store.complete(instance, "done").await;
    }
    let refused = delete(&store, &["one", "busy", "two"], false).await;
    let error = refused.must_fail_for_good("deleting a running instance");
    assert!(error.message.to_lowercase().contains("running"), "{error}");
    assert_eq!(store.instances().await, ["busy", "kept", "one", "two"], "all or none");
    assert_eq!(store.history("one").await.len(), 2, "all or none");
    let depths = store.admin().get_queue_depths().await.must("queue depths");
    assert_eq!(depths.worker_queue, 4, "all or none");

    let deleted = delete(&store, &["one", "two"], false).await.must("deleting two instances");
    assert_eq!((deleted.instances_deleted, deleted.executions_deleted), (2, 2));
    assert_eq!((deleted.events_deleted, deleted.queue_messages_deleted), (4, 2));
    assert_eq!(store.instances().await, ["busy", "kept"]);
}

/// A forced deletion also deletes running instances.
pub async fn test_delete_instances_atomic_force<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for instance in ["one", "busy", "kept"] {
        store.create(instance).await;
    }
    store.complete("one", "done").await;
    let turn = store.woken("busy").await;
    let deleted = delete(&store, &["one", "busy"], true).await.must("deleting by force");
    assert_eq!(deleted.instances_deleted, 2);
    assert_eq!(store.instances().await, ["kept"]);
    let renewed = store.provider.renew_orchestration_item_lock(&turn.token, store.lease()).await;
    renewed.must_fail("renewing the lease of a deleted instance");
}

/// A child that is not listed makes the call fail, forced or not, because it would lose its parent.
pub async fn test_delete_instances_atomic_orphan_detection<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.create("other").await;
    store.create("root").await;
    store.create_child("child", "root").await;
    store.create_child("late", "child").await;
    for instance in ["other", "root", "child", "late"] {
        store.complete(instance, "done").await;
    }
    for (ids, force) in [
        (&["other", "root"][..], false),
        (&["root"][..], true),
        (&["other", "root", "child"][..], true),
    ] {
        let error = delete(&store, ids, force).await.must_fail("deleting a parent alone");
        let text = error.message.to_lowercase();
        assert!(["child", "orphan", "tree"].iter().any(|w| text.contains(w)), "{error}");
        assert_eq!(store.instances().await, ["child", "late", "other", "root"], "all or none");
        assert_eq!(store.history("other").await.len(), 2, "all or none");
    }
    let whole = delete(&store, &["root", "child", "late"], false).await;
    assert_eq!(whole.must("deleting a whole tree").instances_deleted, 3);
    assert_eq!(store.instances().await, ["other"]);
}

/// An empty list deletes nothing.
pub async fn test_delete_instances_atomic_empty_list<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("kept").await;
    store.complete("kept", "done").await;
    let deleted = delete(&store, &[], true).await.must("deleting nothing");
    assert_eq!((deleted.instances_deleted, deleted.events_deleted), (0, 0));
    assert_eq!(store.instances().await, ["kept"]);
}

/// Listed ids without an instance are left alone: a start that waits there belongs to an instance
/// that was requested after the list was made.
pub async fn test_delete_instances_atomic_leaves_queued_starts<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.create("one").await;
    store.complete("one", "done").await;
    store.send(start_item("requested")).await;
    let ids = ["requested", "one", "unknown"];
    let deleted = delete(&store, &ids, true).await.must("deleting a list with unknown ids");
    assert_eq!((deleted.instances_deleted, deleted.queue_messages_deleted), (1, 0));
    assert_eq!(store.instances().await, [""; 0]);
    let turn = store.turn_of("requested").await;
    assert_eq!(turn.item.messages, [start_item("requested")], "the queued start survives");
}
