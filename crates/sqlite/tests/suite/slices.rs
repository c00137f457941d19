//! Deletions of many rows run in slices.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use duroxide_core::providers::{
    ExecutionMetadata, InstanceFilter, InstanceOutcome, Provider, ProviderAdmin, PruneOptions,
};

use crate::support::*;

const EVENTS: u64 = 6000;

/// A finished instance with many rows in every table.
async fn create_large(store: &Store, instance: &str) {
    create_with(&*store.provider, instance, ended("Completed")).await;
    let events = (2..=EVENTS).map(|id| heard(instance, id)).collect();
    store.provider.append_with_execution(instance, 1, events).await.unwrap();
    store
        .sql()
        .execute_batch(&format!(
            "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 600)
             INSERT INTO orchestrator_queue (instance_id, work_item, visible_at)
             SELECT '{instance}', '{{}}', {later} FROM n;
             WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 600)
             INSERT INTO worker_queue (instance_id, work_item) SELECT '{instance}', '{{}}' FROM n",
            later = BEGIN_MS * 2
        ))
        .unwrap();
}

fn rows(store: &Store, instance: &str) -> i64 {
    ["history", "executions", "orchestrator_queue", "worker_queue", "instances", "deletions"]
        .map(|table| {
            let sql = format!("SELECT count(*) FROM {table} WHERE instance_id = '{instance}'");
            store.count(&sql)
        })
        .iter()
        .sum()
}

/// What a deletion has left that died after its first transaction.
fn hide(store: &Store, instance: &str) {
    let sql = format!(
        "INSERT INTO deletions (instance_id, execution_id, last_message)
         VALUES ('{instance}', NULL, (SELECT coalesce(max(id), 0) FROM orchestrator_queue));
         DELETE FROM instances WHERE instance_id = '{instance}'"
    );
    store.sql().execute_batch(&sql).unwrap();
}

#[tokio::test]
async fn a_large_deletion_counts_and_removes_everything() {
    let store = Store::new().await;
    create_large(&store, "a").await;
    let deleted = store.provider.delete_instance("a", false).await.unwrap();
    assert_eq!(deleted.instances_deleted, 1);
    assert_eq!(deleted.events_deleted, EVENTS);
    assert_eq!(deleted.executions_deleted, 1);
    assert_eq!(deleted.queue_messages_deleted, 1200);
    assert_eq!(rows(&store, "a"), 0);
}

/// A deletion of 500,000 events held the only writer for more than a second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_jobs_run_between_the_slices_of_a_deletion() {
    let store = Store::new().await;
    create_large(&store, "a").await;
    let done = Arc::new(AtomicUsize::new(0));
    let deleting = tokio::spawn({
        let provider = Arc::clone(&store.provider);
        async move { provider.delete_instance("a", false).await }
    });
    while !deleting.is_finished() {
        store.provider.enqueue_for_orchestrator(start("other"), None).await.unwrap();
        done.fetch_add(1, Ordering::Relaxed);
    }
    deleting.await.unwrap().unwrap();
    assert!(done.load(Ordering::Relaxed) > 1, "a deletion is several commits");
}

/// A finished root with many small children, and one of these with some of its own.
fn create_tree(store: &Store, children: u64) {
    let add = |prefix: &str, count: u64, parent: &str| {
        format!(
            "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {count})
             INSERT INTO instances (instance_id, orchestration_name, orchestration_version,
                 current_execution_id, created_at, updated_at, parent_instance_id, incarnation)
             SELECT '{prefix}' || n, 'Test', '1.0.0', 1, 1, 1, {parent}, 1 FROM n;
             WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {count})
             INSERT INTO executions (instance_id, execution_id, status)
             SELECT '{prefix}' || n, 1, 'Completed' FROM n;
             WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {count})
             INSERT INTO history (instance_id, execution_id, event_id, event_type, event_data)
             SELECT '{prefix}' || n, 1, 1, 'x', 'x' FROM n;"
        )
    };
    let sql = [
        add("root-", 1, "NULL"),
        add("child-", children, "'root-1'"),
        add("grandchild-", 100, "'child-7'"),
    ];
    store.sql().execute_batch(&sql.concat()).unwrap();
}

