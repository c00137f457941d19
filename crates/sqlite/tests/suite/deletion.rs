//! Deleting instances and pruning executions.

use std::time::Duration;

use duroxide_core::providers::{
    ExecutionMetadata, InstanceFilter, Provider, ProviderAdmin, PruneOptions, TagFilter,
};

use crate::support::*;

async fn create_child(provider: &dyn Provider, child: &str, parent: &str, status: &str) {
    let metadata =
        ExecutionMetadata { parent_instance_id: Some(parent.to_owned()), ..ended(status) };
    create_with(provider, child, metadata).await;
}

#[tokio::test]
async fn a_tree_is_deleted_from_its_root_only() {
    let store = Store::new().await;
    let provider = &*store.provider;
    create_with(provider, "root", ended("Completed")).await;
    create_child(provider, "child", "root", "Completed").await;
    create_child(provider, "grandchild", "child", "Failed").await;
    assert_eq!(provider.list_children("root").await.unwrap(), ["child"]);
    assert_eq!(provider.get_parent_id("child").await.unwrap().as_deref(), Some("root"));
    assert_eq!(provider.get_instance_tree("root").await.unwrap().size(), 3);
    assert!(provider.get_instance_tree("unknown").await.unwrap().is_root_only());
    let error = provider.delete_instance("child", true).await.unwrap_err();
    assert!(error.message.contains("sub-orchestration"), "{error}");
    let deleted = provider.delete_instance("root", false).await.unwrap();
    assert_eq!((deleted.instances_deleted, deleted.executions_deleted), (3, 3));
    assert_eq!(deleted.events_deleted, 3);
    assert!(provider.list_instances().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_running_instance_is_deleted_only_by_force_and_its_turn_cannot_restore_it() {
    let store = Store::new().await;
    let provider = &*store.provider;
    create(provider, "a").await;
    provider.enqueue_for_worker(activity("a", 1)).await.unwrap();
    let (_, activity_token, _) =
        provider.fetch_work_item(LEASE, NOW, None, &TagFilter::Any).await.unwrap().unwrap();
    provider.enqueue_for_orchestrator(signal("a", "x"), None).await.unwrap();
    let held = turn(provider).await;
    let error = provider.delete_instance("a", false).await.unwrap_err();
    assert!(!error.is_retryable());
    assert!(error.message.contains("running"), "{error}");
    let deleted = provider.delete_instance("a", true).await.unwrap();
    assert_eq!(deleted.queue_messages_deleted, 2);
    assert!(provider.store_turn(commit(&held.lock_token, vec![heard("a", 2)])).await.is_err());
    assert!(provider.ack_work_item(&activity_token, Some(completed("a", 1))).await.is_err());
    assert!(provider.read("a").await.unwrap().is_empty());
    assert!(provider.list_instances().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_child_that_is_not_listed_stops_the_deletion() {
    let store = Store::new().await;
    let provider = &*store.provider;
    create_with(provider, "root", ended("Completed")).await;
    create_child(provider, "child", "root", "Completed").await;
    let listed = ["root".to_owned()];
    let error = provider.delete_instances_atomic(&listed, true).await.unwrap_err();
    assert!(error.message.contains("created after tree traversal"), "{error}");
    assert_eq!(provider.list_instances().await.unwrap().len(), 2);
    let none = provider.delete_instances_atomic(&[], false).await.unwrap();
    assert_eq!(none.instances_deleted, 0);
}

#[tokio::test]
async fn bulk_deletion_deletes_finished_roots_that_match_its_filter() {
    let store = Store::new().await;
    let provider = &*store.provider;
    for instance in ["a", "b", "c"] {
        create_with(provider, instance, ended("Completed")).await;
        store.clock.advance(Duration::from_secs(1));
    }
    create_child(provider, "child", "c", "Completed").await;
    create(provider, "running").await;
    let bulk = |filter| provider.delete_instance_bulk(filter);
    let nothing = InstanceFilter { instance_ids: Some(vec![]), ..InstanceFilter::default() };
    assert_eq!(bulk(nothing).await.unwrap().instances_deleted, 0);
    let before =
        InstanceFilter { completed_before: Some(BEGIN_MS + 1000), ..InstanceFilter::default() };
    assert_eq!(bulk(before).await.unwrap().instances_deleted, 1);
    let limited = InstanceFilter { limit: Some(1), ..InstanceFilter::default() };
    assert_eq!(bulk(limited).await.unwrap().instances_deleted, 1);
    assert_eq!(bulk(InstanceFilter::default()).await.unwrap().instances_deleted, 2);
    assert_eq!(provider.list_instances().await.unwrap(), ["running"]);
}

#[tokio::test]
async fn pruning_never_deletes_the_current_execution() {
    let store = Store::new().await;
    let provider = &*store.provider;
    create_with(provider, "a", ended("ContinuedAsNew")).await;
    for execution_id in 2..=5 {
        provider.enqueue_for_orchestrator(signal("a", "x"), None).await.unwrap();
        let held = turn(provider).await;
        let next = commit(&held.lock_token, vec![started("a", execution_id)])
            .with_execution_id(execution_id)
            .with_metadata(if execution_id < 5 { ended("ContinuedAsNew") } else { named() });
        provider.store_turn(next).await.unwrap();
    }
    let keep_three = PruneOptions { keep_last: Some(3), ..PruneOptions::default() };
    let pruned = provider.prune_executions("a", keep_three).await.unwrap();
    assert_eq!((pruned.executions_deleted, pruned.events_deleted), (2, 2));
    assert_eq!(provider.list_executions("a").await.unwrap(), [3, 4, 5]);
    let too_early = PruneOptions { completed_before: Some(BEGIN_MS), ..PruneOptions::default() };
    let pruned = provider.prune_executions("a", too_early).await.unwrap();
    assert_eq!((pruned.instances_processed, pruned.executions_deleted), (1, 0));
    let every = InstanceFilter::default();
    let pruned = provider.prune_executions_bulk(every, PruneOptions::default()).await.unwrap();
    assert_eq!((pruned.instances_processed, pruned.executions_deleted), (1, 2));
    assert_eq!(provider.list_executions("a").await.unwrap(), [5]);
    assert!(provider.prune_executions("unknown", PruneOptions::default()).await.is_err());
}

/// Roots that cannot be deleted once used up the limit of every call.
#[tokio::test]
async fn bulk_deletion_goes_on_past_a_root_that_cannot_be_deleted() {
    let store = Store::new().await;
    let provider = &*store.provider;
    for root in ["busy-1", "busy-2"] {
        create_with(provider, root, ended("Completed")).await;
        create_child(provider, &format!("{root}-child"), root, "Running").await;
    }
    for root in ["good-1", "good-2", "good-3"] {
        create_with(provider, root, ended("Completed")).await;
    }
    let filter = InstanceFilter { limit: Some(2), ..InstanceFilter::default() };
    for deleted in [2, 1, 0] {
        let result = provider.delete_instance_bulk(filter.clone()).await.unwrap();
        assert_eq!(result.instances_deleted, deleted);
    }
}

/// Changes `b` while a bulk deletion that has selected it deletes `a`.
fn change_when_a_is_deleted(store: &Store, change: &str) {
    let sql = format!(
        "CREATE TRIGGER change AFTER DELETE ON instances WHEN old.instance_id = 'a'
         BEGIN {change} END"
    );
    store.sql().execute_batch(&sql).unwrap();
}

/// A root that another caller had deleted counted as passed over, and the next selection skipped
/// one that could be deleted.
#[tokio::test]
async fn a_root_that_is_gone_hides_no_other_from_a_bulk_deletion() {
    let store = Store::new().await;
    let provider = &*store.provider;
    for root in ["a", "b", "c"] {
        create_with(provider, root, ended("Completed")).await;
    }
    change_when_a_is_deleted(
        &store,
        "DELETE FROM instances WHERE instance_id = 'b';
         DELETE FROM executions WHERE instance_id = 'b';
         DELETE FROM history WHERE instance_id = 'b';",
    );
    let two = InstanceFilter { limit: Some(2), ..InstanceFilter::default() };
    assert_eq!(provider.delete_instance_bulk(two).await.unwrap().instances_deleted, 2);
    assert!(provider.list_instances().await.unwrap().is_empty());
}

/// The deletion deleted whatever had finished under an id of its selection.
#[tokio::test]
async fn a_new_instance_of_a_selected_id_is_kept_if_the_filter_does_not_select_it() {
    let store = Store::new().await;
    let provider = &*store.provider;
    for root in ["a", "b"] {
        create_with(provider, root, ended("Completed")).await;
    }
    let until_now = BEGIN_MS + 1;
    change_when_a_is_deleted(
        &store,
        "UPDATE instances SET incarnation = incarnation + 1 WHERE instance_id = 'b';
         UPDATE executions SET completed_at = completed_at + 1000 WHERE instance_id = 'b';",
    );
    let filter = InstanceFilter { completed_before: Some(until_now), ..InstanceFilter::default() };
    assert_eq!(provider.delete_instance_bulk(filter).await.unwrap().instances_deleted, 1);
    assert_eq!(provider.list_instances().await.unwrap(), ["b"]);
}
