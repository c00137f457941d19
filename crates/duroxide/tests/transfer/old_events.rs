//! Histories of 0.1.x databases.

use duroxide::providers::{CopiedEvent, CopiedExecution, InstanceCopy, InstanceHead};
use serde_json::Value;

use crate::support::{assert_same, export_all, import, postgres, sqlite};

/// The recorded instances of 0.1.32, as that release stored them.
fn recorded() -> Vec<InstanceCopy> {
    let text = include_str!("../histories/recorded/0.1.32.jsonl");
    let mut copies: Vec<InstanceCopy> = Vec::new();
    for line in text.lines().skip(1) {
        let json: Value = serde_json::from_str(line).unwrap();
        let Some(facts) = json.get("execution") else {
            let copy = copies.last_mut().unwrap();
            let execution = copy.executions.last().unwrap().execution_id;
            let event_id = json["event_id"].as_u64().unwrap();
            copy.events.push(CopiedEvent::new(execution, event_id, line.to_owned()));
            continue;
        };
        let instance = facts["instance"].as_str().unwrap();
        let mut execution = CopiedExecution::default();
        execution.execution_id = facts["execution_id"].as_u64().unwrap();
        execution.events = facts["events"].as_u64().unwrap();
        execution.status = "Completed".to_owned();
        execution.started_at_ms = Some(1);
        execution.completed_at_ms = Some(2);
        execution.pin = Some("0.1.32".to_owned());
        if copies.last().is_none_or(|copy| copy.instance != instance) {
            copies.push(InstanceCopy::new(instance));
        }
        let copy = copies.last_mut().unwrap();
        let mut head = InstanceHead::default();
        head.orchestration_name = instance.to_owned();
        head.orchestration_version = "1.0.0".to_owned();
        head.current_execution_id = execution.execution_id;
        (head.created_at_ms, head.updated_at_ms) = (1, 2);
        copy.head = Some(head);
        copy.executions.push(execution);
    }
    copies
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_0_1_are_carried_as_they_are() {
    let source = sqlite().await;
    let copies = recorded();
    assert!(copies.len() > 3, "{} instances", copies.len());
    let admin = source.as_management_capability().unwrap();
    for copy in copies.clone() {
        admin.import_instance(copy).await.unwrap();
    }
    let target = postgres("old_events").await;
    let file = export_all(&source).await;
    import(&target, &file).await;
    let instances: Vec<&str> = copies.iter().map(|copy| copy.instance.as_str()).collect();
    assert_same(&source, &target, &instances).await;
    // The texts themselves are kept, with keys that this release no longer writes.
    let lines: Vec<&str> = std::str::from_utf8(&file).unwrap().lines().collect();
    for event in copies.iter().flat_map(|copy| &copy.events) {
        assert!(lines.contains(&event.text.as_str()), "{}", event.text);
    }
}
