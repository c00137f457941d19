//! A file that cannot be written for longer than any lease and any number of attempts.
//!
//! A full disk used to poison every running instance within a minute: each retry of a commit used
//! up an attempt of its messages. A file that had become read-only failed them at once.

use std::sync::Arc;
use std::time::Duration;

use duroxide::OrchestrationStatus;
use duroxide::providers::sqlite::SqliteProvider;

use crate::logs;
use crate::test_node::{TempStore, TestNode, eventually, retry, text};

const INSTANCES: usize = 5;
const PAGES: u32 = 400;
/// Failed calls that an outage must cause.
const FAILURES: u64 = 30;
/// How long an outage lasts: longer than the leases of more attempts than a message has.
const LENGTH: Duration = Duration::from_millis(3_500);

/// Instances on a node that poisons after two attempts.
async fn started(store: SqliteProvider, orchestration: &str) -> TestNode {
    let node = TestNode::on(Arc::new(store)).await;
    for number in 0..INSTANCES {
        node.client.start_orchestration(format!("i-{number}"), orchestration, "on").await.unwrap();
        node.wait_until_started(&format!("i-{number}")).await;
    }
    node
}

async fn suffer(node: &TestNode, reason: &str) {
    eventually("the node runs into the trouble often enough", || {
        let trouble = node.runtime.store_health().trouble;
        trouble.is_some_and(|trouble| {
            assert!(trouble.error.is_store_trouble(), "{}", trouble.error);
            trouble.failures >= FAILURES && trouble.since.elapsed().unwrap() > LENGTH
        })
    })
    .await;
    let metrics = node.runtime.observability_handle().unwrap().metrics_provider();
    assert!(metrics.is_store_in_trouble());
    assert!(logs::contain(&["the store is in trouble"]));
    assert!(logs::contain(&[reason]));
}

async fn assert_all_complete(node: TestNode) {
    for number in 0..INSTANCES {
        let status = node.final_status(&format!("i-{number}")).await;
        assert!(matches!(status, OrchestrationStatus::Completed { .. }), "{number}: {status:?}");
    }
    node.assert_works("after-outage").await;
    eventually("the trouble is over", || node.runtime.store_health().is_healthy()).await;
    assert!(logs::contain(&["the trouble of the store is over"]));
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instances_outlive_a_disk_that_is_full_for_long() {
    let files = TempStore::new();
    let builder = SqliteProvider::builder(text(&files.file())).with_pages_max(PAGES);
    let node = started(builder.open().await.unwrap(), "Bulky").await;
    let other = files.connection();
    other.execute_batch("CREATE TABLE ballast (x)").unwrap();
    let pages = || other.query_row("PRAGMA page_count", [], |row| row.get::<_, u32>(0)).unwrap();
    while pages() <= PAGES {
        other.execute("INSERT INTO ballast VALUES (zeroblob(8192))", []).unwrap();
    }
    for number in 0..INSTANCES {
        let id = format!("i-{number}");
        retry(|| node.client.raise_event(&id, "go", "on")).await;
    }
    suffer(&node, "Disk full").await;
    other.execute_batch("DROP TABLE ballast").unwrap();
    assert_all_complete(node).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instances_outlive_a_file_that_is_locked_for_long() {
    let files = TempStore::new();
    let builder = SqliteProvider::builder(text(&files.file()));
    let hasty = builder.with_busy_timeout(Duration::from_millis(5));
    let node = started(hasty.open().await.unwrap(), "Gated").await;
    eventually("all activities run", || node.gate.receiver_count() == INSTANCES).await;
    let other = files.connection();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    node.gate.send_replace(true);
    suffer(&node, "Database locked").await;
    other.execute_batch("ROLLBACK").unwrap();
    assert_all_complete(node).await;
}
