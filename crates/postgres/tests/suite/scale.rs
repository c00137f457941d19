//! Turns and trees with more instances than the server's table of locks has room for.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{InstanceFilter, Provider, ProviderAdmin, PruneOptions, WorkItem};
use duroxide_pg_server::{Server, Setup};
use tokio::time::timeout;

use crate::support::*;

/// More locks than [`small_server`] has room for.
const CHILDREN: u64 = 6000;

/// A server with room for a few hundred locks.
fn small_server() -> Server {
    let settings = ["max_locks_per_transaction=10", "max_connections=20", "max_wal_senders=0"];
    let settings = settings.map(str::to_owned).to_vec();
    Server::start(&Setup { settings, ..Setup::default() }).unwrap()
}

/// One advisory lock for each started child once filled the table: the turn never committed.
#[tokio::test]
async fn a_turn_starts_more_children_than_there_are_locks() {
    let server = small_server();
    let store = Store::at(&server.url());
    let node = store.node().await;
    create(&*node, "parent").await;
    node.enqueue_for_orchestrator(signal("parent", "go"), None).await.unwrap();
    // One of the children has a message already.
    node.enqueue_for_orchestrator(queued("child-7", "early"), None).await.unwrap();
    let held = node.fetch_orchestration_items(wish(1)).await.unwrap().pop().unwrap();
    assert_eq!(held.item.instance, "parent");
    assert!(try_turn(&*node).await.is_none(), "the message is set aside");
    let children = (0..CHILDREN).map(|number| start(&format!("child-{number}"))).collect();
    let next = commit(&held.lock_token, vec![heard("parent", 2)]).with_outgoing_messages(children);
    node.store_turn(next).await.unwrap();
    let queued = store.count("SELECT count(*) FROM $.orchestrator_queue WHERE NOT parked").await;
    assert_eq!(queued, i64::try_from(CHILDREN).unwrap() + 1);
    let first = node.fetch_orchestration_items(wish(64)).await.unwrap();
    let seventh = first.iter().find(|turn| turn.item.instance == "child-7").expect("it is early");
    assert_eq!(seventh.item.messages.len(), 2);
}

#[tokio::test]
async fn no_message_of_a_child_stays_parked_while_a_large_turn_commits() {
    let store = Store::patient();
    let nodes = [store.node().await, store.node().await];
    create(&*nodes[0], "parent").await;
    nodes[0].enqueue_for_orchestrator(signal("parent", "go"), None).await.unwrap();
    let held = turn(&*nodes[0]).await;
    let sql = store.sql().await;
    // The commit has added the starts and waits for the test before it ends.
    sql.run(
        "CREATE FUNCTION $.linger() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN PERFORM pg_advisory_xact_lock(hashtext(''$'')); RETURN NULL; END';
         CREATE CONSTRAINT TRIGGER linger AFTER INSERT ON $.history
             DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION $.linger();
         SELECT pg_advisory_lock(hashtext('$'))",
    )
    .await;
    let committer = Arc::clone(&nodes[0]);
    let children: Vec<WorkItem> = (0..300).map(|number| start(&format!("c-{number}"))).collect();
    let committed = tokio::spawn(async move {
        let next = commit(&held.lock_token, vec![heard("parent", 2)]);
        committer.store_turn(next.with_outgoing_messages(children)).await
    });
    let waiting = "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
        WHERE NOT l.granted AND a.query LIKE '%$%'";
    let blocked = async { while sql.count(waiting).await == 0 {} };
    timeout(PATIENCE, blocked).await.unwrap();
    nodes[1].enqueue_for_orchestrator(queued("c-7", "early"), None).await.unwrap();
    assert!(try_turn(&*nodes[1]).await.is_none(), "the start is not there yet");
    sql.run("SELECT pg_advisory_unlock(hashtext('$'))").await;
    committed.await.unwrap().unwrap();
    assert_eq!(store.count("SELECT count(*) FROM $.orchestrator_queue WHERE parked").await, 0);
}

/// Adds finished instances; `parent` is an SQL expression.
async fn add_finished(sql: &Sql, prefix: &str, count: u64, parent: &str) {
    sql.run(&format!(
        "INSERT INTO $.instances (instance_id, orchestration_name, orchestration_version,
             current_execution_id, created_at, updated_at, parent_instance_id, incarnation)
         SELECT '{prefix}' || n, 'Test', '1.0.0', 1, 1, 1, {parent}, 1
         FROM generate_series(1, {count}) AS n;
         INSERT INTO $.executions (instance_id, execution_id, status, started_at, completed_at)
         SELECT '{prefix}' || n, 1, 'Completed', 1, 1 FROM generate_series(1, {count}) AS n;
         INSERT INTO $.history (instance_id, execution_id, event_id, event_type, event_data,
             created_at)
         SELECT '{prefix}' || n, 1, 1, 'x', 'x', 1 FROM generate_series(1, {count}) AS n"
    ))
    .await;
}

