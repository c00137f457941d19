//! Rows outside history and queues that cannot be decoded.

use duroxide::OrchestrationStatus;
use duroxide::transfer::{InstanceWriter, RunningInstances, export_instance};

use crate::logs;
use crate::test_node::{TIMEOUT, TempStore, TestNode, options};

/// Corrupts a waiting child and signals it. Returns the status of its parent.
async fn parent_after_corruption(child: &str, sql: &str) -> OrchestrationStatus {
    let files = TempStore::new();
    // An execution in memory does not read its rows again.
    let mut options = options();
    options.warm_cache.enabled = false;
    let node = TestNode::with(files.open().await, options).await;
    let parent = format!("parent-of-{child}");
    node.client.start_orchestration(&parent, "Parent", child).await.unwrap();
    node.wait_until_started(child).await;
    files.corrupt_row(sql);
    node.client.raise_event(child, "go", "on").await.unwrap();
    for round in 0..3 {
        node.assert_works(&format!("beside-{child}-{round}")).await;
    }
    let status = node.final_status(&parent).await;
    node.client.delete_instance(&parent, false).await.unwrap();
    node.stop().await;
    status
}

fn failure(status: OrchestrationStatus) -> String {
    match status {
        OrchestrationStatus::Failed { details, .. } => details.display_message(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_corrupt_value_fails_only_its_instance_and_notifies_the_parent() {
    let status = parent_after_corruption(
        "bad-value",
        "INSERT INTO kv_store (instance_id, key, value, last_updated_at_ms)
         VALUES ('bad-value', 'z', x'ff00', 0)",
    )
    .await;
    let failure = failure(status);
    assert!(failure.contains("bad-value"), "{failure}");
    assert!(logs::contain(&["bad-value", "a row of an instance cannot be read", "key 'z'"]));
}

#[tokio::test]
async fn a_corrupt_name_fails_only_its_instance_and_notifies_the_parent() {
    let status = parent_after_corruption(
        "bad-name",
        "UPDATE instances SET orchestration_name = x'ff00' WHERE instance_id = 'bad-name'",
    )
    .await;
    let failure = failure(status);
    assert!(failure.contains("bad-name"), "{failure}");
}

#[tokio::test]
async fn a_corrupt_pin_counts_as_no_pin() {
    let status = parent_after_corruption(
        "bad-pin",
        "UPDATE executions SET duroxide_version = x'ff00' WHERE instance_id = 'bad-pin'",
    )
    .await;
    let OrchestrationStatus::Completed { output, .. } = status else { panic!("{status:?}") };
    assert_eq!(output, "on");
}

/// A number that sorts behind every other one was read again and again, a hundred thousand times.
#[tokio::test]
async fn the_export_of_an_instance_with_a_corrupt_execution_ends() {
    let files = TempStore::new();
    let store = files.open().await;
    let node = TestNode::on(store.clone()).await;
    node.client.start_orchestration("endless", "Wait", "").await.unwrap();
    node.wait_until_started("endless").await;
    files.corrupt_row("UPDATE executions SET execution_id = '1e999' WHERE instance_id = 'endless'");
    let mut writer = InstanceWriter::new("nowhere", std::io::sink()).unwrap();
    let export = export_instance(&*store, "endless", RunningInstances::Snapshot, &mut writer);
    let error = tokio::time::timeout(TIMEOUT, export).await.unwrap().unwrap_err();
    assert!(error.to_string().contains("does not end"), "{error}");
    node.assert_works("beside-endless").await;
    node.stop().await;
}
