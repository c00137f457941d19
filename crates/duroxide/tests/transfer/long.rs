//! A long history is exported and imported in parts.

use duroxide::providers::{
    CopiedEvent, CopiedExecution, CopiedMessage, InstanceCopy, InstanceHead,
};

use crate::support::{assert_same, export_all, import, postgres, sqlite};

const EVENTS: u64 = 9_000;
const MESSAGES: u64 = 5_000;

/// An instance that has ended, with more events and late messages than one read returns.
fn long() -> InstanceCopy {
    let mut copy = InstanceCopy::new("long");
    let mut head = InstanceHead::default();
    head.orchestration_name = "Long".to_owned();
    head.orchestration_version = "1.0.0".to_owned();
    head.current_execution_id = 1;
    copy.head = Some(head);
    let mut execution = CopiedExecution::default();
    (execution.execution_id, execution.events) = (1, EVENTS);
    execution.status = "Completed".to_owned();
    execution.completed_at_ms = Some(2);
    copy.executions.push(execution);
    copy.events.extend((1..=EVENTS).map(|id| {
        let text = serde_json::json!({
            "event_id": id, "instance_id": "long", "execution_id": 1, "timestamp_ms": 7,
            "duroxide_version": "0.2.0", "type": "KeyValueSet", "key": "k",
            "value": id.to_string(), "last_updated_at_ms": 7,
        })
        .to_string();
        CopiedEvent::new(1, id, text)
    }));
    copy.messages.extend((1..=MESSAGES).map(|number| {
        let mut message = CopiedMessage::default();
        message.item =
            format!(r#"{{"QueueMessage":{{"instance":"long","name":"q","data":"{number}"}}}}"#);
        (message.visible_at_ms, message.queued_at_ms) = (5, 5);
        message
    }));
    copy
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_instance_is_carried_in_parts() {
    let source = sqlite().await;
    let admin = source.as_management_capability().unwrap();
    admin.import_instance(long()).await.unwrap();
    let target = postgres("long").await;
    let report = import(&target, &export_all(&source).await).await;
    assert_eq!(report.events, EVENTS);
    let back = sqlite().await;
    import(&back, &export_all(&target).await).await;
    assert_same(&source, &back, &["long"]).await;
}