#[tokio::test]
async fn a_tree_with_more_instances_than_locks_is_deleted() {
    let server = small_server();
    let store = Store::at(&server.url());
    let node = store.node().await;
    let sql = store.sql().await;
    add_finished(&sql, "root-", 1, "NULL").await;
    add_finished(&sql, "child-", CHILDREN, "'root-1'").await;
    add_finished(&sql, "grandchild-", 300, "'child-' || n").await;
    add_finished(&sql, "later-", 1, "NULL").await;
    let deleted = node.delete_instance_bulk(InstanceFilter::default()).await.unwrap();
    assert_eq!(deleted.instances_deleted, CHILDREN + 302);
    assert_eq!(deleted.events_deleted, CHILDREN + 302);
    assert_eq!(sql.count("SELECT count(*) FROM $.history").await, 0);
}

#[tokio::test]
async fn a_tree_with_a_running_instance_is_not_deleted_in_part() {
    let store = Store::live();
    let node = store.node().await;
    let sql = store.sql().await;
    add_finished(&sql, "root-", 1, "NULL").await;
    add_finished(&sql, "child-", 600, "'root-1'").await;
    sql.run("UPDATE $.executions SET status = 'Running' WHERE instance_id = 'child-599'").await;
    let refused = node.delete_instance("root-1", false).await.unwrap_err();
    assert!(refused.message.contains("child-599 is still running"), "{refused}");
    assert_eq!(sql.count("SELECT count(*) FROM $.instances").await, 601);
    let deleted = node.delete_instance("root-1", true).await.unwrap();
    assert_eq!(deleted.instances_deleted, 601);
}

/// A long list was checked and then deleted part by part: an instance of a later part could begin
/// to run in between, and the list was deleted by half.
#[tokio::test]
async fn an_instance_of_a_long_list_does_not_begin_to_run_after_the_check() {
    let store = Store::patient();
    let node = store.node().await;
    let sql = store.sql().await;
    add_finished(&sql, "done-", 600, "NULL").await;
    sql.run(
        "CREATE FUNCTION $.linger() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN PERFORM pg_advisory_xact_lock(hashtext(''$'')); RETURN new; END';
         CREATE TRIGGER linger BEFORE INSERT ON $.deletions
             FOR EACH ROW EXECUTE FUNCTION $.linger();
         SELECT pg_advisory_lock(hashtext('$'))",
    )
    .await;
    // The last part of the list has an id that is about to be started.
    let ids: Vec<String> =
        (1..=600).map(|it| format!("done-{it}")).chain(["late".to_owned()]).collect();
    let deleting = Arc::clone(&node);
    let deleted = tokio::spawn(async move { deleting.delete_instances_atomic(&ids, false).await });
    let waiting = "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
        WHERE NOT l.granted AND a.query LIKE '%$%'";
    let blocked = async { while sql.count(waiting).await == 0 {} };
    timeout(PATIENCE, blocked).await.expect("the first part is being deleted");
    node.enqueue_for_orchestrator(start("late"), None).await.unwrap();
    if let Some(turn) = try_turn(&*node).await {
        node.store_turn(commit(&turn.lock_token, vec![started("late")])).await.unwrap();
    }
    sql.run("SELECT pg_advisory_unlock(hashtext('$'))").await;
    let deleted = deleted.await.unwrap().expect("all are deleted, or none");
    assert_eq!(deleted.instances_deleted, 600);
    assert_eq!(sql.count("SELECT count(*) FROM $.instance_locks").await, 0);
}

/// One that runs by the time of the check ends it; the others can be used at once.
#[tokio::test]
async fn a_long_list_that_is_refused_leaves_its_instances_free() {
    let store = Store::live();
    let node = store.node().await;
    let sql = store.sql().await;
    add_finished(&sql, "done-", 600, "NULL").await;
    create(&*node, "running").await;
    let first = (1..=600).map(|it| format!("done-{it}"));
    let ids: Vec<String> = first.chain(["free".to_owned(), "running".to_owned()]).collect();
    // As the check that follows the reading of the list.
    let reserve = sql.function("reserve_instances").await;
    let release = sql.function("release_reserved").await;
    let listed = ids.iter().map(|id| format!("'{id}'")).collect::<Vec<_>>().join(",");
    let deletion = "'00000000-0000-0000-0000-000000000007'::UUID";
    let reserved = "SELECT count(*) FROM $.instance_locks";
    let call = format!("$.{reserve}(NULL, ARRAY[{listed}], {deletion}, 1000)");
    assert_eq!(
        sql.count(&format!("SELECT count(*) FROM {call} AS r WHERE r = 'running'")).await,
        1
    );
    assert_eq!(sql.count(reserved).await, 0, "all or none");
    let others = listed.replace(",'running'", "");
    sql.run(&format!("SELECT $.{reserve}(NULL, ARRAY[{others}], {deletion}, 100000)")).await;
    node.enqueue_for_orchestrator(start("free"), None).await.unwrap();
    assert!(try_turn(&*node).await.is_none(), "it is reserved");
    sql.run(&format!("SELECT $.{release}(ARRAY[{others}], {deletion})")).await;
    assert_eq!(sql.count(reserved).await, 0);
    assert_eq!(turn(&*node).await.item.instance, "free");
}

