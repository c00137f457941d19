//! Guards the stored schema: what is released is never changed and never removed.
//!
//! `testdata/schema.txt` lists every variant and key that a release has written. Databases in the
//! field hold them, so that a line of that file may be added and never edited.

use std::collections::{BTreeMap, BTreeSet};

use duroxide_core::model::{AppErrorKind, ErrorDetails, Event, PoisonMessageType, WorkItem};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::{errors, events, work_items};

const RELEASED: &str = include_str!("testdata/schema.txt");

/// Variants of the feature `replay-version-test`, which no release writes.
const TEST_ONLY: &[&str] = &["ExternalSubscribed2", "ExternalEvent2", "ExternalRaised2"];

/// How a variant without keys is listed.
const NO_KEYS: &str = "(no keys)";

/// The schema of this build: the shape of each key, by `type.variant.key`.
type Schema = BTreeMap<String, String>;

/// Where a type keeps the name of its variant.
#[derive(Clone, Copy, PartialEq)]
enum Tagging {
    /// The only key of an object, or a text.
    Outside,
    /// The key `type`, next to the keys of the envelope.
    Event,
}

const ENVELOPE: &[&str] = &[
    "event_id",
    "source_event_id",
    "instance_id",
    "execution_id",
    "timestamp_ms",
    "duroxide_version",
    "type",
];

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

fn variant_and_keys(sample: &Value, tagging: Tagging) -> (String, Map<String, Value>) {
    match (tagging, sample) {
        (Tagging::Event, Value::Object(keys)) => {
            (keys["type"].as_str().expect("the tag is a text").to_owned(), keys.clone())
        }
        (Tagging::Outside, Value::String(variant)) => (variant.clone(), Map::new()),
        (Tagging::Outside, Value::Object(outer)) => {
            let (variant, keys) = outer.iter().next().expect("a variant is the only key");
            (variant.clone(), keys.as_object().expect("keys below the variant").clone())
        }
        _ => panic!("not a variant: {sample}"),
    }
}

fn is_required<T: DeserializeOwned>(sample: &Value, variant: &str, key: &str) -> bool {
    let mut sample = sample.clone();
    let keys = match sample.get_mut(variant) {
        Some(inner) => inner,
        None => &mut sample,
    };
    keys.as_object_mut().expect("keys are an object").remove(key);
    serde_json::from_value::<T>(sample).is_err()
}

/// The names of all variants, which an unknown one makes the decoder list.
fn variants<T: DeserializeOwned>(tagging: Tagging) -> BTreeSet<String> {
    let unknown = match tagging {
        Tagging::Outside => json!({"?": {}}),
        Tagging::Event => json!({
            "event_id": 1, "source_event_id": null, "instance_id": "i", "execution_id": 1,
            "timestamp_ms": 1, "duroxide_version": "1.0.0", "type": "?",
        }),
    };
    let Err(error) = serde_json::from_value::<T>(unknown) else { panic!("decoded") };
    let text = error.to_string();
    let names: BTreeSet<String> =
        text.split('`').skip(3).step_by(2).map(ToOwned::to_owned).collect();
    assert!(!names.is_empty(), "the error lists no variants: {text}");
    names
}

fn describe<T: DeserializeOwned + Serialize>(
    schema: &mut Schema,
    name: &str,
    tagging: Tagging,
    samples: impl IntoIterator<Item = T>,
) {
    let mut seen = BTreeSet::new();
    let mut shapes: BTreeMap<String, (BTreeSet<&str>, bool)> = BTreeMap::new();
    for sample in samples {
        let sample = serde_json::to_value(&sample).unwrap();
        let (variant, keys) = variant_and_keys(&sample, tagging);
        seen.insert(variant.clone());
        let mut has_keys = false;
        for (key, value) in &keys {
            let is_envelope = tagging == Tagging::Event && ENVELOPE.contains(&key.as_str());
            let path = match is_envelope {
                true => format!("Event.{key}"),
                false => format!("{name}.{variant}.{key}"),
            };
            has_keys |= !is_envelope;
            if value.is_null() {
                continue;
            }
            let (kinds, required) = shapes.entry(path).or_default();
            kinds.insert(kind_of(value));
            *required |= is_required::<T>(&sample, &variant, key);
        }
        if !has_keys {
            schema.insert(format!("{name}.{variant}.{NO_KEYS}"), String::new());
        }
    }
    schema.extend(shapes.into_iter().map(|(path, (kinds, required))| {
        let kinds = kinds.into_iter().collect::<Vec<_>>().join(" or ");
        (path, format!("{kinds} {}", if required { "required" } else { "optional" }))
    }));
    let released = |names: BTreeSet<String>| -> BTreeSet<String> {
        names.into_iter().filter(|name| !TEST_ONLY.contains(&name.as_str())).collect()
    };
    assert_eq!(
        released(variants::<T>(tagging)),
        released(seen),
        "a variant of {name} has no sample: add one to the cases next to this file"
    );
}

