//! What a poison event keeps of the messages that were fetched too often.
//!
//! The event stays in the history and is read with it, so it holds a bounded text: the messages as
//! JSON, with long values shortened and the last messages left out.

use serde_json::Value;

use crate::limits::{POISON_TEXT_MAX, POISON_VALUE_MAX};
use crate::model::WorkItem;

/// One message as JSON.
pub(crate) fn of_message(message: &WorkItem) -> String {
    match serde_json::to_string(message) {
        Ok(text) if text.len() <= POISON_TEXT_MAX / 4 => text,
        Ok(_) | Err(_) => shortened(message).to_string(),
    }
}

/// Messages as a JSON array. The last element says how many are left out.
pub(crate) fn of_messages(messages: &[WorkItem]) -> String {
    let mut text = String::from("[");
    for (index, message) in messages.iter().enumerate() {
        let next = of_message(message);
        if text.len() + next.len() > POISON_TEXT_MAX {
            let left_out = messages.len() - index;
            let note = Value::String(format!("{left_out} more messages are left out"));
            push(&mut text, &note.to_string());
            break;
        }
        push(&mut text, &next);
    }
    text.push(']');
    text
}

fn push(text: &mut String, element: &str) {
    if text.len() > 1 {
        text.push(',');
    }
    text.push_str(element);
}

fn shortened(message: &WorkItem) -> Value {
    let mut value = serde_json::to_value(message)
        .unwrap_or_else(|error| Value::String(format!("cannot be encoded: {error}")));
    shorten(&mut value);
    value
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => shorten_text(text),
        Value::Array(elements) => {
            // Messages that a continuation carries.
            let left_out = elements.len().saturating_sub(ELEMENTS_MAX);
            elements.truncate(ELEMENTS_MAX);
            elements.iter_mut().for_each(shorten);
            if left_out > 0 {
                elements.push(Value::String(format!("{left_out} more are left out")));
            }
        }
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Elements of a list within a message: all of them together stay below the bound of the text.
const ELEMENTS_MAX: usize = POISON_TEXT_MAX / POISON_VALUE_MAX / 4;

/// Shortens a long text.
pub(crate) fn shorten_text(text: &mut String) {
    let length = text.len();
    if length <= POISON_VALUE_MAX {
        return;
    }
    let end = (0..=POISON_VALUE_MAX).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.truncate(end);
    text.push_str(&format!("… ({length} bytes)"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(name: &str, data: String) -> WorkItem {
        WorkItem::QueueMessage { instance: "order".to_owned(), name: name.to_owned(), data }
    }

    #[test]
    fn small_messages_are_kept_as_they_are() {
        let messages = [message("a", "1".to_owned()), message("b", "2".to_owned())];
        let parsed: Vec<WorkItem> = serde_json::from_str(&of_messages(&messages)).unwrap();
        assert_eq!(parsed, messages);
        assert_eq!(of_messages(&[]), "[]");
        assert_eq!(of_message(&messages[0]), serde_json::to_string(&messages[0]).unwrap());
    }

    /// A million messages once made a poison event of 94 MB.
    #[test]
    fn many_messages_are_cut_and_counted() {
        let messages: Vec<_> = (0..10_000).map(|n| message("n", n.to_string())).collect();
        let text = of_messages(&messages);
        assert!(text.len() < POISON_TEXT_MAX + 100, "{}", text.len());
        let parsed: Vec<Value> = serde_json::from_str(&text).unwrap();
        let note = format!("{} more messages are left out", messages.len() - (parsed.len() - 1));
        assert_eq!(parsed.last(), Some(&Value::String(note)));
    }

    #[test]
    fn a_large_value_is_shortened_and_the_ids_stay() {
        let text = of_messages(&[message("queue", "ä".repeat(1_000_000))]);
        assert!(text.len() < 2 * POISON_VALUE_MAX, "{}", text.len());
        assert!(text.contains("order") && text.contains("\"queue\""), "{text}");
        assert!(text.contains("… (2000000 bytes)"), "{text}");
    }
}
