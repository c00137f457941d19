//! Histories that cannot be decoded.

use crate::logs;
use crate::test_node::{TempStore, TestNode};

/// Corrupts the history of a waiting instance and signals it on a node that has to read it.
async fn failure_after_corruption(instance: &str, sql: &str) -> String {
    let files = TempStore::new();
    let first = TestNode::on(files.open().await).await;
    for id in [instance, "intact"] {
        first.client.start_orchestration(id, "Wait", "").await.unwrap();
        first.wait_until_started(id).await;
    }
    first.stop().await;
    files.corrupt_row(sql);

    let node = TestNode::on(files.open().await).await;
    for id in [instance, "intact"] {
        node.client.raise_event(id, "go", "on").await.unwrap();
    }
    assert_eq!(node.output("intact").await, "on");
    let failure = node.failure(instance).await;
    node.assert_works("after-corruption").await;
    // A failed instance can be deleted without force.
    node.client.delete_instance(instance, false).await.unwrap();
    node.stop().await;
    failure
}

#[tokio::test]
async fn a_history_that_is_not_json_fails_only_its_instance() {
    let failure = failure_after_corruption(
        "no-json",
        "UPDATE history SET event_data = '{broken' WHERE instance_id = 'no-json' AND event_id = 2",
    )
    .await;
    let expected = "poison: orchestration no-json history deserialization failed after 3 attempts";
    assert!(failure.starts_with(expected), "{failure}");
    assert!(logs::contain(&["no-json", "history cannot be read; releasing the turn"]));
}

#[tokio::test]
async fn a_history_that_is_not_text_fails_only_its_instance() {
    let failure = failure_after_corruption(
        "no-text",
        "UPDATE history SET event_data = x'ff00fe' WHERE instance_id = 'no-text' AND event_id = 2",
    )
    .await;
    assert!(failure.contains("no-text history deserialization failed"), "{failure}");
}

#[tokio::test]
async fn a_history_without_its_start_fails_only_its_instance() {
    let failure = failure_after_corruption(
        "no-start",
        "UPDATE history SET event_data = '{}' WHERE instance_id = 'no-start' AND event_id = 1",
    )
    .await;
    assert!(failure.contains("no-start history deserialization failed"), "{failure}");
}
