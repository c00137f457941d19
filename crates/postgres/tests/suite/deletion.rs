//! Deletions run in slices, and no child outlives its parent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use duroxide_core::EventKind;
use duroxide_core::providers::{
    ClientMessage, Delivery, ExecutionMetadata, FetchedTurn, InstanceOutcome, Provider,
    ProviderAdmin, PruneOptions, TurnCommit, WorkItem,
};
use tokio::time::timeout;

use crate::support::*;

/// Rows of one transaction, with some room for what a statement removes.
const SLICE_ROWS: i64 = 5 * 1024;

/// Gives an instance more events than a slice removes, and rows in every other table.
async fn fill(sql: &Sql, instance: &str, events: i64) {
    sql.run(&format!(
        "INSERT INTO $.history (instance_id, execution_id, event_id, event_type, event_data,
             created_at)
         SELECT '{instance}', 1, 1 + n, 'x', 'x', 1 FROM generate_series(1, {events}) AS n;
         INSERT INTO $.orchestrator_queue (instance_id, work_item, visible_at, created_at, kind)
         SELECT '{instance}', '{{}}', 1, 1, 0 FROM generate_series(1, 300);
         INSERT INTO $.worker_queue (work_item, created_at, instance_id, execution_id,
             activity_id, route)
         SELECT '{{}}', 1, '{instance}', 1, n, '' FROM generate_series(1, 300) AS n;
         INSERT INTO $.kv_store (instance_id, key, value, last_updated_at_ms)
         SELECT '{instance}', n::TEXT, 'x', 1 FROM generate_series(1, 300) AS n"
    ))
    .await;
}

/// All rows of an instance.
async fn rows(sql: &Sql, instance: &str) -> i64 {
    let tables = [
        "instances",
        "executions",
        "history",
        "orchestrator_queue",
        "worker_queue",
        "kv_store",
        "kv_delta",
        "instance_locks",
        "deletions",
    ];
    let counts = tables
        .map(|table| format!("(SELECT count(*) FROM $.{table} WHERE instance_id = '{instance}')"));
    sql.count(&format!("SELECT {}", counts.join(" + "))).await
}

/// What a deletion has left whose caller died after its first transaction.
pub(crate) async fn hide(sql: &Sql, instance: &str) {
    let lock = sql.function("lock_for_deletion").await;
    let hide = sql.function("hide_instances").await;
    sql.run(&format!(
        "SELECT $.{lock}(ARRAY['{instance}']),
             $.{hide}($.now_ms(), ARRAY['{instance}'], gen_random_uuid(), 1000);
         UPDATE $.deletions SET touched_at = 'epoch'"
    ))
    .await;
}

fn child_start(child: &str, parent: &str) -> WorkItem {
    let mut item = start(child);
    if let WorkItem::StartOrchestration { parent_instance, parent_id, .. } = &mut item {
        *parent_instance = Some(parent.to_owned());
        *parent_id = Some(2);
    }
    item
}

/// The commit of a turn that starts children.
fn starting(parent: &FetchedTurn, children: &[String]) -> TurnCommit {
    let instance = &parent.item.instance;
    let events = children.iter().zip(2..).map(|(child, id)| {
        let kind = EventKind::SubOrchestrationScheduled {
            name: "Test".to_owned(),
            instance: child.clone(),
            input: String::new(),
        };
        event(instance, id, kind)
    });
    commit(&parent.lock_token, events.collect())
        .with_outgoing_messages(children.iter().map(|child| child_start(child, instance)).collect())
}

/// The first commit of a child.
fn created(child: &FetchedTurn, parent: &str) -> TurnCommit {
    let metadata = ExecutionMetadata { parent_instance_id: Some(parent.to_owned()), ..named() };
    commit(&child.lock_token, vec![started(&child.item.instance)]).with_metadata(metadata)
}

/// A parent with a turn to commit.
async fn woken_parent(node: &dyn Provider, parent: &str) -> FetchedTurn {
    create(node, parent).await;
    node.enqueue_for_orchestrator(signal(parent, "go"), None).await.unwrap();
    turn(node).await
}

