//! What decoding tolerates and what it refuses. Every case is derived from the golden texts.

use duroxide_core::model::{ErrorDetails, Event, WorkItem};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::golden::{ERRORS, EVENTS, WORK_ITEMS, rows};

// Keys that may be missing or null; both decode to `None`.
const EVENT_OPTIONS: &[&str] = &[
    "source_event_id",
    "parent_instance",
    "parent_id",
    "parent_execution_id",
    "carry_forward_events",
    "initial_custom_status",
    "session_id",
    "tag",
    "status",
];
const WORK_ITEM_OPTIONS: &[&str] = &[
    "version",
    "parent_instance",
    "parent_id",
    "parent_execution_id",
    "initial_custom_status",
    "session_id",
    "tag",
];
// Completions of children require these keys.
const PARENT_LINK: &[&str] = &["parent_instance", "parent_id", "parent_execution_id"];

fn parse(text: &str) -> Map<String, Value> {
    match serde_json::from_str(text).unwrap() {
        Value::Object(object) => object,
        other => panic!("not an object: {other}"),
    }
}

// Splits an externally tagged value into its only key and the object below it.
fn untag(text: &str) -> (String, Map<String, Value>) {
    let mut outer = parse(text).into_iter();
    match outer.next() {
        Some((variant, Value::Object(inner))) => (variant, inner),
        other => panic!("not tagged: {other:?}"),
    }
}

fn without(object: &Map<String, Value>, key: &str) -> Map<String, Value> {
    let mut object = object.clone();
    object.remove(key);
    object
}

fn with(object: &Map<String, Value>, key: &str, value: Value) -> Map<String, Value> {
    let mut object = object.clone();
    object.insert(key.to_owned(), value);
    object
}

fn tagged(variant: &str, inner: Map<String, Value>) -> Value {
    json!({ variant: inner })
}

fn read<T: DeserializeOwned>(value: impl Into<Value>) -> Result<T, String> {
    serde_json::from_str(&value.into().to_string()).map_err(|error| error.to_string())
}

fn assert_names(outcome: Result<impl std::fmt::Debug, String>, missing: &str, case: &str) {
    let error = outcome.expect_err(case);
    assert!(error.contains(&format!("`{missing}`")), "{case} without {missing}: {error}");
}

#[test]
fn unknown_keys_are_ignored() {
    for (name, text) in rows(EVENTS) {
        let expected: Event = serde_json::from_str(text).unwrap();
        let extended = with(&parse(text), "added_later", json!({ "a": [1] }));
        assert_eq!(read::<Event>(extended), Ok(expected), "{name}");
    }
    for (name, text) in rows(WORK_ITEMS) {
        let expected: WorkItem = serde_json::from_str(text).unwrap();
        let (variant, inner) = untag(text);
        let extended = tagged(&variant, with(&inner, "added_later", json!("x")));
        assert_eq!(read::<WorkItem>(extended), Ok(expected), "{name}");
    }
    for (name, text) in rows(ERRORS) {
        let expected: ErrorDetails = serde_json::from_str(text).unwrap();
        let (variant, inner) = untag(text);
        let extended = tagged(&variant, with(&inner, "added_later", json!("x")));
        assert_eq!(read::<ErrorDetails>(extended), Ok(expected), "{name}");
    }
}

#[test]
fn optional_keys_of_events_may_be_missing_or_null() {
    for (name, text) in rows(EVENTS) {
        let object = parse(text);
        for key in EVENT_OPTIONS.iter().filter(|key| object.contains_key(**key)) {
            let missing = read::<Event>(without(&object, key)).expect(name);
            let null = read::<Event>(with(&object, key, Value::Null)).expect(name);
            assert_eq!(missing, null, "{name}: {key}");
        }
    }
}

#[test]
fn the_error_names_a_missing_key_of_an_event() {
    for (name, text) in rows(EVENTS) {
        let object = parse(text);
        let optional = |key: &str| EVENT_OPTIONS.contains(&key) || key == "last_updated_at_ms";
        for key in object.keys().filter(|key| !optional(key)) {
            assert_names(read::<Event>(without(&object, key)), key, name);
        }
    }
}

