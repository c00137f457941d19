//! A full disk.

use std::sync::Arc;

use duroxide::InstanceFilter;
use duroxide::providers::sqlite::SqliteProvider;

use crate::test_node::{TempStore, TestNode, retry, text};

const PAGES: u32 = 600;
const WAITING: usize = 5;

#[tokio::test]
async fn a_node_survives_a_full_disk_and_continues_when_there_is_space() {
    let files = TempStore::new();
    let store =
        SqliteProvider::builder(text(&files.file())).with_pages_max(PAGES).open().await.unwrap();
    let node = TestNode::on(Arc::new(store)).await;
    for number in 0..WAITING {
        node.client.start_orchestration(format!("wait-{number}"), "Wait", "").await.unwrap();
        node.wait_until_started(&format!("wait-{number}")).await;
    }

    // Completed instances with large inputs fill the disk.
    let refused = fill(&node).await;
    assert!(refused.is_retryable(), "{refused}");
    assert!(refused.to_string().contains("Disk full"), "{refused}");
    let status = node.client.get_orchestration_status("wait-0").await.unwrap();
    assert!(matches!(status, duroxide::OrchestrationStatus::Running { .. }), "{status:?}");

    // Deleting the completed instances makes space.
    let all = InstanceFilter::default();
    let deleted = retry(|| node.client.delete_instance_bulk(all.clone())).await;
    assert!(deleted.instances_deleted > 0);
    for number in 0..WAITING {
        let id = format!("wait-{number}");
        retry(|| node.client.raise_event(&id, "go", "on")).await;
        assert_eq!(node.output(&id).await, "on");
    }
    node.assert_works("after-full").await;
    node.stop().await;
}

async fn fill(node: &TestNode) -> duroxide::ClientError {
    let large = "z".repeat(40_000);
    for number in 0..PAGES {
        let id = format!("filler-{number}");
        if let Err(full) = node.client.start_orchestration(&id, "One", large.clone()).await {
            return full;
        }
        // The last one may not complete: the disk may be full after its start.
        let brief = std::time::Duration::from_millis(500);
        if node.client.wait_for_orchestration(&id, brief).await.is_err() {
            return match node.client.start_orchestration("last", "One", large.clone()).await {
                Err(full) => full,
                Ok(()) => continue,
            };
        }
    }
    panic!("{PAGES} pages held {PAGES} large inputs");
}
