//! An instance whose rows make the statement of a fetch fail does not keep others from running. It
//! once did, for ever and on every node.

use std::time::Duration;

use duroxide_core::providers::{OverdueFetch, Provider, ScheduledActivity, TagFilter};

use crate::support::*;

/// Makes every lease of this instance fail.
const REFUSED_LEASES: &str = "
    CREATE FUNCTION $.refuse() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN RAISE EXCEPTION ''damaged''; END';
    CREATE TRIGGER refuse BEFORE INSERT ON $.instance_locks
        FOR EACH ROW WHEN (new.instance_id = 'bad') EXECUTE FUNCTION $.refuse()";

/// Makes the choice of turns fail at this instance, which has ended.
async fn refuse_route(sql: &Sql) {
    let route = sql.function("turn_route").await;
    sql.run(&format!(
        "UPDATE $.executions SET status = 'Completed' WHERE instance_id = 'bad';
         ALTER FUNCTION $.{route} RENAME TO intact;
         CREATE FUNCTION $.{route}(p_instance TEXT) RETURNS BYTEA LANGUAGE plpgsql STABLE AS
             'BEGIN
                  IF p_instance = ''bad'' THEN PERFORM 1 / 0; END IF;
                  RETURN $.intact(p_instance);
              END'"
    ))
    .await;
}

async fn signal_all(node: &dyn Provider, instances: &[&str]) {
    for instance in instances {
        node.enqueue_for_orchestrator(signal(instance, "go"), None).await.unwrap();
    }
}

/// Fetches and commits until nothing is ready; the instances in the order of their turns.
async fn served(node: &dyn Provider) -> Vec<String> {
    let mut served = Vec::new();
    while let Some(turn) = try_turn(node).await {
        assert_eq!(turn.attempt_count, 1, "no attempt was counted");
        served.push(turn.item.instance.clone());
        node.store_turn(commit(&turn.lock_token, Vec::new())).await.unwrap();
    }
    served
}

#[tokio::test]
async fn an_instance_that_makes_a_fetch_fail_is_left_out_and_the_others_run() {
    let store = Store::new();
    let node = store.node().await;
    for instance in ["a", "bad", "b"] {
        create(&*node, instance).await;
    }
    let sql = store.sql().await;
    sql.run(REFUSED_LEASES).await;
    signal_all(&*node, &["bad", "a", "b"]).await;
    assert_eq!(served(&*node).await, ["a", "b"]);
    // Its pause ends, and it fails again: the others go on.
    store.advance(Duration::from_secs(2));
    signal_all(&*node, &["a"]).await;
    assert_eq!(served(&*node).await, ["a"]);
    // What was wrong is repaired.
    sql.run("DROP TRIGGER refuse ON $.instance_locks").await;
    store.advance(Duration::from_secs(60));
    assert_eq!(served(&*node).await, ["bad"]);
}

#[tokio::test]
async fn an_instance_that_makes_the_choice_of_turns_fail_is_left_out() {
    let store = Store::new();
    let node = store.node().await;
    for instance in ["a", "bad"] {
        create(&*node, instance).await;
    }
    let sql = store.sql().await;
    refuse_route(&sql).await;
    signal_all(&*node, &["bad", "a"]).await;
    assert_eq!(served(&*node).await, ["a"]);
}

/// The search once read the messages of the first routes only.
#[tokio::test]
async fn an_instance_that_makes_the_choice_of_turns_fail_is_found_behind_many_others() {
    let store = Store::new();
    let node = store.node().await;
    create(&*node, "bad").await;
    signal_all(&*node, &["bad"]).await;
    let sql = store.sql().await;
    sql.run(&format!(
        "INSERT INTO $.instances (instance_id, orchestration_name, orchestration_version,
             current_execution_id, created_at, updated_at, incarnation)
         SELECT 'other-' || n, 'Test', '1.0.0', 1, 1, 1, 1 FROM generate_series(1, 150) AS n;
         INSERT INTO $.executions (instance_id, execution_id, status, started_at)
         SELECT 'other-' || n, 1, 'Completed', 1 FROM generate_series(1, 150) AS n;
         INSERT INTO $.orchestrator_queue (instance_id, work_item, visible_at, created_at, kind,
             pin)
         SELECT 'other-' || n, work_item, {BEGIN_MS}, {BEGIN_MS}, kind, '\\x0101'
         FROM $.orchestrator_queue, generate_series(1, 150) AS n"
    ))
    .await;
    refuse_route(&sql).await;
    let served = turn(&*node).await.item.instance;
    assert!(served.starts_with("other-"), "{served}");
}