#[tokio::test]
async fn bulk_deletion_goes_on_past_a_root_that_cannot_be_deleted() {
    let store = Store::live();
    let node = store.node().await;
    let sql = store.sql().await;
    add_finished(&sql, "bad-", 1, "NULL").await;
    add_finished(&sql, "busy-", 1, "NULL").await;
    add_finished(&sql, "busy-child-", 1, "'busy-1'").await;
    add_finished(&sql, "good-", 3, "NULL").await;
    sql.run(
        "UPDATE $.executions SET status = 'Running' WHERE instance_id = 'busy-child-1';
         CREATE FUNCTION $.refuse() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN RAISE EXCEPTION ''no''; END';
         CREATE TRIGGER refuse BEFORE DELETE ON $.instances
             FOR EACH ROW WHEN (old.instance_id = 'bad-1') EXECUTE FUNCTION $.refuse()",
    )
    .await;
    let filter = InstanceFilter { limit: Some(2), ..InstanceFilter::default() };
    let deleted = node.delete_instance_bulk(filter.clone()).await.unwrap();
    assert_eq!(deleted.instances_deleted, 2, "the limit counts what is deleted");
    assert_eq!(node.delete_instance_bulk(filter.clone()).await.unwrap().instances_deleted, 1);
    let left = node.delete_instance_bulk(filter).await;
    assert!(left.unwrap_err().message.contains("no"), "nothing else could be done");
}

#[tokio::test]
async fn pruning_holds_up_no_commit_of_its_instance() {
    let store = Store::patient();
    let node = store.node().await;
    create(&*node, "a").await;
    let sql = store.sql().await;
    sql.run(
        "INSERT INTO $.executions (instance_id, execution_id, status, started_at, completed_at)
         VALUES ('a', 2, 'Running', 1, NULL);
         UPDATE $.executions SET status = 'ContinuedAsNew', completed_at = 1 WHERE execution_id = 1;
         UPDATE $.instances SET current_execution_id = 2;
         INSERT INTO $.history (instance_id, execution_id, event_id, event_type, event_data,
             created_at)
         SELECT 'a', 1, 1 + n, 'x', 'x', 1 FROM generate_series(1, 4500) AS n;
         CREATE FUNCTION $.linger() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN PERFORM pg_advisory_xact_lock(hashtext(''$'')); RETURN old; END';
         CREATE TRIGGER linger BEFORE DELETE ON $.history
             FOR EACH ROW EXECUTE FUNCTION $.linger();
         SELECT pg_advisory_lock(hashtext('$'))",
    )
    .await;
    let pruning = Arc::clone(&node);
    let pruned =
        tokio::spawn(async move { pruning.prune_executions("a", PruneOptions::default()).await });
    let waiting = "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
        WHERE NOT l.granted AND a.query LIKE '%$%'";
    let blocked = async { while sql.count(waiting).await == 0 {} };
    timeout(PATIENCE, blocked).await.unwrap();
    node.enqueue_for_orchestrator(signal("a", "1"), None).await.unwrap();
    let held = turn(&*node).await;
    let mut next = commit(&held.lock_token, Vec::new());
    next.execution_id = 2;
    let stored = timeout(Duration::from_secs(15), node.store_turn(next)).await;
    stored.expect("it does not wait").unwrap();
    sql.run("SELECT pg_advisory_unlock(hashtext('$'))").await;
    let pruned = pruned.await.unwrap().unwrap();
    assert_eq!((pruned.executions_deleted, pruned.events_deleted), (1, 4501));
}

/// A deletion and a commit once locked the rows of an instance in different orders.
#[tokio::test]
async fn a_deletion_waits_for_a_commit_without_holding_rows() {
    let store = Store::patient();
    let node = store.node().await;
    create(&*node, "a").await;
    node.enqueue_for_orchestrator(signal("a", "1"), None).await.unwrap();
    let _held = turn(&*node).await;
    let sql = store.sql().await;
    // As a commit does it: the lease first.
    sql.run("BEGIN; DELETE FROM $.instance_locks WHERE instance_id = 'a'").await;
    let deleting = Arc::clone(&node);
    let deleted = tokio::spawn(async move { deleting.delete_instance("a", true).await });
    let other = store.sql().await;
    let waiting = "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
        WHERE NOT l.granted AND a.query LIKE '%$%'";
    let blocked = async { while other.count(waiting).await == 0 {} };
    timeout(PATIENCE, blocked).await.unwrap();
    sql.run("SELECT 1 FROM $.instances WHERE instance_id = 'a' FOR UPDATE NOWAIT; COMMIT").await;
    assert_eq!(deleted.await.unwrap().unwrap().instances_deleted, 1);
}