/// A tree was deleted in one transaction: 20,000 children held the only writer for seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_jobs_run_while_a_tree_of_many_instances_is_deleted() {
    const CHILDREN: u64 = 3_000;
    for in_bulk in [false, true] {
        let store = Store::new().await;
        create_tree(&store, CHILDREN);
        let deleting = tokio::spawn({
            let provider = Arc::clone(&store.provider);
            async move {
                if in_bulk {
                    provider.delete_instance_bulk(InstanceFilter::default()).await
                } else {
                    provider.delete_instance("root-1", false).await
                }
            }
        });
        let mut done = 0;
        while !deleting.is_finished() {
            store.provider.enqueue_for_orchestrator(start("other"), None).await.unwrap();
            done += 1;
        }
        let deleted = deleting.await.unwrap().unwrap();
        assert_eq!(deleted.instances_deleted, CHILDREN + 101);
        assert_eq!(deleted.events_deleted, CHILDREN + 101);
        assert_eq!(deleted.executions_deleted, CHILDREN + 101);
        assert!(done > 10, "a deletion is many commits, {done} others came between");
        let left = "SELECT (SELECT count(*) FROM instances) + (SELECT count(*) FROM history)
             + (SELECT count(*) FROM executions) + (SELECT count(*) FROM deletions)";
        assert_eq!(store.count(left), 0);
    }
}

#[tokio::test]
async fn a_large_tree_with_a_running_instance_or_an_unlisted_child_is_not_deleted_in_part() {
    let store = Store::new().await;
    create_tree(&store, 300);
    let admin = &*store.provider;
    store
        .sql()
        .execute_batch(
            "UPDATE executions SET status = 'Running' WHERE instance_id = 'grandchild-99'",
        )
        .unwrap();
    let refused = admin.delete_instance("root-1", false).await.unwrap_err();
    assert!(refused.message.contains("grandchild-99 is still running"), "{refused}");
    let unlisted: Vec<String> = (1..=300).map(|number| format!("child-{number}")).collect();
    let refused = admin.delete_instances_atomic(&unlisted, true).await.unwrap_err();
    assert!(refused.message.contains("child-7 has child grandchild-"), "{refused}");
    let bulk = admin.delete_instance_bulk(InstanceFilter::default()).await.unwrap();
    assert_eq!(bulk.instances_deleted, 0);
    assert_eq!(store.count("SELECT count(*) FROM instances"), 401);
    assert_eq!(admin.delete_instance("root-1", true).await.unwrap().instances_deleted, 401);
    assert_eq!(store.count("SELECT count(*) FROM instances"), 0);
}

/// Without its parent it would run on, and nothing would find it.
#[tokio::test]
async fn a_child_that_is_created_while_its_parent_is_deleted_is_deleted_too() {
    let store = Store::new().await;
    create_large(&store, "parent").await;
    let provider = &store.provider;
    provider.enqueue_for_orchestrator(start("child"), None).await.unwrap();
    let child = turn(&**provider).await;
    hide(&store, "parent");
    let metadata = ExecutionMetadata { parent_instance_id: Some("parent".into()), ..named() };
    let first = commit(&child.lock_token, vec![started("child", 1)]).with_metadata(metadata);
    provider.store_turn(first).await.unwrap();
    assert_eq!(provider.get_parent_id("child").await.unwrap().as_deref(), Some("parent"));
    let reopened = store.another().await;
    while rows(&store, "parent") + rows(&store, "child") > 0 {
        reopened.enqueue_for_orchestrator(start("other"), None).await.unwrap();
    }
}

#[tokio::test]
async fn a_deletion_that_was_interrupted_is_invisible_and_continues_at_the_next_open() {
    let store = Store::new().await;
    create_large(&store, "a").await;
    hide(&store, "a");
    let provider = &store.provider;
    assert!(provider.read("a").await.unwrap().is_empty());
    assert!(provider.read_with_execution("a", 1).await.unwrap().is_empty());
    assert_eq!(provider.read_outcome("a").await.unwrap(), InstanceOutcome::NotFound);
    assert!(provider.list_executions("a").await.unwrap().is_empty());
    assert!(provider.get_execution_info("a", 1).await.is_err());
    // A new instance of that id starts when the old rows are gone.
    provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    assert!(try_turn(&**provider).await.is_none());
    let reopened = store.another().await;
    // Jobs of one writer run in order, and this one shares the commits of the slices.
    while rows(&store, "a") > 1 {
        reopened.enqueue_for_orchestrator(start("other"), None).await.unwrap();
    }
    let turns = reopened.fetch_orchestration_items(wish(9)).await.unwrap();
    let first = turns.iter().find(|turn| turn.item.instance == "a").expect("it starts");
    assert_eq!(first.item.messages, [start("a")]);
    assert!(first.item.history.is_empty());
}

