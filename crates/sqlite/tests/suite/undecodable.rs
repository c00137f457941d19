//! Instances with events of a later release, which this build cannot decode.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use duroxide_core::histories::{HistoryReader, HistorySelection, HistoryWriter, export_histories};
use duroxide_core::providers::{Provider, StoredEvent, WorkItem};
use duroxide_core::runtime::check::{Checker, Verdict};
use duroxide_core::runtime::registry::ActivityRegistry;
use duroxide_core::runtime::{OrchestrationRegistry, Runtime};
use duroxide_core::{Client, ClientError, EventKind, OrchestrationContext, OrchestrationStatus};

use crate::support::*;

/// Instance "a" with a child "a::sub::2", both with an event from the future.
async fn future_tree(store: &Store) -> (Arc<dyn Provider>, Client) {
    let node = Arc::clone(&store.provider);
    create(&*node, "a").await;
    node.enqueue_for_orchestrator(signal("a", "1"), None).await.unwrap();
    let last = turn(&*node).await;
    let scheduled = EventKind::SubOrchestrationScheduled {
        name: "Test".to_owned(),
        instance: "sub::2".to_owned(),
        input: String::new(),
    };
    let mut next = commit(&last.lock_token, vec![event("a", 1, 2, scheduled), heard("a", 3)]);
    next = next.with_activities(vec![activity("a", 7)]);
    node.store_turn(next).await.unwrap();
    let mut child = started("a::sub::2", 1);
    if let EventKind::OrchestrationStarted {
        parent_instance, parent_id, parent_execution_id, ..
    } = &mut child.kind
    {
        (*parent_instance, *parent_id) = (Some("a".to_owned()), Some(2));
        *parent_execution_id = Some(1);
    }
    node.enqueue_for_orchestrator(start("a::sub::2"), None).await.unwrap();
    let first = turn(&*node).await;
    let mut metadata = named();
    metadata.parent_instance_id = Some("a".to_owned());
    let begin = commit(&first.lock_token, vec![child, heard("a::sub::2", 2)]);
    node.store_turn(begin.with_metadata(metadata)).await.unwrap();
    store
        .sql()
        .execute_batch(
            "UPDATE history SET event_type = 'FromTheFuture',
                 event_data = replace(event_data, '\"ExternalEvent\"', '\"FromTheFuture\"')
             WHERE event_type = 'ExternalEvent'",
        )
        .unwrap();
    let node: Arc<dyn Provider> = node;
    (Arc::clone(&node), Client::new(node))
}

async fn failure(client: &Client, instance: &str) -> String {
    match client.wait_for_orchestration(instance, Duration::ZERO).await {
        Ok(OrchestrationStatus::Failed { details, .. }) => details.display_message(),
        other => panic!("{instance} has not failed: {other:?}"),
    }
}

#[tokio::test]
async fn reads_go_on_in_spite_of_them() {
    let store = Store::new().await;
    let (_, client) = future_tree(&store).await;
    assert!(client.read_execution_history("a", 1).await.is_err());
    let history = client.read_stored_history("a").await.unwrap();
    assert_eq!(history.iter().map(StoredEvent::event_id).collect::<Vec<_>>(), [1, 2, 3]);
    let StoredEvent::Raw(raw) = &history[2] else { panic!("{:?}", history[2]) };
    assert_eq!(raw.kind.as_deref(), Some("FromTheFuture"));
    assert!(raw.timestamp_ms.is_some() && raw.error.contains("FromTheFuture"), "{raw:?}");
    assert_eq!(raw.json().unwrap()["data"], "3");
    let status = client.get_orchestration_status("a").await.unwrap();
    assert!(matches!(status, OrchestrationStatus::Running { .. }), "{status:?}");
    assert_eq!(client.get_instance_info("a").await.unwrap().status, "Running");
    assert_eq!(client.get_instance_tree("a").await.unwrap().size(), 2);
    assert_eq!(client.get_kv_all_values("a").await.unwrap().len(), 0);
    assert_eq!(client.get_orchestration_stats("a").await.unwrap().unwrap().history_event_count, 3);
}

#[tokio::test]
async fn a_tree_with_them_is_terminated() {
    let store = Store::new().await;
    let (_, client) = future_tree(&store).await;
    client.terminate_instance("a", "rolled back").await.unwrap();
    assert_eq!(failure(&client, "a").await, "canceled: rolled back");
    assert_eq!(failure(&client, "a::sub::2").await, "canceled: parent terminated");
    assert_eq!(store.count("SELECT count(*) FROM worker_queue"), 0);
    assert_eq!(store.count("SELECT count(*) FROM orchestrator_queue"), 0);
    assert_eq!(store.count("SELECT count(*) FROM instance_locks"), 0);
}

