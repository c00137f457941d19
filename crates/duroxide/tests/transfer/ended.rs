//! Instances that have ended, and events that this build cannot decode.

use duroxide::runtime::OrchestrationRegistry;
use duroxide::transfer::ImportOptions;
use duroxide::{OrchestrationContext, OrchestrationStatus};

use crate::support::{
    TIMEOUT, assert_same, client, export_all, import, node, postgres, sqlite, try_import,
};

async fn failed_file() -> Vec<u8> {
    let store = sqlite().await;
    let orchestrations = OrchestrationRegistry::builder()
        .register("Fails", |ctx: OrchestrationContext, input: String| async move {
            ctx.set_kv_value("tried", input.clone());
            ctx.schedule_activity("Fail", input).await
        })
        .build();
    let runtime = node(&store, orchestrations, false).await;
    let client = client(&store);
    client.start_orchestration("failed", "Fails", "no").await.unwrap();
    client.wait_for_orchestration("failed", TIMEOUT).await.unwrap();
    runtime.shutdown(None).await;
    export_all(&store).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_instance_keeps_its_error() {
    let file = failed_file().await;
    let target = postgres("failed").await;
    import(&target, &file).await;
    let status = client(&target).get_orchestration_status("failed").await.unwrap();
    let OrchestrationStatus::Failed { details, .. } = status else { panic!("{status:?}") };
    assert_eq!(details.display_message(), "no");
    let values = client(&target).get_kv_value("failed", "tried").await.unwrap();
    assert_eq!(values.as_deref(), Some("no"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_that_cannot_be_decoded_are_carried() {
    let text = String::from_utf8(failed_file().await).unwrap();
    let lines: Vec<String> = text
        .lines()
        .map(|line| match line {
            // An event of a later release with an unknown key, and a damaged one.
            line if line.contains(r#""type":"ActivityScheduled""#) => {
                line.replace(r#""type":"ActivityScheduled""#, r#""type":"Later","extra":[1,2]"#)
            }
            line if line.contains(r#""type":"ActivityFailed""#) => {
                let event: serde_json::Value = serde_json::from_str(line).unwrap();
                let damaged = serde_json::json!({
                    "event_id": event["event_id"], "text": "half of an ev", "error": "damaged",
                });
                serde_json::json!({ "damaged_event": damaged }).to_string()
            }
            line => line.to_owned(),
        })
        .collect();
    let file = lines.join("\n");
    assert!(file.contains("Later") && file.contains("damaged_event"));
    let first = sqlite().await;
    import(&first, file.as_bytes()).await;
    let exported = export_all(&first).await;
    let second = postgres("undecodable").await;
    import(&second, &exported).await;
    let third = sqlite().await;
    import(&third, &export_all(&second).await).await;
    assert_same(&first, &second, &["failed"]).await;
    assert_same(&first, &third, &["failed"]).await;
    let history = client(&third).read_stored_history("failed").await.unwrap();
    let raw: Vec<_> = history.iter().filter(|event| event.decoded().is_none()).collect();
    assert_eq!(raw.len(), 2, "{raw:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_store_cannot_keep_is_named() {
    let text = String::from_utf8(failed_file().await).unwrap();
    let damage = |line: &str| match line.contains(r#""type":"ActivityFailed""#) {
        // PostgreSQL has no texts with a zero character.
        true => {
            let event: serde_json::Value = serde_json::from_str(line).unwrap();
            let id = &event["event_id"];
            let damaged = serde_json::json!({ "event_id": id, "text": "\0", "error": "damaged" });
            serde_json::json!({ "damaged_event": damaged }).to_string()
        }
        false => line.to_owned(),
    };
    let lines: Vec<String> = text.lines().map(damage).collect();
    let file = lines.join("\n");
    import(&sqlite().await, file.as_bytes()).await;
    let target = postgres("cannot_keep").await;
    let refused = try_import(&target, file.as_bytes(), ImportOptions::default()).await;
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.starts_with("file, line 2: instance 'failed' could not be stored"),
        "{refused}"
    );
    assert!(client(&target).list_all_instances().await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_exists_is_skipped_or_refused() {
    let file = failed_file().await;
    let target = sqlite().await;
    import(&target, &file).await;
    let refused = try_import(&target, &file, ImportOptions::default()).await.unwrap_err();
    assert_eq!(refused.to_string(), "file, line 2: instance 'failed' exists in the store already");
    let options = ImportOptions::default().skipping_existing().verifying();
    let report = try_import(&target, &file, options).await.unwrap();
    assert_eq!((report.imported, report.skipped, report.different), (0, 1, 0));
}