#[tokio::test]
async fn a_large_execution_is_pruned_in_slices() {
    let store = Store::new().await;
    create_large(&store, "a").await;
    let ended = "UPDATE executions SET status = 'ContinuedAsNew' WHERE instance_id = 'a';
                 INSERT INTO executions (instance_id, execution_id, status)
                 VALUES ('a', 2, 'Running');
                 UPDATE instances SET current_execution_id = 2 WHERE instance_id = 'a'";
    store.sql().execute_batch(ended).unwrap();
    let options = PruneOptions { keep_last: Some(1), ..PruneOptions::default() };
    let pruned = store.provider.prune_executions("a", options).await.unwrap();
    assert_eq!((pruned.instances_processed, pruned.executions_deleted), (1, 1));
    assert_eq!(pruned.events_deleted, EVENTS);
    assert_eq!(store.count("SELECT count(*) FROM history"), 0);
    assert_eq!(store.count("SELECT count(*) FROM deletions"), 0);
    assert_eq!(store.provider.list_executions("a").await.unwrap(), [2]);
}

/// Roots without children, each with one event.
fn create_roots(store: &Store, count: u64) {
    let sql = format!(
        "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {count})
         INSERT INTO instances (instance_id, orchestration_name, orchestration_version,
             current_execution_id, created_at, updated_at, incarnation)
         SELECT 'root-' || n, 'Test', '1.0.0', 1, n, n, 1 FROM n;
         INSERT INTO executions (instance_id, execution_id, status)
         SELECT instance_id, 1, 'Completed' FROM instances;
         INSERT INTO history (instance_id, execution_id, event_id, event_type, event_data)
         SELECT instance_id, 1, 1, 'x', 'x' FROM instances"
    );
    store.sql().execute_batch(&sql).unwrap();
}

/// Each root was a transaction that waited for the disk. Now many share one, and it is still short.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_jobs_run_while_many_roots_are_deleted() {
    const ROOTS: u64 = 3_000;
    let store = Store::new().await;
    create_roots(&store, ROOTS);
    let deleting = tokio::spawn({
        let provider = Arc::clone(&store.provider);
        let limit = Some(u32::try_from(ROOTS).unwrap());
        async move {
            let filter = InstanceFilter { limit, ..InstanceFilter::default() };
            provider.delete_instance_bulk(filter).await
        }
    });
    let mut done = 0;
    while !deleting.is_finished() {
        store.provider.enqueue_for_orchestrator(start("other"), None).await.unwrap();
        done += 1;
    }
    let deleted = deleting.await.unwrap().unwrap();
    assert_eq!((deleted.instances_deleted, deleted.events_deleted), (ROOTS, ROOTS));
    assert!(done > 5, "a deletion is many commits, {done} others came between");
    assert_eq!(store.count("SELECT count(*) FROM instances"), 0);
}

#[tokio::test]
async fn a_root_that_fails_or_runs_leaves_the_others_deleted_and_counted() {
    let store = Store::new().await;
    create_roots(&store, 100);
    store
        .sql()
        .execute_batch(
            "UPDATE executions SET status = 'Running' WHERE instance_id = 'root-20';
             CREATE TRIGGER broken BEFORE DELETE ON history WHEN old.instance_id = 'root-50'
             BEGIN SELECT RAISE(ABORT, 'broken'); END",
        )
        .unwrap();
    let filter = InstanceFilter { limit: Some(40), ..InstanceFilter::default() };
    let deleted = store.provider.delete_instance_bulk(filter).await.unwrap();
    assert_eq!((deleted.instances_deleted, deleted.events_deleted), (40, 40));
    let rest = store.provider.delete_instance_bulk(InstanceFilter::default()).await.unwrap();
    assert_eq!((rest.instances_deleted, rest.executions_deleted), (58, 58));
    let left = "SELECT count(*) FROM instances WHERE instance_id IN ('root-20', 'root-50')";
    assert_eq!(store.count(left), 2);
    assert_eq!(store.count("SELECT count(*) FROM history"), 2);
}
