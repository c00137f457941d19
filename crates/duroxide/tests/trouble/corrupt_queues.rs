//! Queue rows that cannot be decoded.

use duroxide::RuntimeOptions;

use crate::logs;
use crate::test_node::{TempStore, TestNode, eventually, options};

const BAD: [&str; 4] = ["'{broken'", "x'ff00fe'", "CAST(x'ff00fe' AS TEXT)", "'{}'"];

#[tokio::test]
async fn undecodable_messages_are_skipped_and_their_instance_continues() {
    let files = TempStore::new();
    let node = TestNode::on(files.open().await).await;
    node.client.start_orchestration("mixed", "Wait", "").await.unwrap();
    node.wait_until_started("mixed").await;
    for bad in BAD {
        files.corrupt_row(&format!(
            "INSERT INTO orchestrator_queue (instance_id, work_item, visible_at, created_at)
             VALUES ('mixed', {bad}, 0, 0)"
        ));
    }
    let logged = || logs::contain(&["mixed", "cannot be decoded; leaving it out"]);
    eventually("the log names the bad messages", logged).await;
    node.assert_works("connection-mixed").await;
    node.client.raise_event("mixed", "go", "on").await.unwrap();
    assert_eq!(node.output("mixed").await, "on");
    node.stop().await;
}

#[tokio::test]
async fn undecodable_messages_for_unknown_instances_block_no_instance() {
    let files = TempStore::new();
    let node = TestNode::on(files.open().await).await;
    for bad in BAD {
        for id in ["'unknown'", "x'fe01'", "CAST(x'fe02' AS TEXT)"] {
            files.corrupt_row(&format!(
                "INSERT INTO orchestrator_queue (instance_id, work_item, visible_at, created_at)
                 VALUES ({id}, {bad}, 0, 0)"
            ));
        }
    }
    for round in 0..3 {
        node.assert_works(&format!("connection-unknown-{round}")).await;
    }
    node.stop().await;
}

#[tokio::test]
async fn undecodable_activities_are_logged_and_block_no_others() {
    let files = TempStore::new();
    let node = TestNode::on(files.open().await).await;
    node.client.start_orchestration("target", "Wait", "").await.unwrap();
    node.wait_until_started("target").await;
    for bad in BAD {
        files.corrupt_row(&format!(
            "INSERT INTO worker_queue
                 (work_item, created_at, instance_id, execution_id, activity_id)
             VALUES ({bad}, 0, 'target', 1, 7)"
        ));
    }
    let logged = || logs::contain(&["an activity of the worker queue cannot be decoded"]);
    eventually("the log names the bad activities", logged).await;
    for round in 0..3 {
        node.assert_works(&format!("connection-activities-{round}")).await;
    }
    node.stop().await;
}

#[tokio::test]
async fn an_undecodable_activity_fails_its_orchestration() {
    let files = TempStore::new();
    let without_workers = RuntimeOptions { worker_concurrency: 0, ..options() };
    let node = TestNode::with(files.open().await, without_workers).await;
    node.client.start_orchestration("torn", "Chain", "1").await.unwrap();
    let waiting = "SELECT count(*) FROM worker_queue WHERE instance_id = 'torn'";
    let connection = files.connection();
    eventually("the activity is enqueued", || {
        connection.query_row(waiting, [], |row| row.get::<_, i64>(0)).unwrap() == 1
    })
    .await;
    node.stop().await;
    files.corrupt_row("UPDATE worker_queue SET work_item = '{broken' WHERE instance_id = 'torn'");
    let node = TestNode::on(files.open().await).await;
    node.assert_works("connection-torn").await;
    let failure = node.failure("torn").await;
    assert!(failure.contains("unreadable activity (row 1"), "{failure}");
    node.stop().await;
}
