//! What a shutdown leaves behind.

use std::sync::Arc;

use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::Runtime;
use duroxide::{Client, OrchestrationContext, OrchestrationStatus};

use crate::support::{activities, orchestrations, within};

async fn echo(_: OrchestrationContext, input: String) -> Result<String, String> {
    Ok(input)
}

/// Everything was in the log beside the file, and a copy of the file opened as an empty database.
#[tokio::test]
async fn a_copy_made_after_a_shutdown_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("orders.db");
    let store = Arc::new(SqliteProvider::new(path.to_str().unwrap(), None).await.unwrap());
    let registry = orchestrations().register("Echo", echo).build();
    let runtime = Runtime::start_with_store(store.clone(), activities().build(), registry).await;
    let client = Client::new(store.clone());
    client.start_orchestration("order", "Echo", "x").await.unwrap();
    let wait = client.wait_for_orchestration("order", std::time::Duration::from_secs(30));
    within(wait).await.unwrap();
    runtime.shutdown(None).await;
    let copy = folder.path().join("copy.db");
    std::fs::copy(&path, &copy).unwrap();
    let copy = Arc::new(SqliteProvider::new(copy.to_str().unwrap(), None).await.unwrap());
    let status = Client::new(copy).get_orchestration_status("order").await.unwrap();
    assert!(matches!(status, OrchestrationStatus::Completed { .. }), "{status:?}");
    // The store goes on after the shutdown of one of its nodes.
    client.start_orchestration("later", "Echo", "x").await.unwrap();
    store.close().await.unwrap();
}
