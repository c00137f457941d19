//! Instances with events of a later release, which this build cannot decode.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{Provider, StoredEvent, WorkItem};
use duroxide_core::{Client, ClientError, EventKind, OrchestrationStatus};

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
