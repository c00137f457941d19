//! Deletions of many rows run in slices.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use duroxide_core::providers::{InstanceOutcome, Provider, ProviderAdmin, PruneOptions};

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