/// Deleting an instance with 500,000 events was one transaction, which ran into the timeout of
/// statements in the end.
#[tokio::test]
async fn a_large_deletion_counts_everything_and_removes_it_in_slices() {
    let store = Store::live();
    let node = store.node().await;
    create(&*node, "a").await;
    let sql = store.sql().await;
    fill(&sql, "a", 3 * SLICE_ROWS).await;
    sql.run(
        "CREATE TABLE $.removed (transaction XID8, count BIGINT);
         CREATE FUNCTION $.count_removed() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN
                  INSERT INTO $.removed
                  SELECT pg_current_xact_id(), count(*) FROM gone; RETURN NULL;
              END';
         CREATE TRIGGER count_removed AFTER DELETE ON $.history REFERENCING OLD TABLE AS gone
             FOR EACH STATEMENT EXECUTE FUNCTION $.count_removed()",
    )
    .await;
    let deleted = node.delete_instance("a", true).await.unwrap();
    assert_eq!((deleted.instances_deleted, deleted.executions_deleted), (1, 1));
    assert_eq!(i64::try_from(deleted.events_deleted).unwrap(), 3 * SLICE_ROWS + 1);
    assert_eq!(deleted.queue_messages_deleted, 600);
    assert_eq!(rows(&sql, "a").await, 0);
    let largest = sql
        .count(
            "SELECT max(t.count)::BIGINT FROM (
                 SELECT sum(count) AS count FROM $.removed GROUP BY transaction) AS t",
        )
        .await;
    assert!(largest <= SLICE_ROWS, "{largest} rows in one transaction");
}

#[tokio::test]
async fn an_interrupted_deletion_is_invisible_and_any_node_continues_it() {
    let store = Store::live();
    let node = store.node().await;
    create(&*node, "a").await;
    let sql = store.sql().await;
    fill(&sql, "a", 10).await;
    hide(&sql, "a").await;
    assert!(node.read("a").await.unwrap().is_empty());
    assert!(node.read_with_execution("a", 1).await.unwrap().is_empty());
    assert_eq!(node.read_outcome("a").await.unwrap(), InstanceOutcome::NotFound);
    assert_eq!(node.latest_execution_id("a").await.unwrap(), 1);
    assert!(node.list_executions("a").await.unwrap().is_empty());
    assert!(node.get_execution_info("a", 1).await.is_err());
    assert!(node.get_instance_info("a").await.is_err());
    assert_eq!(node.get_kv_value("a", "7").await.unwrap(), None);
    assert!(node.get_kv_all_values("a").await.unwrap().is_empty());
    let strict = ClientMessage::new(signal("a", "late")).to_existing();
    assert_eq!(node.send_message(strict).await.unwrap(), Delivery::NotFound);
    // A new instance of that id starts when the old rows are gone.
    let again = node.send_message(ClientMessage::new(start("a"))).await.unwrap();
    assert_eq!(again, Delivery::Enqueued);
    assert!(try_turn(&*node).await.is_none());
    let other = store.node().await;
    let first = async {
        loop {
            let fetch = wish(1).with_poll_timeout(PATIENCE);
            if let Some(turn) = other.fetch_orchestration_items(fetch).await.unwrap().pop() {
                return turn;
            }
        }
    };
    let first = timeout(PATIENCE, first).await.expect("another node continues the deletion");
    assert_eq!(first.item.messages, [start("a")]);
    assert!(first.item.history.is_empty());
    other.store_turn(commit(&first.lock_token, vec![started("a")])).await.unwrap();
    assert_eq!(rows(&sql, "a").await, 3, "the instance, its execution and its event");
}

#[tokio::test]
async fn a_repeated_deletion_removes_what_an_interrupted_one_has_left() {
    let store = Store::live();
    let node = store.node().await;
    create(&*node, "a").await;
    let sql = store.sql().await;
    fill(&sql, "a", 10).await;
    hide(&sql, "a").await;
    let deleted = node.delete_instance("a", false).await.unwrap();
    assert_eq!((deleted.events_deleted, deleted.executions_deleted), (11, 1));
    assert_eq!(rows(&sql, "a").await, 0);
    assert!(node.delete_instance("a", false).await.is_err(), "it does not exist");
}

#[tokio::test]
async fn an_id_may_be_listed_twice() {
    let store = Store::live();
    let node = store.node().await;
    create(&*node, "a").await;
    let ids = ["a", "unknown", "a"].map(str::to_owned);
    let deleted = node.delete_instances_atomic(&ids, true).await.unwrap();
    assert_eq!((deleted.instances_deleted, deleted.events_deleted), (1, 1));
}

