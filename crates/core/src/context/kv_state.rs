//! The key-value store as orchestration code reads it.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::model::KvEntry;
use crate::model::stored_attribute::is_attribute_key;

/// The store as earlier executions left it, plus the writes of this execution.
#[derive(Debug, Default)]
pub(crate) struct KvState {
    entries: BTreeMap<String, KvEntry>,
    /// Search attributes by their keys, which the code does not see as keys.
    attributes: BTreeMap<String, String>,
    /// Times of recorded writes that the code has not repeated yet. A replayed write gets its
    /// recorded time at the call, so that pruning by age makes the same decision in every replay.
    recorded_times: VecDeque<u64>,
}

impl KvState {
    pub(crate) fn load(&mut self, snapshot: HashMap<String, KvEntry>) {
        for (key, entry) in snapshot {
            if is_attribute_key(&key) {
                self.attributes.insert(key, entry.value);
            } else {
                self.entries.insert(key, entry);
            }
        }
    }

    pub(crate) fn expect_write_at(&mut self, recorded_ms: u64) {
        self.recorded_times.push_back(recorded_ms);
    }

    /// Drops the times of recorded writes that the code did not repeat, so that new writes do not
    /// get them.
    pub(crate) fn forget_recorded_times(&mut self) {
        self.recorded_times.clear();
    }

    /// Sets a key and returns the time of the write.
    pub(crate) fn set(&mut self, key: String, value: String, now_ms: u64) -> u64 {
        let last_updated_at_ms = self.recorded_times.pop_front().unwrap_or(now_ms);
        self.put(key, value, last_updated_at_ms);
        last_updated_at_ms
    }

    /// Sets a key for an operator, who is not the code.
    pub(crate) fn put(&mut self, key: String, value: String, last_updated_at_ms: u64) {
        self.entries.insert(key, KvEntry { value, last_updated_at_ms });
    }

    /// Replaces a value that the code wrote by the recorded one, which means the same. The code
    /// reads what it read before, not what a newer encoder makes of it.
    pub(crate) fn adopt_recorded(&mut self, key: &str, written: &str, recorded: &str) {
        if written != recorded
            && let Some(entry) = self.entries.get_mut(key)
            && entry.value == written
        {
            recorded.clone_into(&mut entry.value);
        }
    }

    /// Sets an attribute by its key; `None` removes it.
    pub(crate) fn set_attribute(&mut self, key: String, stored: Option<String>) {
        match stored {
            Some(stored) => self.attributes.insert(key, stored),
            None => self.attributes.remove(&key),
        };
    }

    /// Attributes by their keys, in their stored form.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = (&String, &String)> {
        self.attributes.iter()
    }

    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.entries.get(key).map(|entry| entry.value.as_str())
    }

    pub(crate) fn remove(&mut self, key: &str) {
        self.entries.remove(key);
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &String> {
        self.entries.keys()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &KvEntry)> {
        self.entries.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Keys set before `cutoff_ms`, in key order.
    pub(crate) fn older_than(&self, cutoff_ms: u64) -> Vec<String> {
        self.entries
            .iter()
            .filter(|(_, entry)| entry.last_updated_at_ms < cutoff_ms)
            .map(|(key, _)| key.clone())
            .collect()
    }

    pub(crate) fn bytes(&self) -> usize {
        let entries = self.entries.iter().map(|(key, entry)| key.len() + entry.value.len());
        let attributes = self.attributes.iter().map(|(key, stored)| key.len() + stored.len());
        entries.chain(attributes).sum()
    }
}
