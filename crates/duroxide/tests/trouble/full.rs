//! No space left.

use std::sync::Arc;

use duroxide::providers::sqlite::SqliteProvider;
use duroxide::{InstanceFilter, RuntimeOptions};

use crate::stand::{Place, Stand, insist, options, text};

const PAGES: u32 = 600;
const WAITING: usize = 5;

#[tokio::test]
async fn a_node_outlives_a_full_disk_and_goes_on_when_there_is_space() {
    let place = Place::new();
    let store = SqliteProvider::builder(text(&place.file())).pages_max(PAGES).open().await.unwrap();
    let patient = RuntimeOptions { max_attempts: 1_000, ..options() };
    let stand = Stand::with(Arc::new(store), patient).await;
    for number in 0..WAITING {
        stand.client.start_orchestration(format!("wait-{number}"), "Wait", "").await.unwrap();
        stand.started(&format!("wait-{number}")).await;
    }

    // Finished orders with large inputs fill the disk.
    let refused = fill(&stand).await;
    assert!(refused.is_retryable(), "{refused}");
    assert!(refused.to_string().contains("Disk full"), "{refused}");
    let status = stand.client.get_orchestration_status("wait-0").await.unwrap();
    assert!(matches!(status, duroxide::OrchestrationStatus::Running { .. }), "{status:?}");

    // Someone cleans up.
    let all = InstanceFilter::default();
    let deleted = insist(|| stand.client.delete_instance_bulk(all.clone())).await;
    assert!(deleted.instances_deleted > 0);
    for number in 0..WAITING {
        let id = format!("wait-{number}");
        insist(|| stand.client.raise_event(&id, "go", "on")).await;
        assert_eq!(stand.output(&id).await, "on");
    }
    stand.assert_goes_on("after-full").await;
    stand.stop().await;
}

async fn fill(stand: &Stand) -> duroxide::ClientError {
    let large = "z".repeat(40_000);
    for number in 0..PAGES {
        let id = format!("filler-{number}");
        if let Err(full) = stand.client.start_orchestration(&id, "One", large.clone()).await {
            return full;
        }
        // Not every one ends: the disk may be full in the middle of it.
        let brief = std::time::Duration::from_millis(500);
        if stand.client.wait_for_orchestration(&id, brief).await.is_err() {
            return match stand.client.start_orchestration("last", "One", large.clone()).await {
                Err(full) => full,
                Ok(()) => continue,
            };
        }
    }
    panic!("{PAGES} pages hold more than they can");
}
