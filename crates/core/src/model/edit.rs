//! Edits of the custom status and the key-value state of an instance by an operator.
//!
//! An edit travels as a queue message with a reserved name. The turn that receives it records a
//! *marker*, a signal with a reserved name that holds the whole edit, and the changes behind it,
//! with the marker as their source: replay applies them and does not expect the code to ask for
//! them.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use super::stored_attribute::is_attribute_key;
use super::{Event, EventKind, INITIAL_EVENT_ID};
use crate::limits::{
    EDIT_TEXT_MAX, MAX_CUSTOM_STATUS_BYTES, MAX_KV_KEY_BYTES, MAX_KV_KEYS, MAX_KV_VALUE_BYTES,
};

/// Name of the signal that records an edit.
pub(crate) const EDITED: &str = "__duroxide_syscall:edited";

/// Name of the queue message that carries an edit.
pub(crate) const EDIT_MESSAGE: &str = "__duroxide_edit";

/// Changes of the custom status and of keys that an operator makes, with who asks for them and why.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
/// use duroxide::InstanceEdit;
///
/// let edit = InstanceEdit::default()
///     .with_custom_status("waiting for the bank")
///     .with_key("price", "12")
///     .with_key_removed("draft")
///     .by("mara", "the price list was wrong");
/// assert!(!edit.is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InstanceEdit {
    /// The new custom status; within, `None` removes it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub custom_status: Option<Option<String>>,
    /// The keys to change; `None` removes one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub keys: BTreeMap<String, Option<String>>,
    /// Who asks for it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl InstanceEdit {
    /// The edit that an event records, if it records one.
    pub fn of(event: &Event) -> Option<Self> {
        let EventKind::ExternalEvent { name, data } = &event.kind else { return None };
        if name != EDITED {
            return None;
        }
        serde_json::from_str(data).ok()
    }

    /// Sets the custom status.
    #[must_use = "returns the changed edit"]
    pub fn with_custom_status(mut self, status: impl Into<String>) -> Self {
        self.custom_status = Some(Some(status.into()));
        self
    }

    /// Removes the custom status.
    #[must_use = "returns the changed edit"]
    pub fn with_custom_status_removed(mut self) -> Self {
        self.custom_status = Some(None);
        self
    }

    /// Sets a key.
    #[must_use = "returns the changed edit"]
    pub fn with_key(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.keys.insert(key.into(), Some(value.into()));
        self
    }

    /// Removes a key.
    #[must_use = "returns the changed edit"]
    pub fn with_key_removed(mut self, key: impl Into<String>) -> Self {
        self.keys.insert(key.into(), None);
        self
    }

    /// Who asks for it, and why.
    #[must_use = "returns the changed edit"]
    pub fn by(mut self, who: impl Into<String>, reason: impl Into<String>) -> Self {
        self.by = who.into();
        self.reason = reason.into();
        self
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.custom_status.is_none() && self.keys.is_empty()
    }

    /// Why it is refused, if it is. `exists` says which keys there are, `count` how many.
    pub(crate) fn refusal(&self, exists: impl Fn(&str) -> bool, count: usize) -> Option<String> {
        if self.is_empty() {
            return Some("the edit changes nothing".to_owned());
        }
        let too_long = |what: &str, bytes: usize, limit: usize| {
            (bytes > limit)
                .then(|| format!("{what} size ({bytes} bytes) exceeds limit ({limit} bytes)"))
        };
        let status = self.custom_status.iter().flatten().map(String::len).next().unwrap_or(0);
        too_long("Custom status", status, MAX_CUSTOM_STATUS_BYTES)
            .or_else(|| too_long("Name of the operator", self.by.len(), EDIT_TEXT_MAX))
            .or_else(|| too_long("Reason", self.reason.len(), EDIT_TEXT_MAX))
            .or_else(|| {
                self.keys.iter().find_map(|(key, value)| {
                    if is_attribute_key(key) {
                        return Some(format!("key '{key}' is reserved"));
                    }
                    let value = value.as_ref().map_or(0, String::len);
                    too_long("KV key", key.len(), MAX_KV_KEY_BYTES)
                        .or_else(|| too_long("KV value", value, MAX_KV_VALUE_BYTES))
                })
            })
            .or_else(|| {
                let set = self.keys.iter().filter(|(_, value)| value.is_some());
                let added = set.clone().filter(|(key, _)| !exists(key)).count();
                let keys = count + added;
                (set.count() > 0 && keys > MAX_KV_KEYS)
                    .then(|| format!("KV key count ({keys}) exceeds limit ({MAX_KV_KEYS})"))
            })
    }

    /// The text of the message and of the marker.
    pub(crate) fn to_data(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The changes as the turn records them.
    pub(crate) fn changes(self, now_ms: u64) -> impl Iterator<Item = EventKind> {
        let status = self.custom_status.map(|status| EventKind::CustomStatusUpdated { status });
        let keys = self.keys.into_iter().map(move |(key, value)| match value {
            Some(value) => EventKind::KeyValueSet { key, value, last_updated_at_ms: now_ms },
            None => EventKind::KeyValueCleared { key },
        });
        status.into_iter().chain(keys)
    }
}

