//! Key-value state in two layers.
//!
//! The snapshot of a turn contains only the values of finished executions, because replay repeats
//! the writes of the running one: a value of the running execution in the snapshot would be applied
//! twice. Clients see both layers merged.
//!
//! The kit's `kv_changes` is not used here, so that the differential test checks both.

use std::collections::{BTreeMap, HashMap};

use duroxide_core::providers::{CopiedKey, KvEntry};
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

    /// Replaces what finished executions left.
    pub(crate) fn replace(&mut self, finished: &BTreeMap<String, KvEntry>) {
        self.finished.clone_from(finished);
        self.running.clear();
    }

    /// Both layers, for another store. When a key was removed does not matter.
    pub(crate) fn copied(&self) -> Vec<CopiedKey> {
        let finished = self.finished.iter().map(|(key, entry)| (key, Some(entry), false));
        let running = self.running.iter().map(|(key, entry)| (key, entry.as_ref(), true));
        let copied = |(key, entry, is_current): (&String, Option<&KvEntry>, bool)| {
            let mut copied = CopiedKey::default();
            copied.key.clone_from(key);
            copied.value = entry.map(|entry| entry.value.clone());
            copied.updated_at_ms = entry.map_or(0, |entry| entry.last_updated_at_ms);
            copied.is_current = is_current;
            copied
        };
        finished.chain(running).map(copied).collect()
    }

    /// Stores both layers of another store.
    pub(crate) fn import(&mut self, keys: &[CopiedKey]) {
        for CopiedKey { key, value, updated_at_ms, is_current, .. } in keys {
            let last_updated_at_ms = *updated_at_ms;
            let entry = value.clone().map(|value| KvEntry { value, last_updated_at_ms });
            match (is_current, entry) {
                (true, entry) => drop(self.running.insert(key.clone(), entry)),
                (false, Some(entry)) => drop(self.finished.insert(key.clone(), entry)),
                (false, None) => {}
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