#[tokio::test]
async fn a_parent_gets_the_failure_of_a_child_whose_start_is_one() {
    let store = Store::new().await;
    let (node, client) = future_tree(&store).await;
    store
        .sql()
        .execute_batch(
            "UPDATE history SET event_data =
                 replace(event_data, '\"OrchestrationStarted\"', '\"FromTheFuture\"')
             WHERE instance_id = 'a::sub::2'",
        )
        .unwrap();
    let status = client.get_orchestration_status("a::sub::2").await.unwrap();
    assert!(matches!(status, OrchestrationStatus::Running { .. }), "{status:?}");
    client.terminate_instance("a::sub::2", "why").await.unwrap();
    assert_eq!(failure(&client, "a::sub::2").await, "canceled: why");
    let [notice] = &turn(&*node).await.item.messages[..] else { panic!("not one message") };
    let WorkItem::SubOrchFailed { parent_instance, parent_id, details, .. } = notice else {
        panic!("{notice:?}");
    };
    assert_eq!((parent_instance.as_str(), *parent_id), ("a", 2));
    assert_eq!(details.display_message(), "canceled: why");
}

#[tokio::test]
async fn a_tree_with_them_is_deleted() {
    let store = Store::new().await;
    let (_, client) = future_tree(&store).await;
    let deleted = client.delete_instance("a", true).await.unwrap();
    assert_eq!((deleted.instances_deleted, deleted.events_deleted), (2, 5));
    let gone = client.terminate_instance("a", "why").await.unwrap_err();
    assert!(matches!(gone, ClientError::InstanceNotFound { .. }), "{gone:?}");
}

/// An export failed at the first of them.
#[tokio::test]
async fn an_export_contains_them_as_they_are_stored() {
    let store = Store::new().await;
    let (node, _) = future_tree(&store).await;
    create(&*node, "other").await;
    let damage = "UPDATE history SET event_data = 'damaged'
         WHERE instance_id = 'a::sub::2' AND event_id = 2";
    store.sql().execute_batch(damage).unwrap();
    let mut writer = HistoryWriter::new("memory", Vec::new()).unwrap();
    let written = export_histories(&*node, HistorySelection::All, &mut writer).await.unwrap();
    assert_eq!(written, 3);
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    let stored: String = store
        .sql()
        .query_row(
            "SELECT event_data FROM history WHERE event_type = 'FromTheFuture'
             AND instance_id = 'a'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert!(text.lines().any(|line| line == stored), "{text}");
    assert!(text.contains(r#"{"damaged_event":{"event_id":2,"text":"damaged","#), "{text}");

    let mut reader = HistoryReader::new("memory", text.as_bytes()).unwrap();
    let mut read = BTreeMap::new();
    while let Some(raw) = reader.next_raw().unwrap() {
        let decoded = raw.decode().map(|history| history.events.len());
        read.insert(raw.instance_id().to_owned(), decoded.map_err(|error| error.to_string()));
    }
    assert_eq!(read["other"], Ok(1));
    let unknown = read["a"].as_ref().unwrap_err();
    assert!(unknown.contains("event 3 of kind `FromTheFuture` cannot be decoded"), "{unknown}");
    let damaged = read["a::sub::2"].as_ref().unwrap_err();
    assert!(damaged.contains("event 2 cannot be decoded: "), "{damaged}");

    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("all.jsonl"), &text).unwrap();
    let checker = Checker::new(OrchestrationRegistry::builder().build());
    let from_files = checker.check_folder(folder.path()).unwrap();
    let from_store = checker.check_store(&*node).await.unwrap();
    for report in [from_files, from_store] {
        let mut verdicts = BTreeMap::new();
        for problem in report.problems {
            verdicts.insert(problem.instance_id.clone(), problem.verdict);
        }
        assert!(matches!(verdicts["other"], Verdict::HandlerMissing { .. }), "{verdicts:?}");
        for (instance, event) in [("a", "event 3 of kind"), ("a::sub::2", "event 2 cannot")] {
            let Verdict::Undecodable { error } = &verdicts[instance] else {
                panic!("{verdicts:?}");
            };
            assert!(error.contains(event), "{error}");
        }
    }
}

/// A child whose call cannot be decoded would run on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tree_with_them_is_cancelled_by_a_node_without_its_code() {
    let store = Store::new().await;
    let (node, client) = future_tree(&store).await;
    let unknown = "UPDATE history SET event_data =
             replace(event_data, '\"SubOrchestrationScheduled\"', '\"FromTheFuture\"')
         WHERE instance_id = 'a'";
    store.sql().execute_batch(unknown).unwrap();
    client.cancel_instance("a", "rolled back").await.unwrap();
    let other = OrchestrationRegistry::builder()
        .register("Other", |_: OrchestrationContext, input: String| async move { Ok(input) })
        .build();
    let activities = ActivityRegistry::builder().build();
    let runtime = Runtime::start_with_store(node, activities, other).await;
    for (instance, text) in
        [("a", "canceled: rolled back"), ("a::sub::2", "canceled: parent canceled")]
    {
        let waited = client.wait_for_orchestration(instance, Duration::from_secs(60)).await;
        let Ok(OrchestrationStatus::Failed { details, .. }) = waited else {
            panic!("{instance} has not failed: {waited:?}");
        };
        assert_eq!(details.display_message(), text);
    }
    runtime.shutdown(None).await;
    assert_eq!(store.count("SELECT count(*) FROM worker_queue"), 0);
}
