//! Key-value state in two layers.
//!
//! The snapshot of a turn contains only the values of finished executions, because replay repeats
//! the writes of the running one: a value of the running execution in the snapshot would be applied
//! twice. Clients see both layers merged.
//!
//! The kit's `kv_changes` is not used here, so that the differential test checks both.

use std::collections::{BTreeMap, HashMap};

use duroxide_core::providers::KvEntry;
use duroxide_core::{Event, EventKind};

/// The values of one instance. They survive executions and pruning, and are deleted with the
/// instance.
#[derive(Debug, Default)]
pub(crate) struct Values {
    finished: BTreeMap<String, KvEntry>,
    /// `None` is a tombstone: it hides the value in `finished`.
    running: BTreeMap<String, Option<KvEntry>>,
}

impl Values {
    /// Applies the events of a commit in their order: a set after a clear stays.
    pub(crate) fn apply(&mut self, events: &[Event]) {
        for event in events {
            if let EventKind::KeyValueSet { key, value, last_updated_at_ms } = &event.kind {
                let last_updated_at_ms = *last_updated_at_ms;
                let entry = KvEntry { value: value.clone(), last_updated_at_ms };
                self.running.insert(key.clone(), Some(entry));
            } else if let EventKind::KeyValueCleared { key } = &event.kind {
                self.running.insert(key.clone(), None);
            } else if matches!(event.kind, EventKind::KeyValuesCleared) {
                self.clear();
            }
        }
    }

    /// Removes every key of both layers.
    fn clear(&mut self) {
        let keys = self.finished.keys().chain(self.running.keys());
        self.running = keys.map(|key| (key.clone(), None)).collect();
    }

    /// The execution has finished: its writes become the snapshot of the next one.
    pub(crate) fn merge(&mut self) {
        for (key, written) in std::mem::take(&mut self.running) {
            match written {
                Some(entry) => drop(self.finished.insert(key, entry)),
                None => drop(self.finished.remove(&key)),
            }
        }
    }

    /// The snapshot of a turn.
    pub(crate) fn snapshot(&self) -> HashMap<String, KvEntry> {
        self.finished.iter().map(|(key, entry)| (key.clone(), entry.clone())).collect()
    }

    /// What clients see: an entry of the running execution wins.
    pub(crate) fn live(&self) -> HashMap<String, String> {
        let mut live: BTreeMap<_, _> =
            self.finished.iter().map(|(key, entry)| (key, Some(entry))).collect();
        live.extend(self.running.iter().map(|(key, written)| (key, written.as_ref())));
        let kept = live.into_iter();
        kept.filter_map(|(key, entry)| Some((key.clone(), entry?.value.clone()))).collect()
    }
}
