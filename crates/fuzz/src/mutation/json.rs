//! Changes that keep an input JSON, so that they get past the parser.

use serde_json::{Map, Value};

use super::{NUMBERS, WORDS};
use crate::Rng;

/// Most levels that one change adds: more than the parser accepts.
const DEPTH_MAX: usize = 200;

/// Most characters that one change adds.
const TEXT_MAX: usize = 20_000;

/// Changes one value; `None` if the input is not JSON.
pub(super) fn change(rng: &mut Rng, input: &[u8]) -> Option<Vec<u8>> {
    let mut value: Value = serde_json::from_slice(input).ok()?;
    let count = count(&value);
    let chosen = rng.below(count);
    replace(&mut value, &mut { chosen }, &mut |old| *old = changed(rng, old));
    serde_json::to_vec(&value).ok()
}

fn count(value: &Value) -> usize {
    let below: usize = match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    };
    below + 1
}

/// Calls the change with the value that has this number in the order of a walk.
fn replace(value: &mut Value, left: &mut usize, change: &mut impl FnMut(&mut Value)) -> bool {
    if *left == 0 {
        change(value);
        return true;
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| replace(item, left, change)),
        Value::Object(fields) => fields.values_mut().any(|field| replace(field, left, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn changed(rng: &mut Rng, old: &Value) -> Value {
    match rng.below(5) {
        0 => any(rng),
        1 => of_other_type(rng, old),
        _ => of_same_type(rng, old),
    }
}

fn any(rng: &mut Rng) -> Value {
    match rng.below(7) {
        0 => Value::Null,
        1 => Value::Bool(rng.one_in(2)),
        2 => number(rng),
        3 => Value::Array(Vec::new()),
        4 => Value::Object(Map::new()),
        5 => Value::String((*rng.pick(NUMBERS)).to_owned()),
        _ => Value::String((*rng.pick(WORDS)).to_owned()),
    }
}

fn number(rng: &mut Rng) -> Value {
    serde_json::from_str::<Value>(rng.pick::<&str>(NUMBERS)).unwrap_or(Value::Null)
}

fn of_other_type(rng: &mut Rng, old: &Value) -> Value {
    match rng.below(3) {
        0 => Value::Array(vec![old.clone()]),
        1 => {
            let levels = rng.below(DEPTH_MAX);
            (0..levels).fold(old.clone(), |inner, _| Value::Array(vec![inner]))
        }
        _ => Value::String(old.to_string()),
    }
}

fn of_same_type(rng: &mut Rng, old: &Value) -> Value {
    match old {
        Value::Null => any(rng),
        Value::Bool(old) => Value::Bool(!old),
        Value::Number(old) => match old.as_i64().filter(|_| rng.one_in(2)) {
            Some(old) => Value::from(old.wrapping_add(if rng.one_in(2) { 1 } else { -1 })),
            None => number(rng),
        },
        Value::String(old) => Value::String(text(rng, old)),
        Value::Array(items) => Value::Array(array(rng, items.clone())),
        Value::Object(fields) => Value::Object(object(rng, fields.clone())),
    }
}

fn text(rng: &mut Rng, old: &str) -> String {
    let word = *rng.pick(WORDS);
    match rng.below(5) {
        0 => word.to_owned(),
        1 => format!("{old}{word}"),
        2 => format!("{word}{old}"),
        3 => old.chars().skip(rng.below(8)).collect(),
        _ => "x".repeat(rng.below(TEXT_MAX)),
    }
}

fn array(rng: &mut Rng, mut items: Vec<Value>) -> Vec<Value> {
    if items.is_empty() || rng.one_in(4) {
        items.push(any(rng));
        return items;
    }
    let (one, other) = (rng.below(items.len()), rng.below(items.len()));
    match rng.below(3) {
        0 => items.swap(one, other),
        1 => drop(items.remove(one)),
        _ => items.insert(one, items[other].clone()),
    }
    items
}

fn object(rng: &mut Rng, mut fields: Map<String, Value>) -> Map<String, Value> {
    let names: Vec<String> = fields.keys().cloned().collect();
    if names.is_empty() || rng.one_in(4) {
        fields.insert((*rng.pick(WORDS)).to_owned(), any(rng));
        return fields;
    }
    let name = rng.pick(&names);
    let Some(value) = fields.remove(name) else { return fields };
    match rng.below(3) {
        0 => {}
        1 => drop(fields.insert(format!("{name}{}", rng.pick(WORDS)), value)),
        _ => {
            // The value of another field, so that types and names disagree.
            let other = fields.values().next().cloned().unwrap_or(Value::Null);
            fields.insert(name.clone(), other);
        }
    }
    fields
}
