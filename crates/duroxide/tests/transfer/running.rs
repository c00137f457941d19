//! What an export does with instances that run.

use duroxide::OrchestrationContext;
use duroxide::client::ExportRequest;
use duroxide::runtime::OrchestrationRegistry;
use duroxide::transfer::{ImportOptions, RunningInstances, TransferError};

use crate::support::{
    Store, assert_same, client, import, node, output, sqlite, try_export, try_import, until,
};

fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("Wait", |ctx: OrchestrationContext, _: String| async move {
            Ok(ctx.schedule_wait("go").await)
        })
        .build()
}

/// A store with an instance that waits, on a node.
async fn waiting() -> (Store, std::sync::Arc<duroxide::runtime::Runtime>) {
    let store = sqlite().await;
    let runtime = node(&store, orchestrations(), false).await;
    let client = client(&store);
    client.start_orchestration("a", "Wait", "").await.unwrap();
    until("a wait", async || client.read_stored_history("a").await.unwrap().len() >= 2).await;
    (store, runtime)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_instance_is_refused_unless_it_is_suspended() {
    let (store, runtime) = waiting().await;
    let refused = try_export(&store, ExportRequest::of("a")).await.unwrap_err();
    assert!(
        matches!(&refused, TransferError::Running { instance } if instance == "a"),
        "{refused}"
    );
    let unknown = try_export(&store, ExportRequest::of("b")).await.unwrap_err();
    assert!(matches!(&unknown, TransferError::NotFound { instance } if instance == "b"));
    client(&store).suspend_instance("a", "moving").await.unwrap();
    let (file, report) = try_export(&store, ExportRequest::of("a")).await.unwrap();
    assert_eq!((report.instances, report.running), (1, 1));
    let target = sqlite().await;
    import(&target, &file).await;
    assert_same(&store, &target, &["a"]).await;
    runtime.shutdown(None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_held_instance_goes_on_after_its_export() {
    let (store, runtime) = waiting().await;
    let request = ExportRequest::of("a").with_running(RunningInstances::Hold);
    let (file, _) = try_export(&store, request).await.unwrap();
    let client = client(&store);
    client.raise_event("a", "go", "here").await.unwrap();
    assert_eq!(output(&client, "a").await, "here");
    runtime.shutdown(None).await;
    let target = sqlite().await;
    import(&target, &file).await;
    let runtime = node(&target, orchestrations(), false).await;
    let client = crate::support::client(&target);
    client.raise_event("a", "go", "there").await.unwrap();
    assert_eq!(output(&client, "a").await, "there");
    runtime.shutdown(None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_is_for_reading() {
    let (store, runtime) = waiting().await;
    let request = ExportRequest::of("a").with_running(RunningInstances::Snapshot);
    let (file, _) = try_export(&store, request).await.unwrap();
    let target = sqlite().await;
    let refused = try_import(&target, &file, ImportOptions::default()).await.unwrap_err();
    assert!(
        matches!(&refused, TransferError::Snapshot { instance, line: 2, .. } if instance == "a")
    );
    assert!(client(&target).list_all_instances().await.unwrap().is_empty());
    // Its histories can be read by what reads histories.
    let mut reader = duroxide::histories::HistoryReader::new("file", file.as_slice()).unwrap();
    let history = reader.next_raw().unwrap().unwrap().decode().unwrap();
    assert_eq!((history.instance_id.as_str(), history.execution_id), ("a", 1));
    assert!(reader.next_raw().unwrap().is_none());
    runtime.shutdown(None).await;
}