fn schema_of_this_build() -> Schema {
    let mut schema = Schema::new();
    let failures = || errors::cases().into_iter().map(|(_, failure)| failure);
    let mut items: Vec<WorkItem> = work_items::cases().into_iter().map(|(_, item)| item).collect();
    let with_sender = r#"{"CancelInstance":{"instance":"i","reason":"r","parent":["p",2,7]}}"#;
    items.push(serde_json::from_str(with_sender).unwrap());
    let recorded = events::cases().into_iter().map(|(_, event)| event);
    describe::<Event>(&mut schema, "EventKind", Tagging::Event, recorded);
    describe::<WorkItem>(&mut schema, "WorkItem", Tagging::Outside, items);
    describe::<ErrorDetails>(&mut schema, "ErrorDetails", Tagging::Outside, failures());
    let kinds = failures().filter_map(|failure| match failure {
        ErrorDetails::Application { kind, .. } => Some(kind),
        _ => None,
    });
    describe::<AppErrorKind>(&mut schema, "AppErrorKind", Tagging::Outside, kinds);
    let poisoned = failures().filter_map(|failure| match failure {
        ErrorDetails::Poison { message_type, .. } => Some(message_type),
        _ => None,
    });
    describe::<PoisonMessageType>(&mut schema, "PoisonMessageType", Tagging::Outside, poisoned);
    schema
}

/// The lines of a schema file: path, shape, and the first release that writes it.
fn parse(text: &str) -> Schema {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let parts: Vec<&str> = line.split(" | ").collect();
            let [path, shape, since] = parts[..] else {
                panic!("not 'path | shape | since': {line}")
            };
            assert!(since.starts_with("since "), "{line}");
            (path.to_owned(), shape.to_owned())
        })
        .collect()
}

fn variant_of(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(variant, _key)| variant)
}

/// What breaks the rule that the schema only grows, as advice for the author of the change.
fn violations(released: &Schema, current: &Schema) -> Vec<String> {
    let mut found = Vec::new();
    for (path, shape) in released {
        match current.get(path) {
            Some(now) if now == shape => {}
            Some(now) => found.push(format!(
                "{path} is released as '{shape}' and is now '{now}'. Stored data has the released \
                 form: restore it, and add a new variant for the new form"
            )),
            None => found.push(format!(
                "{path} is released and is gone. Stored data contains it: restore it. A variant \
                 that is no longer written must still be read"
            )),
        }
    }
    let released_variants: BTreeSet<&str> = released.keys().map(|path| variant_of(path)).collect();
    for (path, shape) in current.iter().filter(|(path, _)| !released.contains_key(*path)) {
        let is_old = released_variants.contains(variant_of(path));
        if is_old && shape.ends_with("required") {
            found.push(format!(
                "{path} is new and required, but stored data of a released variant lacks it: make \
                 it optional (`#[serde(default, skip_serializing_if = …)]`), or add a new variant"
            ));
        } else {
            found.push(format!(
                "{path} is new. If the pin of the execution keeps older releases from reading it, \
                 add this line to testdata/schema.txt:\n  {path} | {shape} | since {}",
                env!("CARGO_PKG_VERSION")
            ));
        }
    }
    found
}

#[test]
fn the_released_schema_only_grows() {
    let found = violations(&parse(RELEASED), &schema_of_this_build());
    assert!(found.is_empty(), "the stored schema has changed:\n- {}", found.join("\n- "));
}

#[test]
fn a_changed_a_removed_and_a_new_key_are_violations() {
    let released = parse(
        "K.A.x | text required | since 1.0.0\n\
         K.A.y | text optional | since 1.0.0\n\
         K.B.(no keys) |  | since 1.0.0",
    );
    assert!(violations(&released, &released).is_empty());
    let change = |path: &str, shape: Option<&str>| {
        let mut current = released.clone();
        match shape {
            Some(shape) => current.insert(path.to_owned(), shape.to_owned()),
            None => current.remove(path),
        };
        violations(&released, &current).join("\n")
    };
    assert!(change("K.A.x", Some("number required")).contains("is now 'number required'"));
    assert!(change("K.A.y", None).contains("K.A.y is released and is gone"));
    assert!(change("K.B.(no keys)", None).contains("is gone"));
    assert!(change("K.A.z", Some("text required")).contains("is new and required"));
    let added = change("K.C.z", Some("text required"));
    assert!(added.contains("add this line") && added.contains("K.C.z | text required | since"));
}
