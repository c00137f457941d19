//! A bulk deletion deletes what it has selected, and nothing that came in its place.

use duroxide_core::providers::{
    ExecutionMetadata, InstanceFilter, Provider, ProviderAdmin, ProviderError,
};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::deletion::until_blocked;
use crate::support::*;

async fn finished(node: &dyn Provider, instance: &str) {
    node.enqueue_for_orchestrator(start(instance), None).await.unwrap();
    let held = turn(node).await;
    let metadata = ExecutionMetadata { status: Some("Completed".to_owned()), ..named() };
    let first = commit(&held.lock_token, vec![started(instance)]).with_metadata(metadata);
    node.store_turn(first).await.unwrap();
}

/// A bulk deletion that has made its selection and waits for the locks of `a`, which another
/// session holds until it commits.
async fn waiting_bulk(
    store: &Store,
    filter: InstanceFilter,
) -> (Sql, JoinHandle<Result<u64, ProviderError>>) {
    let node = store.node().await;
    let sql = store.sql().await;
    let lock = sql.function("lock_for_deletion").await;
    sql.run(&format!("BEGIN; SELECT $.{lock}(ARRAY['a'])")).await;
    let deletion = tokio::spawn(async move {
        node.delete_instance_bulk(filter).await.map(|deleted| deleted.instances_deleted)
    });
    until_blocked(&store.sql().await).await;
    (sql, deletion)
}

async fn result(deletion: JoinHandle<Result<u64, ProviderError>>) -> u64 {
    timeout(PATIENCE, deletion).await.unwrap().unwrap().unwrap()
}

/// The deletion removed all that it found under the ids of its selection: also the start of an
/// instance that was requested after another caller had deleted the selected one.
#[tokio::test]
async fn the_start_of_a_new_instance_survives_a_bulk_deletion_of_the_old_one() {
    let store = Store::patient();
    let node = store.node().await;
    for root in ["a", "b", "c"] {
        finished(&*node, root).await;
    }
    let two = InstanceFilter { limit: Some(2), ..InstanceFilter::default() };
    let (sql, deletion) = waiting_bulk(&store, two).await;
    sql.run(
        "DELETE FROM $.instances WHERE instance_id = 'a';
         DELETE FROM $.executions WHERE instance_id = 'a';
         DELETE FROM $.history WHERE instance_id = 'a';
         INSERT INTO $.orchestrator_queue (instance_id, work_item, visible_at, created_at, kind)
         VALUES ('a', '{}', 1, 1, 0);
         COMMIT",
    )
    .await;
    assert_eq!(result(deletion).await, 2, "another caller deleted the first");
    let starts = "SELECT count(*) FROM $.orchestrator_queue WHERE instance_id = 'a'";
    assert_eq!(sql.count(starts).await, 1);
    assert_eq!(sql.count("SELECT count(*) FROM $.deletions").await, 0);
    assert_eq!(sql.count("SELECT count(*) FROM $.instance_locks").await, 0);
}

#[tokio::test]
async fn a_new_instance_of_a_selected_id_is_kept_if_the_filter_does_not_select_it() {
    let store = Store::patient();
    let node = store.node().await;
    finished(&*node, "a").await;
    let long_ago = InstanceFilter { completed_before: Some(10), ..InstanceFilter::default() };
    store.sql().await.run("UPDATE $.executions SET completed_at = 1").await;
    let (sql, deletion) = waiting_bulk(&store, long_ago).await;
    sql.run(
        "UPDATE $.instances SET incarnation = incarnation + 1;
         UPDATE $.executions SET completed_at = 20;
         COMMIT",
    )
    .await;
    assert_eq!(result(deletion).await, 0);
    assert_eq!(node.list_instances().await.unwrap(), ["a"]);
}

/// The call forgot what it had hidden when the removal of rows failed, took the roots for passed
/// over, and skipped as many others.
#[tokio::test]
async fn roots_whose_rows_are_removed_later_count_as_deleted() {
    let store = Store::live();
    let node = store.node().await;
    for root in ["a", "b", "c", "d"] {
        finished(&*node, root).await;
    }
    let sql = store.sql().await;
    sql.run(
        "INSERT INTO $.history (instance_id, execution_id, event_id, event_type, event_data,
             created_at)
         SELECT 'a', 1, n, 'x', 'x', 1 FROM generate_series(2, 6000) AS n;
         CREATE FUNCTION $.refuse() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN RAISE EXCEPTION ''no''; END';
         CREATE TRIGGER refuse BEFORE DELETE ON $.history
             FOR EACH ROW WHEN (old.event_id = 5900) EXECUTE FUNCTION $.refuse()",
    )
    .await;
    let three = InstanceFilter { limit: Some(3), ..InstanceFilter::default() };
    let deleted = node.delete_instance_bulk(three).await.unwrap();
    assert_eq!(deleted.instances_deleted, 3);
    assert!(deleted.events_deleted > 0, "those of the slices before");
    assert_eq!(node.list_instances().await.unwrap(), ["d"]);
    sql.run("DROP TRIGGER refuse ON $.history; UPDATE $.deletions SET touched_at = 'epoch'").await;
    let _other = store.node().await;
    let removed = async { while sql.count("SELECT count(*) FROM $.deletions").await > 0 {} };
    timeout(PATIENCE, removed).await.expect("another node removes the rest");
    assert_eq!(sql.count("SELECT count(*) FROM $.history").await, 1);
}