/// While rows of one instance are being removed, and the transaction that does it does not end,
/// another instance is fetched and committed.
#[tokio::test]
async fn a_slice_of_a_deletion_holds_up_no_other_instance() {
    let store = Store::patient();
    let node = store.node().await;
    create(&*node, "a").await;
    create(&*node, "b").await;
    let sql = store.sql().await;
    sql.run(
        "CREATE FUNCTION $.linger() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN PERFORM pg_advisory_xact_lock(hashtext(''$'')); RETURN old; END';
         CREATE TRIGGER linger BEFORE DELETE ON $.history
             FOR EACH ROW EXECUTE FUNCTION $.linger();
         SELECT pg_advisory_lock(hashtext('$'))",
    )
    .await;
    let deleting = Arc::clone(&node);
    let deleted = tokio::spawn(async move { deleting.delete_instance("a", true).await });
    until_blocked(&sql).await;
    for number in 2..5 {
        node.enqueue_for_orchestrator(signal("b", "go"), None).await.unwrap();
        let held = timeout(PATIENCE, turn(&*node)).await.expect("the fetch does not wait");
        let next = commit(&held.lock_token, vec![heard("b", number)]);
        timeout(PATIENCE, node.store_turn(next)).await.expect("nor the commit").unwrap();
    }
    sql.run("SELECT pg_advisory_unlock(hashtext('$'))").await;
    assert_eq!(deleted.await.unwrap().unwrap().instances_deleted, 1);
}

pub(crate) async fn until_blocked(sql: &Sql) {
    let waiting = "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
        WHERE NOT l.granted AND a.query LIKE '%$%'";
    let blocked = async { while sql.count(waiting).await == 0 {} };
    timeout(PATIENCE, blocked).await.unwrap();
}

#[tokio::test]
async fn a_pruned_execution_disappears_at_once_and_its_events_in_slices() {
    let store = Store::live();
    let node = store.node().await;
    create(&*node, "a").await;
    let sql = store.sql().await;
    fill(&sql, "a", 5000).await;
    sql.run(
        "UPDATE $.executions SET status = 'ContinuedAsNew', completed_at = 1;
         INSERT INTO $.executions (instance_id, execution_id, status, started_at)
         VALUES ('a', 2, 'Running', 1);
         INSERT INTO $.history (instance_id, execution_id, event_id, event_type, event_data,
             created_at)
         VALUES ('a', 2, 1, 'x', 'x', 1);
         UPDATE $.instances SET current_execution_id = 2;
         CREATE FUNCTION $.refuse() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN RAISE EXCEPTION ''no''; END';
         CREATE TRIGGER refuse BEFORE DELETE ON $.history
             FOR EACH ROW WHEN (old.event_id = 4000) EXECUTE FUNCTION $.refuse()",
    )
    .await;
    let failed = node.prune_executions("a", PruneOptions::default()).await;
    assert!(failed.is_err(), "its second slice");
    assert!(node.read_with_execution("a", 1).await.unwrap().is_empty(), "no part of it is shown");
    assert_eq!(node.list_executions("a").await.unwrap(), [2]);
    sql.run("DROP TRIGGER refuse ON $.history; UPDATE $.deletions SET touched_at = 'epoch'").await;
    let _other = store.node().await;
    let removed = async { while sql.count("SELECT count(*) FROM $.deletions").await > 0 {} };
    timeout(PATIENCE, removed).await.expect("another node continues");
    assert_eq!(sql.count("SELECT count(*) FROM $.history").await, 1, "the current execution");
}

