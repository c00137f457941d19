//! How the server executes the statements of every turn.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{InstanceQueuesQuery, Provider, ProviderAdmin};
use duroxide_pg_server::{Server, Setup};
use tokio::time::timeout;

use crate::support::*;

const TABLES: [&str; 6] =
    ["instances", "executions", "history", "orchestrator_queue", "instance_locks", "worker_queue"];

#[tokio::test]
async fn nothing_that_a_turn_needs_reads_a_whole_table() {
    let settings = [
        "session_preload_libraries=auto_explain",
        "auto_explain.log_min_duration=0",
        "auto_explain.log_nested_statements=on",
    ];
    let settings = settings.map(str::to_owned).to_vec();
    let server = Server::start(&Setup { settings, ..Setup::default() }).unwrap();
    let store = Store::at(&server.url());
    // Opening warms up every statement; the turns run them with rows.
    let node = store.node().await;
    // A warm-up that fails is only slow, so that no other test finds it.
    let opened = server.log();
    assert!(!opened.contains("ERROR:"), "{opened}");
    let (mark, token) = crate::direct::running(&node, "a").await;
    let turn = Arc::new(crate::direct::direct("a", mark, &token));
    node.commit_direct_turn(turn).await.unwrap().expect("it follows");
    node.read_status("a").await.unwrap();
    node.read_instance_queues(InstanceQueuesQuery::new("a", 10)).await.unwrap();
    let log = server.log();
    let sql = store.sql().await;
    let mut wanted = vec!["Delete on orchestrator_queue q".to_owned()];
    for function in ["commit_turns", "commit_first_turn", "commit_step", "fetch_turns"] {
        wanted.push(format!("{}(", sql.function(function).await));
    }
    for wanted in &wanted {
        assert!(log.contains(wanted.as_str()), "the plans of {wanted} are not in the log");
    }
    // A condition that reads a table into memory, and messages that are compared each with each.
    let mut bad = vec!["hashed SubPlan".to_owned(), "Join Filter: (q.id".to_owned()];
    bad.extend(TABLES.map(|table| format!("Seq Scan on {table} ")));
    for line in log.lines() {
        assert!(!bad.iter().any(|bad| line.contains(bad)), "{line}\nin\n{log}");
    }
}

/// With statistics from before the messages arrived, all that are parked were read to find those of
/// one instance: 100,000 of them took 22 ms of each first turn.
#[tokio::test]
async fn the_parked_messages_of_one_instance_are_found_whatever_the_statistics_say() {
    let store = Store::new();
    drop(store.node().await);
    let sql = store.sql().await;
    let unpark = sql.function("$.unpark_messages").await;
    let add = |instance: &str, count: u64, parked: &str| {
        format!(
            "INSERT INTO $.orchestrator_queue
                 (instance_id, work_item, visible_at, created_at, kind, parked)
             SELECT {instance}, '', 1, 1, 2, {parked} FROM generate_series(1, {count}) AS g;"
        )
    };
    sql.run(&format!(
        "{} ANALYZE $.orchestrator_queue; {} {} BEGIN; SELECT {unpark}(ARRAY['a', 'unknown'])",
        add("'ready-' || g", 2_000, "FALSE"),
        add("'other-' || g", 20_000, "TRUE"),
        add("'a'", 3, "TRUE"),
    ))
    .await;
    let read = "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables
         WHERE schemaname = '$' AND relname = 'orchestrator_queue'";
    let read = sql.count(read).await;
    sql.run("COMMIT").await;
    assert!(read < 100, "{read} rows were read");
    let left = "SELECT count(*) FROM $.orchestrator_queue WHERE parked";
    assert_eq!(sql.count(left).await, 20_000);
}

#[tokio::test]
async fn a_fetch_after_an_empty_poll_misses_nothing() {
    let store = Store::live();
    let open = || store.builder().with_safety_poll_interval(Duration::from_secs(3600)).open();
    let node = open().await.unwrap();
    let patient = || wish(8).with_poll_timeout(PATIENCE);
    let fetched = async || {
        let turns = timeout(PATIENCE, node.fetch_orchestration_items(patient())).await.unwrap();
        turns.unwrap().into_iter().map(|turn| turn.item.instance).collect::<Vec<_>>()
    };
    node.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    assert_eq!(fetched().await, ["a"]);
    // A message that came before the next fetch.
    node.enqueue_for_orchestrator(start("b"), None).await.unwrap();
    assert_eq!(fetched().await, ["b"]);
    // A message that becomes visible later, added before the last poll.
    let later = Some(Duration::from_secs(3));
    node.enqueue_for_orchestrator(start("later"), later).await.unwrap();
    node.enqueue_for_orchestrator(start("c"), None).await.unwrap();
    assert_eq!(fetched().await, ["c"]);
    assert_eq!(fetched().await, ["later"]);
    // A caller that does not wait always polls.
    assert!(node.fetch_orchestration_items(wish(8)).await.unwrap().is_empty());
}