/// Whether an event records a change that the code did not ask for: an attribute of the start, or
/// a part of an edit. It names the start or the marker as its source.
pub(crate) fn is_given_change(event: &Event) -> bool {
    event.source_event_id.is_some()
        && matches!(
            event.kind,
            EventKind::KeyValueSet { .. }
                | EventKind::KeyValueCleared { .. }
                | EventKind::CustomStatusUpdated { .. }
        )
}

/// Whether an event is the marker of an edit or one of its changes.
pub(crate) fn is_of_edit(event: &Event) -> bool {
    if let EventKind::ExternalEvent { name, .. } = &event.kind {
        return name == EDITED;
    }
    is_given_change(event) && event.source_event_id != Some(INITIAL_EVENT_ID)
}

/// A field that is there has a value, which may be null.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<String>>, D::Error> {
    Option::<String>::deserialize(from).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_back(edit: &InstanceEdit) -> InstanceEdit {
        serde_json::from_str(&edit.to_data()).unwrap()
    }

    #[test]
    fn edits_are_read_back() {
        let edit = InstanceEdit::default().with_key("a", "1").with_key_removed("b");
        assert_eq!(read_back(&edit), edit);
        assert_eq!(edit.to_data(), r#"{"keys":{"a":"1","b":null}}"#);
        let removed = InstanceEdit::default().with_custom_status_removed().by("mara", "wrong");
        assert_eq!(read_back(&removed), removed);
        assert_eq!(removed.to_data(), r#"{"custom_status":null,"by":"mara","reason":"wrong"}"#);
        let set = InstanceEdit::default().with_custom_status("x");
        assert_eq!(read_back(&set), set);
    }

    #[test]
    fn what_would_break_a_limit_of_the_instance_is_refused() {
        let refusal = |edit: InstanceEdit, count| edit.refusal(|key| key == "old", count);
        let edit = InstanceEdit::default;
        assert_eq!(refusal(edit().with_key("old", "1"), MAX_KV_KEYS), None);
        assert_eq!(refusal(edit().with_key_removed("x"), MAX_KV_KEYS + 9), None);
        for (edit, count, part) in [
            (edit(), 0, "changes nothing"),
            (edit().with_key("new", "1"), MAX_KV_KEYS, "count (151)"),
            (edit().with_key("k".repeat(513), ""), 0, "KV key size"),
            (edit().with_key("k", "v".repeat(65_537)), 0, "KV value size"),
            (edit().with_key("__duroxide_attribute:x", "t"), 0, "reserved"),
            (edit().with_custom_status("s".repeat(262_145)), 0, "Custom status size"),
            (edit().with_custom_status("s").by("x".repeat(5000), ""), 0, "Name of the operator"),
        ] {
            let refused = refusal(edit, count).expect(part);
            assert!(refused.contains(part), "{refused}");
        }
    }
}