/// The starts of children were read before the deletion waited for the commit that added one.
#[tokio::test]
async fn a_child_that_a_commit_starts_before_the_deletion_does_not_run() {
    let store = Store::patient();
    let node = store.node().await;
    let parent = woken_parent(&*node, "parent").await;
    let sql = store.sql().await;
    sql.run(
        "CREATE FUNCTION $.linger() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN PERFORM pg_advisory_xact_lock(hashtext(''$'')); RETURN NULL; END';
         CREATE CONSTRAINT TRIGGER linger AFTER INSERT ON $.history
             DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION $.linger();
         SELECT pg_advisory_lock(hashtext('$'))",
    )
    .await;
    let committing = Arc::clone(&node);
    let next = starting(&parent, &["child".to_owned()]);
    let committed = tokio::spawn(async move { committing.store_turn(next).await });
    until_blocked(&sql).await;
    let deleting = Arc::clone(&node);
    let deleted = tokio::spawn(async move { deleting.delete_instance("parent", true).await });
    let both = "SELECT 2 - count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
        WHERE NOT l.granted AND a.query LIKE '%$%'";
    let blocked = async { while sql.count(both).await > 0 {} };
    timeout(PATIENCE, blocked).await.expect("the deletion waits for the commit");
    sql.run("SELECT pg_advisory_unlock(hashtext('$'))").await;
    committed.await.unwrap().unwrap();
    assert_eq!(deleted.await.unwrap().unwrap().queue_messages_deleted, 1, "the start");
    assert!(try_turn(&*node).await.is_none(), "the child does not run");
    assert_eq!(rows(&sql, "child").await + rows(&sql, "parent").await, 0);
}

#[tokio::test]
async fn a_commit_after_the_deletion_starts_no_child() {
    let store = Store::live();
    let node = store.node().await;
    let parent = woken_parent(&*node, "parent").await;
    let sql = store.sql().await;
    hide(&sql, "parent").await;
    let refused = node.store_turn(starting(&parent, &["child".to_owned()])).await;
    assert!(refused.is_err(), "its lease is gone");
    node.delete_instance("parent", true).await.unwrap();
    assert_eq!(rows(&sql, "child").await + rows(&sql, "parent").await, 0);
}

/// A child that was created after its parent had disappeared had no parent, and nothing found it.
#[tokio::test]
async fn a_child_that_is_created_while_its_parent_is_deleted_is_deleted_too() {
    let store = Store::live();
    let node = store.node().await;
    let parent = woken_parent(&*node, "parent").await;
    node.store_turn(starting(&parent, &["child".to_owned()])).await.unwrap();
    let child = turn(&*node).await;
    let sql = store.sql().await;
    hide(&sql, "parent").await;
    node.store_turn(created(&child, "parent")).await.unwrap();
    assert_eq!(node.get_parent_id("child").await.unwrap().as_deref(), Some("parent"));
    let deleted = node.delete_instance("parent", true).await.unwrap();
    assert_eq!(deleted.instances_deleted, 1, "the child");
    assert_eq!(rows(&sql, "child").await + rows(&sql, "parent").await, 0);
}

/// Parents start children and are deleted at the same time, again and again under the same ids.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_child_outlives_its_parent_whatever_the_order() {
    const ROUNDS: usize = 25;
    let store = Store::live();
    let nodes = [store.node().await, store.node().await];
    let children: Vec<String> = (0..4).map(|number| format!("child-{number}")).collect();
    let sql = store.sql().await;
    for round in 0..ROUNDS {
        let parent = woken_parent(&*nodes[0], "parent").await;
        let is_deleted = Arc::new(AtomicBool::new(false));
        let committing = {
            let (node, next) = (Arc::clone(&nodes[0]), starting(&parent, &children));
            // It may come too late.
            tokio::spawn(async move { drop(node.store_turn(next).await) })
        };
        let running = {
            let (node, is_deleted) = (Arc::clone(&nodes[1]), Arc::clone(&is_deleted));
            tokio::spawn(async move {
                loop {
                    let is_last = is_deleted.load(Ordering::SeqCst);
                    let turns = node.fetch_orchestration_items(wish(2)).await.unwrap();
                    if turns.is_empty() && is_last {
                        return;
                    }
                    for child in turns {
                        drop(node.store_turn(created(&child, "parent")).await);
                    }
                }
            })
        };
        if round % 2 == 0 {
            tokio::task::yield_now().await;
        }
        until_done(|| nodes[0].delete_instance("parent", true)).await;
        committing.await.unwrap();
        is_deleted.store(true, Ordering::SeqCst);
        running.await.unwrap();
        let left = "SELECT (SELECT count(*) FROM $.instances)
            + (SELECT count(*) FROM $.history) + (SELECT count(*) FROM $.orchestrator_queue)
            + (SELECT count(*) FROM $.instance_locks) + (SELECT count(*) FROM $.deletions)";
        assert_eq!(sql.count(left).await, 0, "round {round}");
    }
}