#[test]
fn a_key_value_event_without_a_time_has_time_zero() {
    let (_, text) = rows(EVENTS).into_iter().find(|(name, _)| *name == "KeyValueSet").unwrap();
    let old: Event = read(without(&parse(text), "last_updated_at_ms")).unwrap();
    assert_eq!(serde_json::to_value(old).unwrap()["last_updated_at_ms"], 0);
}

fn is_optional(variant: &str, key: &str) -> bool {
    let is_completion = variant.starts_with("SubOrch") && PARENT_LINK.contains(&key);
    WORK_ITEM_OPTIONS.contains(&key) && !is_completion
}

#[test]
fn optional_keys_of_work_items_may_be_missing_or_null() {
    for (name, text) in rows(WORK_ITEMS) {
        let (variant, inner) = untag(text);
        for key in inner.keys().filter(|key| is_optional(&variant, key)) {
            let missing = read::<WorkItem>(tagged(&variant, without(&inner, key))).expect(name);
            let null = tagged(&variant, with(&inner, key, Value::Null));
            assert_eq!(read::<WorkItem>(null), Ok(missing), "{name}: {key}");
        }
    }
}

#[test]
fn the_error_names_a_missing_key_of_a_work_item() {
    for (name, text) in rows(WORK_ITEMS) {
        let (variant, inner) = untag(text);
        let optional = |key: &str| is_optional(&variant, key) || key == "carry_forward_events";
        for key in inner.keys().filter(|key| !optional(key)) {
            assert_names(read::<WorkItem>(tagged(&variant, without(&inner, key))), key, name);
        }
    }
}

#[test]
fn a_continue_as_new_without_carried_messages_decodes_as_carrying_none() {
    let rows = rows(WORK_ITEMS);
    let (_, text) = rows.iter().find(|(name, _)| *name == "ContinueAsNew bare").unwrap();
    let expected: WorkItem = serde_json::from_str(text).unwrap();
    let (variant, inner) = untag(text);
    let old = tagged(&variant, without(&inner, "carry_forward_events"));
    assert_eq!(read::<WorkItem>(old), Ok(expected));
}

#[test]
fn the_error_names_a_missing_key_of_a_failure() {
    for (name, text) in rows(ERRORS) {
        let (variant, inner) = untag(text);
        let optional = |key: &str| variant == "Configuration" && key == "message";
        for key in inner.keys().filter(|key| !optional(key)) {
            assert_names(read::<ErrorDetails>(tagged(&variant, without(&inner, key))), key, name);
        }
    }
}

#[test]
fn a_configuration_failure_may_lack_its_message() {
    let text = json!({"Configuration": {"kind": "Nondeterminism", "resource": "r"}});
    let details: ErrorDetails = read(text).unwrap();
    assert_eq!(details.display_message(), "nondeterministic in r");
}

#[test]
fn the_error_names_an_unknown_kind_or_variant() {
    for (name, text) in rows(EVENTS) {
        let unknown = with(&parse(text), "type", json!("FromTheFuture"));
        assert_names(read::<Event>(unknown), "FromTheFuture", name);
    }
    for (name, text) in rows(WORK_ITEMS) {
        let unknown = tagged("FromTheFuture", untag(text).1);
        assert_names(read::<WorkItem>(unknown), "FromTheFuture", name);
    }
    for (name, text) in rows(ERRORS) {
        let unknown = tagged("FromTheFuture", untag(text).1);
        assert_names(read::<ErrorDetails>(unknown), "FromTheFuture", name);
    }
}

#[test]
fn kinds_with_a_stored_name_do_not_decode_under_their_rust_names() {
    for (rust, stored) in [
        ("QueueSubscribed", "ExternalSubscribedPersistent"),
        ("QueueEventDelivered", "ExternalEventPersistent"),
        ("QueueSubscriptionCancelled", "ExternalSubscribedPersistentCancelled"),
    ] {
        let (_, text) = rows(EVENTS).into_iter().find(|(name, _)| *name == rust).unwrap();
        assert!(text.contains(&format!("\"type\":\"{stored}\"")));
        assert_names(read::<Event>(with(&parse(text), "type", json!(rust))), rust, rust);
    }
}
