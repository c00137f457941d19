//! Stored form of work items.

use std::collections::BTreeMap;

use duroxide_core::model::{AttributeValue, Attributes, WorkItem};
use duroxide_core::providers::ClientMessage;
use duroxide_core::providers::kit::{
    ATTRIBUTE_KEYS_FROM, EncodedMessage, decode_attribute, decode_messages,
};

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

#[test]
fn a_start_with_attributes_has_one_more_key_that_other_readers_ignore() {
    let attributes = Attributes::from([
        ("customer".to_owned(), AttributeValue::Integer(42)),
        ("due".to_owned(), AttributeValue::Time(1_700_000_000_000)),
        ("paid".to_owned(), AttributeValue::Bool(false)),
        ("region".to_owned(), AttributeValue::from("eu")),
        ("weight".to_owned(), AttributeValue::Float(-1.5)),
    ]);
    let (_, start) = starts().remove(0);
    let message = ClientMessage::new(start.clone()).with_attributes(&attributes);
    let text = EncodedMessage::encode_client_message(&message).unwrap().text;
    let expected = concat!(
        r#"{"StartOrchestration":{"instance":"i","orchestration":"O","input":"x","#,
        r#""version":null,"parent_instance":null,"parent_id":null,"execution_id":1,"#,
        r#""attributes":{"customer":"i800000000000002a","due":"m0000018bcfe56800","#,
        r#""paid":"b0","region":"teu","weight":"f4007ffffffffffff"}}}"#,
    );
    assert_eq!(text, expected);
    assert_eq!(serde_json::from_str::<WorkItem>(&text).unwrap(), start);
    let read = decode_messages("i", &[(1, text)]);
    let [first, WorkItem::QueueMessage { instance, name, data }] = read.as_slice() else {
        panic!("{read:?}")
    };
    assert_eq!((first, instance.as_str(), name.as_str()), (&start, "i", "__duroxide_attributes"));
    let stored: BTreeMap<String, String> = serde_json::from_str(data).unwrap();
    let decoded = stored.iter().map(|(name, value)| {
        decode_attribute(&format!("{ATTRIBUTE_KEYS_FROM}{name}"), value).unwrap()
    });
    assert_eq!(decoded.collect::<Attributes>(), attributes);
    // Inputs that look like attributes are none.
    let ends_alike = ClientMessage::start("i", "O", "}}}");
    let text = EncodedMessage::encode_client_message(&ends_alike).unwrap().text;
    assert_eq!(decode_messages("i", &[(1, text)]), [ends_alike.item]);
}
