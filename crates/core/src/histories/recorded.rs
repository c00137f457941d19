//! One recorded execution.

use std::collections::BTreeMap;

use crate::model::{Event, EventKind, KvEntry};

/// The history of one execution, and what a replay needs besides.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RecordedHistory {
    /// The instance.
    pub instance_id: String,
    /// The number of the execution.
    pub execution_id: u64,
    /// The keys that earlier executions left behind.
    pub kv: BTreeMap<String, KvEntry>,
    /// All events, in order.
    pub events: Vec<Event>,
}

impl RecordedHistory {
    /// A history without keys of earlier executions.
    pub fn new(instance_id: impl Into<String>, execution_id: u64, events: Vec<Event>) -> Self {
        Self { instance_id: instance_id.into(), execution_id, kv: BTreeMap::new(), events }
    }

    /// Sets the keys that earlier executions left behind.
    #[must_use]
    pub fn with_kv(mut self, kv: BTreeMap<String, KvEntry>) -> Self {
        self.kv = kv;
        self
    }

    /// Whether the execution has its last event.
    pub fn is_finished(&self) -> bool {
        self.events.iter().any(Event::is_terminal)
    }
}

/// Applies the changes of a finished execution to the keys that the next one starts with.
pub(crate) fn apply_changes<'a>(
    kv: &mut BTreeMap<String, KvEntry>,
    events: impl IntoIterator<Item = &'a Event>,
) {
    for event in events {
        if let EventKind::KeyValueSet { key, value, last_updated_at_ms } = &event.kind {
            let (value, last_updated_at_ms) = (value.clone(), *last_updated_at_ms);
            kv.insert(key.clone(), KvEntry { value, last_updated_at_ms });
        } else if let EventKind::KeyValueCleared { key } = &event.kind {
            kv.remove(key);
        } else if matches!(event.kind, EventKind::KeyValuesCleared) {
            kv.clear();
        }
    }
}
