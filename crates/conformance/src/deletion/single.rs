//! Deleting one instance.

use crate::ProviderFactory;
use crate::support::{End, Must, Store, activity, signal};

/// An instance that completed, failed or was cancelled can be deleted. The result reports exactly
/// what was stored.
pub async fn test_delete_terminal_instances<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for instance in ["completed", "failed", "cancelled", "chain"] {
        store.create(instance).await;
    }
    store.complete("completed", "done").await;
    store.fail("failed", "why").await;
    store.fail("cancelled", "canceled: enough").await;
    store.continue_as_new("chain").await;
    store.complete("chain", "done").await;
    for (instance, executions, events) in
        [("completed", 1, 2), ("failed", 1, 2), ("cancelled", 1, 2), ("chain", 2, 4)]
    {
        let deleted = store.admin().delete_instance(instance, false).await;
        let deleted = deleted.must("deleting a finished instance");
        assert_eq!(deleted.instances_deleted, 1);
        assert_eq!(deleted.executions_deleted, executions, "executions of {instance}");
        assert_eq!(deleted.events_deleted, events, "events of {instance}");
        assert_eq!(deleted.queue_messages_deleted, 0);
        assert_eq!(store.history(instance).await, vec![]);
        store.admin().get_instance_info(instance).await.must_fail("info of a deleted instance");
    }
    assert_eq!(store.instances().await, [""; 0]);
    let totals = store.admin().get_system_metrics().await.must("totals");
    assert_eq!((totals.total_executions, totals.total_events), (0, 0));
}

/// Only a forced deletion deletes a running instance.
pub async fn test_delete_running_rejected_force_succeeds<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("busy").await;
    let refused = store.admin().delete_instance("busy", false).await;
    let error = refused.must_fail_for_good("deleting a running instance");
    assert!(error.message.to_lowercase().contains("running"), "{error}");
    assert_eq!(store.instances().await, ["busy"], "a refused call changes nothing");
    assert_eq!(store.history("busy").await.len(), 1, "a refused call changes nothing");
    let deleted = store.admin().delete_instance("busy", true).await.must("deleting by force");
    assert_eq!((deleted.instances_deleted, deleted.events_deleted), (1, 1));
    assert_eq!(store.instances().await, [""; 0]);
}

/// Between two executions an instance runs: only a forced deletion deletes it.
pub async fn test_delete_between_executions_rejected<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("chain").await;
    store.end_with("chain", End::ContinuedAsNew("next"), vec![]).await;
    let ids = ["chain".to_owned()];
    let refused = store.admin().delete_instance("chain", false).await;
    refused.must_fail_for_good("deleting an instance whose next execution is queued");
    let refused = store.admin().delete_instances_atomic(&ids, false).await;
    refused.must_fail_for_good("deleting an instance whose next execution is queued");
    assert_eq!(store.instances().await, ids, "a refused call changes nothing");
    let deleted = store.admin().delete_instance("chain", true).await.must("deleting by force");
    assert_eq!((deleted.instances_deleted, deleted.queue_messages_deleted), (1, 1));
    store.no_turn("the start of the next execution was deleted").await;
}

/// Deleting an unknown instance fails, forced or not.
pub async fn test_delete_nonexistent_instance<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for force in [false, true] {
        let refused = store.admin().delete_instance("unknown", force).await;
        let error = refused.must_fail_for_good("deleting an unknown instance");
        assert!(error.message.to_lowercase().contains("not found"), "{error}");
    }
}

/// Of several deletions of one instance at the same time, one reports it deleted, and for the
/// others it does not exist.
pub async fn test_delete_at_once_succeeds_once<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for round in 0..10 {
        store.create("once").await;
        store.complete("once", "done").await;
        let delete = || store.admin().delete_instance("once", false);
        let (one, two, three, four) = tokio::join!(delete(), delete(), delete(), delete());
        let (deleted, refused): (Vec<_>, Vec<_>) =
            [one, two, three, four].into_iter().partition(Result::is_ok);
        assert_eq!(deleted.len(), 1, "round {round}: {deleted:?}");
        for deleted in deleted.into_iter().flatten() {
            assert_eq!((deleted.instances_deleted, deleted.events_deleted), (1, 2));
        }
        for refused in refused {
            let error = refused.must_fail_for_good("deleting a deleted instance");
            assert!(error.message.to_lowercase().contains("not found"), "{error}");
        }
    }
}

/// Deleting an instance does not change any other, even with a similar id.
pub async fn test_delete_leaves_other_instances<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let others = ["or", "order ", "ORDER", "order::1", "order%", "orde_"];
    for instance in others.into_iter().chain(["order"]) {
        store.create(instance).await;
        store.send_work(activity(instance, 2)).await;
    }
    for instance in others {
        store.send(signal(instance, "kept")).await;
    }
    let deleted = store.admin().delete_instance("order", true).await.must("deleting by force");
    assert_eq!((deleted.instances_deleted, deleted.queue_messages_deleted), (1, 1));
    let mut expected = others.map(str::to_owned);
    expected.sort();
    assert_eq!(store.instances().await, expected);
    let depths = store.admin().get_queue_depths().await.must("queue depths");
    assert_eq!((depths.orchestrator_queue, depths.worker_queue), (6, 6));
    for instance in others {
        assert_eq!(store.history(instance).await.len(), 1, "history of '{instance}'");
    }
}