#[tokio::test]
async fn an_activity_that_makes_a_fetch_fail_is_delayed_and_the_others_run() {
    let store = Store::new();
    let node = store.node().await;
    let work = async || {
        let any = TagFilter::Any;
        let fetched = node.fetch_work_item(LEASE, NOW, None, &any).await.unwrap();
        fetched.map(|(item, _, attempt)| (item, attempt))
    };
    for instance in ["bad", "a", "b"] {
        node.enqueue_for_worker(activity(instance, 1)).await.unwrap();
    }
    let sql = store.sql().await;
    sql.run(
        "CREATE FUNCTION $.refuse() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN RAISE EXCEPTION ''damaged''; END';
         CREATE TRIGGER refuse BEFORE UPDATE ON $.worker_queue FOR EACH ROW
             WHEN (new.instance_id = 'bad' AND new.locked_until IS NOT NULL)
             EXECUTE FUNCTION $.refuse()",
    )
    .await;
    assert_eq!(work().await, Some((activity("a", 1), 1)));
    assert_eq!(work().await, Some((activity("b", 1), 1)));
    assert_eq!(work().await, None);
    // What was wrong is repaired.
    sql.run("DROP TRIGGER refuse ON $.worker_queue").await;
    store.advance(Duration::from_secs(4));
    assert_eq!(work().await, None, "it waits");
    store.advance(Duration::from_secs(20));
    let again = [work().await, work().await, work().await];
    assert!(again.contains(&Some((activity("bad", 1), 1))), "no attempt was counted: {again:?}");
}

/// Messages that crossed a change of the code are sorted anew by a fetch. The search did not try
/// that: one instance whose messages could not be written stopped every fetch.
#[tokio::test]
async fn an_instance_whose_messages_cannot_be_sorted_is_left_out() {
    let store = Store::new();
    let node = store.node().await;
    for instance in ["a", "bad"] {
        create(&*node, instance).await;
    }
    signal_all(&*node, &["bad"]).await;
    let held = turn(&*node).await;
    signal_all(&*node, &["a", "bad"]).await;
    let sql = store.sql().await;
    sql.run(
        "INSERT INTO $.repinned (instance_id, seen) VALUES ('bad', '1'), ('a', '1');
         CREATE FUNCTION $.refuse() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN RAISE EXCEPTION ''damaged''; END';
         CREATE TRIGGER refuse BEFORE UPDATE ON $.orchestrator_queue
             FOR EACH ROW WHEN (new.instance_id = 'bad') EXECUTE FUNCTION $.refuse()",
    )
    .await;
    assert_eq!(served(&*node).await, ["a"]);
    assert_eq!(sql.count("SELECT count(*) FROM $.repinned").await, 1, "that of the other is done");
    sql.run("DROP TRIGGER refuse ON $.orchestrator_queue").await;
    store.advance(Duration::from_secs(2));
    assert_eq!(served(&*node).await, [""; 0]);
    assert_eq!(sql.count("SELECT count(*) FROM $.repinned").await, 0);
    node.store_turn(commit(&held.lock_token, Vec::new())).await.unwrap();
    assert_eq!(served(&*node).await, ["bad"]);
}

/// One overdue activity that could not be leased kept all others from being failed in time.
#[tokio::test]
async fn an_overdue_activity_that_makes_a_fetch_fail_is_delayed_and_the_others_are_found() {
    let store = Store::new();
    let node = store.node().await;
    create(&*node, "worked").await;
    signal_all(&*node, &["worked"]).await;
    let turn = turn(&*node).await;
    let limit = Duration::from_secs(1);
    let limited = |id| ScheduledActivity::new(activity("worked", id)).with_start_limit(limit);
    let scheduling = commit(&turn.lock_token, Vec::new());
    node.store_turn(scheduling.with_activities((1..=3).map(limited))).await.unwrap();
    store.advance(limit * 2);
    let sql = store.sql().await;
    sql.run(
        "CREATE FUNCTION $.refuse() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN RAISE EXCEPTION ''damaged''; END';
         CREATE TRIGGER refuse BEFORE UPDATE ON $.worker_queue FOR EACH ROW
             WHEN (new.activity_id = 1 AND new.locked_until IS NOT NULL)
             EXECUTE FUNCTION $.refuse()",
    )
    .await;
    let overdue = async || {
        let found = node.fetch_overdue_work(OverdueFetch::new(8, LEASE)).await.unwrap();
        found.into_iter().map(|work| work.item).collect::<Vec<_>>()
    };
    assert_eq!(overdue().await, [activity("worked", 2), activity("worked", 3)]);
    assert!(overdue().await.is_empty(), "the others are leased, and that one waits");
    sql.run("DROP TRIGGER refuse ON $.worker_queue").await;
    store.advance(Duration::from_secs(60));
    assert!(overdue().await.contains(&activity("worked", 1)));
}

/// If every instance fails, none of them is the reason: the store is in trouble, and the work goes
/// on as soon as that is over.
#[tokio::test]
async fn trouble_of_the_store_sets_no_instance_aside() {
    let store = Store::new();
    let node = store.node().await;
    for instance in ["a", "b"] {
        create(&*node, instance).await;
    }
    let sql = store.sql().await;
    sql.run(&REFUSED_LEASES.replace("new.instance_id = 'bad'", "TRUE")).await;
    signal_all(&*node, &["a", "b"]).await;
    let refused = node.fetch_orchestration_items(wish(2)).await.unwrap_err();
    assert!(refused.is_retryable() && refused.message.contains("damaged"), "{refused}");
    sql.run("DROP TRIGGER refuse ON $.instance_locks").await;
    assert_eq!(served(&*node).await, ["a", "b"]);
}
