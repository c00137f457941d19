//! Stored form of work items.

use duroxide_core::model::WorkItem;

use crate::errors::any_failure;
use crate::golden::{WORK_ITEMS, assert_golden, rows};

const VARIANTS: &[&str] = &[
    "StartOrchestration",
    "ActivityExecute",
    "ActivityCompleted",
    "ActivityFailed",
    "TimerFired",
    "ExternalRaised",
    "SubOrchCompleted",
    "SubOrchFailed",
    "CancelInstance",
    "ContinueAsNew",
    "QueueMessage",
];

fn starts() -> Vec<(&'static str, WorkItem)> {
    let bare = WorkItem::StartOrchestration {
        instance: "i".into(),
        orchestration: "O".into(),
        input: "x".into(),
        version: None,
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        execution_id: 1,
    };
    let full = WorkItem::StartOrchestration {
        instance: "i".into(),
        orchestration: "O".into(),
        input: "x".into(),
        version: Some("1.0.0".into()),
        parent_instance: Some("p".into()),
        parent_id: Some(2),
        parent_execution_id: Some(1),
        execution_id: 1,
    };
    vec![("StartOrchestration bare", bare), ("StartOrchestration full", full)]
}

fn execute(session_id: Option<&str>, tag: Option<&str>) -> WorkItem {
    WorkItem::ActivityExecute {
        instance: "i".into(),
        execution_id: 1,
        id: 2,
        name: "A".into(),
        input: "x".into(),
        session_id: session_id.map(Into::into),
        tag: tag.map(Into::into),
    }
}

fn activities_and_timers() -> Vec<(&'static str, WorkItem)> {
    let (instance, execution_id, id) = (String::from("i"), 1, 2);
    let completed = WorkItem::ActivityCompleted {
        instance: instance.clone(),
        execution_id,
        id,
        result: "r".into(),
    };
    let failed = WorkItem::ActivityFailed {
        instance: instance.clone(),
        execution_id,
        id,
        details: any_failure(),
    };
    vec![
        ("ActivityExecute bare", execute(None, None)),
        ("ActivityExecute full", execute(Some("s"), Some("t"))),
        ("ActivityCompleted", completed),
        ("ActivityFailed", failed),
        ("TimerFired", WorkItem::TimerFired { instance, execution_id, id, fire_at_ms: 5 }),
    ]
}

fn signals_and_children() -> Vec<(&'static str, WorkItem)> {
    let raised =
        WorkItem::ExternalRaised { instance: "i".into(), name: "E".into(), data: "d".into() };
    let completed = WorkItem::SubOrchCompleted {
        parent_instance: "p".into(),
        parent_execution_id: 1,
        parent_id: 2,
        result: "r".into(),
    };
    let failed = WorkItem::SubOrchFailed {
        parent_instance: "p".into(),
        parent_execution_id: 1,
        parent_id: 2,
        details: any_failure(),
    };
    let cancel = WorkItem::CancelInstance { instance: "i".into(), reason: "r".into() };
    vec![
        ("ExternalRaised", raised),
        ("SubOrchCompleted", completed),
        ("SubOrchFailed", failed),
        ("CancelInstance", cancel),
    ]
}

fn continued_and_queued() -> Vec<(&'static str, WorkItem)> {
    let bare = WorkItem::ContinueAsNew {
        instance: "i".into(),
        orchestration: "O".into(),
        input: "x".into(),
        version: None,
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: Vec::new(),
        initial_custom_status: None,
    };
    let full = WorkItem::ContinueAsNew {
        instance: "i".into(),
        orchestration: "O".into(),
        input: "x".into(),
        version: Some("2.0.0".into()),
        parent_instance: Some("p".into()),
        parent_id: Some(2),
        parent_execution_id: Some(1),
        carry_forward_events: vec![("q".into(), "d".into())],
        initial_custom_status: Some("c".into()),
    };
    let queued =
        WorkItem::QueueMessage { instance: "i".into(), name: "q".into(), data: "d".into() };
    vec![("ContinueAsNew bare", bare), ("ContinueAsNew full", full), ("QueueMessage", queued)]
}

pub(crate) fn cases() -> Vec<(&'static str, WorkItem)> {
    let mut cases = starts();
    cases.extend(activities_and_timers());
    cases.extend(signals_and_children());
    cases.extend(continued_and_queued());
    cases
}

#[test]
fn work_items_match_their_stored_form() {
    assert_golden(WORK_ITEMS, &cases());
}

#[test]
fn every_work_item_is_in_the_table() {
    let mut found: Vec<&str> =
        rows(WORK_ITEMS).iter().filter_map(|(name, _)| name.split(' ').next()).collect();
    found.dedup();
    assert_eq!(found, VARIANTS);
}

#[test]
fn messages_target_their_instance_and_completions_of_children_the_parent() {
    for (name, item) in cases() {
        let is_completion_of_child = name.starts_with("SubOrch");
        let expected = if is_completion_of_child { "p" } else { "i" };
        assert_eq!(item.target_instance(), expected, "{name}");
    }
}

#[test]
fn the_variant_name_used_before_0_1_19_is_refused() {
    let text = r#"{"ExternalRaisedPersistent":{"instance":"i","name":"q","data":"d"}}"#;
    let error = serde_json::from_str::<WorkItem>(text).unwrap_err().to_string();
    assert!(error.contains("ExternalRaisedPersistent"), "{error}");
}
