//! Deleting many instances with a filter.

use std::time::Duration;

use duroxide_core::providers::{DeleteInstanceResult, InstanceFilter};

use crate::ProviderFactory;
use crate::support::{End, Must, Store, activity, commit};

const MOMENT: Duration = Duration::from_millis(100);

async fn finished<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, instance: &str) {
    store.create(instance).await;
    store.complete(instance, "done").await;
}

async fn delete<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    filter: InstanceFilter,
) -> DeleteInstanceResult {
    store.admin().delete_instance_bulk(filter).await.must("deleting by a filter")
}

fn ids(ids: &[&str]) -> InstanceFilter {
    let ids = ids.iter().map(|id| (*id).to_owned()).collect();
    InstanceFilter { instance_ids: Some(ids), ..InstanceFilter::default() }
}

fn before(time: u64) -> InstanceFilter {
    InstanceFilter { completed_before: Some(time), ..InstanceFilter::default() }
}

/// Ids select instances. Unknown ids and an empty list select nothing. Without a condition the
/// filter selects every finished instance.
pub async fn test_delete_instance_bulk_filter_combinations<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    for instance in ["a", "b", "c", "d"] {
        finished(&store, instance).await;
    }
    store.create("failed").await;
    store.fail("failed", "why").await;
    store.create("busy").await;
    assert_eq!(delete(&store, ids(&["unknown"])).await.instances_deleted, 0);
    assert_eq!(
        delete(&store, ids(&[])).await.instances_deleted,
        0,
        "an empty list selects nothing"
    );
    let deleted = delete(&store, ids(&["b", "unknown", "d"])).await;
    assert_eq!((deleted.instances_deleted, deleted.executions_deleted), (2, 2));
    assert_eq!(deleted.events_deleted, 4);
    assert_eq!(store.instances().await, ["a", "busy", "c", "failed"]);
    assert_eq!(delete(&store, InstanceFilter::default()).await.instances_deleted, 3);
    assert_eq!(store.instances().await, ["busy"]);
}

/// Running instances are kept, and the limit is respected.
pub async fn test_delete_instance_bulk_safety_and_limits<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("busy").await;
    store.create("chain").await;
    store.continue_as_new("chain").await;
    for number in 0..5 {
        finished(&store, &format!("done {number}")).await;
    }
    assert_eq!(delete(&store, ids(&["busy", "chain"])).await.instances_deleted, 0);
    let two = InstanceFilter { limit: Some(2), ..InstanceFilter::default() };
    for (deleted, left) in [(2, 3), (2, 1), (1, 0), (0, 0)] {
        assert_eq!(delete(&store, two.clone()).await.instances_deleted, deleted);
        assert_eq!(store.instances().await.len(), 2 + left);
    }
    let none = InstanceFilter { limit: Some(0), ..InstanceFilter::default() };
    finished(&store, "done").await;
    assert_eq!(delete(&store, none).await.instances_deleted, 0);
    assert_eq!(store.instances().await, ["busy", "chain", "done"]);
    assert_eq!(store.history("busy").await.len(), 1);
}

/// Only instances that finished before the given time are deleted. All conditions must hold.
pub async fn test_delete_instance_bulk_completed_before_filter<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.create("late").await;
    finished(&store, "early").await;
    finished(&store, "early too").await;
    store.pass(MOMENT).await;
    let cut = store.now_ms();
    store.pass(MOMENT).await;
    // Created before the given time, finished after it.
    store.complete("late", "done").await;
    store.create("busy").await;
    assert_eq!(delete(&store, before(0)).await.instances_deleted, 0);
    let both = InstanceFilter { completed_before: Some(cut), ..ids(&["early", "late"]) };
    assert_eq!(delete(&store, both).await.instances_deleted, 1);
    assert_eq!(store.instances().await, ["busy", "early too", "late"]);
    assert_eq!(delete(&store, before(cut)).await.instances_deleted, 1);
    assert_eq!(store.instances().await, ["busy", "late"]);
    let info = store.admin().get_execution_info("late", 1).await.must("info of an execution");
    let completed_at = info.completed_at.expect("the execution has finished");
    assert_eq!(delete(&store, before(completed_at)).await.instances_deleted, 0, "strictly before");
    assert_eq!(delete(&store, before(completed_at + 1)).await.instances_deleted, 1);
    assert_eq!(store.instances().await, ["busy"]);
}

/// Deleting a root deletes its descendants. The filter does not select descendants themselves.
pub async fn test_delete_instance_bulk_cascades_to_children<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    let roots = ["r1", "r2", "r3"];
    for root in roots {
        store.create(root).await;
    }
    let children = [("c1", "r1"), ("c2", "r1"), ("c3", "r2"), ("g1", "c3")];
    for (child, parent) in children {
        store.create_child(child, parent).await;
    }
    for instance in children.map(|(child, _)| child).into_iter().chain(roots) {
        store.send_work(activity(instance, 2)).await;
        store.complete(instance, "done").await;
    }
    assert_eq!(
        delete(&store, ids(&["c1", "g1"])).await.instances_deleted,
        0,
        "descendants are not selected"
    );
    assert_eq!(store.instances().await.len(), 7);
    let one = InstanceFilter { limit: Some(1), ..ids(&["r1", "r2", "r3"]) };
    let first = delete(&store, one).await.instances_deleted;
    assert!(first > 0, "the limit counts roots");
    let rest = delete(&store, ids(&["r1", "r2", "r3"])).await.instances_deleted;
    assert_eq!(first + rest, 7, "three roots and four descendants");
    assert_eq!(store.instances().await, [""; 0]);
    let depths = store.admin().get_queue_depths().await.must("queue depths");
    assert_eq!((depths.orchestrator_queue, depths.worker_queue), (0, 0));
}

/// A finished root is kept while a descendant runs.
pub async fn test_delete_instance_bulk_skips_trees_with_a_running_instance<
    F: ProviderFactory + ?Sized,
>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.create("root").await;
    store.create_child("child", "root").await;
    store.complete("root", "done").await;
    finished(&store, "other").await;
    assert_eq!(delete(&store, InstanceFilter::default()).await.instances_deleted, 1);
    assert_eq!(store.instances().await, ["child", "root"], "no child loses its parent");
    store.complete("child", "done").await;
    assert_eq!(delete(&store, InstanceFilter::default()).await.instances_deleted, 2);
}

/// An instance whose next execution is queued runs. One whose next execution was lost has finished.
pub async fn test_delete_instance_bulk_between_executions<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.create("chain").await;
    store.end_with("chain", End::ContinuedAsNew("next"), vec![]).await;
    store.pass(MOMENT).await;
    for filter in [InstanceFilter::default(), ids(&["chain"]), before(store.now_ms())] {
        assert_eq!(delete(&store, filter).await.instances_deleted, 0, "it runs");
    }
    let turn = store.turn_of("chain").await;
    assert_eq!(delete(&store, ids(&["chain"])).await.instances_deleted, 0, "its start is leased");
    store.ack(commit(&turn, vec![])).await.must("a commit that drops the next execution");
    assert_eq!(delete(&store, ids(&["chain"])).await.instances_deleted, 1, "nothing continues it");
}

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __bulk_deletion {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context bulk_deletion
            test_delete_instance_bulk_filter_combinations needs(management);
            test_delete_instance_bulk_safety_and_limits needs(management);
            test_delete_instance_bulk_completed_before_filter needs(management);
            test_delete_instance_bulk_cascades_to_children needs(management);
            test_delete_instance_bulk_skips_trees_with_a_running_instance needs(management);
            test_delete_instance_bulk_between_executions needs(management);
        }
    };
}
