//! The keys that the last execution of an instance started with.
//!
//! The store has them as they are after it. Of those that it changed, the executions before are
//! searched from the last one on, until each is found: most often in one or two of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Event, EventKind, INITIAL_EXECUTION_ID, KvEntry, MendMarker};
use crate::providers::{Provider, ProviderError};

/// The last execution of an instance.
#[derive(Debug)]
pub(crate) struct LastExecution<'a> {
    pub(crate) instance: &'a str,
    pub(crate) execution_id: u64,
    pub(crate) events: &'a [Event],
    /// The keys after its end, if the store tells them and all events are known.
    pub(crate) stored: Option<BTreeMap<String, KvEntry>>,
}

impl LastExecution<'_> {
    /// The keys before it; `None` if they are unknown, because earlier executions were pruned.
    pub(crate) async fn keys_before(
        self,
        store: &dyn Provider,
    ) -> Result<Option<BTreeMap<String, KvEntry>>, ProviderError> {
        let mut search = Search::of(self.events, self.stored);
        let mut past = Past::of(self.events);
        for earlier in (INITIAL_EXECUTION_ID..self.execution_id).rev() {
            if search.is_over() || matches!(past, Past::Known(_)) {
                break;
            }
            let events = store.read_with_execution(self.instance, earlier).await?;
            if events.is_empty() {
                return Ok(None);
            }
            // A mended execution starts like the one that it continues.
            if matches!(past, Past::After) {
                search.note(&events);
            }
            past = Past::of(&events);
        }
        Ok(Some(search.end(past)))
    }
}

/// What an execution started with.
#[derive(Debug)]
enum Past {
    /// The keys after the execution before.
    After,
    /// The keys before the execution before, which it continues.
    Before,
    /// These.
    Known(BTreeMap<String, KvEntry>),
}

impl Past {
    fn of(events: &[Event]) -> Self {
        let marker = events.iter().rev().find_map(|event| Some((event, MendMarker::of(event)?)));
        match marker {
            Some((event, marker)) if marker.instance == event.instance_id => Self::Before,
            Some((_, marker)) => Self::Known(marker.kv),
            None => Self::After,
        }
    }
}

/// What is known of the keys so far.
#[derive(Debug)]
struct Search {
    /// Their values; `None` for a key that did not exist.
    found: BTreeMap<String, Option<KvEntry>>,
    /// Those that are searched for; `None` for all.
    wanted: Option<BTreeSet<String>>,
    /// All keys were cleared: those that are not found did not exist.
    is_cleared: bool,
}

impl Search {
    /// Searches for what an execution changed. What it left alone is still stored.
    fn of(events: &[Event], stored: Option<BTreeMap<String, KvEntry>>) -> Self {
        let wanted = changed(events);
        let (Some(wanted), Some(stored)) = (wanted, stored) else {
            return Self { found: BTreeMap::new(), wanted: None, is_cleared: false };
        };
        let left_alone = stored.into_iter().filter(|(key, _)| !wanted.contains(key));
        let found = left_alone.map(|(key, entry)| (key, Some(entry))).collect();
        Self { found, wanted: Some(wanted), is_cleared: false }
    }

    fn is_over(&self) -> bool {
        let is_found = |key: &String| self.found.contains_key(key);
        self.is_cleared || self.wanted.as_ref().is_some_and(|wanted| wanted.iter().all(is_found))
    }

    /// Notes the last changes by an execution that comes before those that were noted.
    fn note(&mut self, events: &[Event]) {
        for event in events.iter().rev() {
            if let EventKind::KeyValueSet { key, value, last_updated_at_ms } = &event.kind {
                let (value, last_updated_at_ms) = (value.clone(), *last_updated_at_ms);
                self.find(key, Some(KvEntry { value, last_updated_at_ms }));
            } else if let EventKind::KeyValueCleared { key } = &event.kind {
                self.find(key, None);
            } else if matches!(event.kind, EventKind::KeyValuesCleared) {
                self.is_cleared = true;
                return;
            }
        }
    }

    fn find(&mut self, key: &str, entry: Option<KvEntry>) {
        let is_wanted = self.wanted.as_ref().is_none_or(|wanted| wanted.contains(key));
        if is_wanted && !self.found.contains_key(key) {
            self.found.insert(key.to_owned(), entry);
        }
    }

    /// The keys before the execution, if the first that was noted started with this.
    fn end(mut self, past: Past) -> BTreeMap<String, KvEntry> {
        if let Past::Known(kv) = past
            && !self.is_cleared
        {
            for (key, entry) in kv {
                self.find(&key, Some(entry));
            }
        }
        self.found.into_iter().filter_map(|(key, entry)| Some((key, entry?))).collect()
    }
}

/// The keys that events change; `None` for all.
fn changed(events: &[Event]) -> Option<BTreeSet<String>> {
    let mut keys = BTreeSet::new();
    for event in events {
        if matches!(event.kind, EventKind::KeyValuesCleared) {
            return None;
        }
        if let EventKind::KeyValueSet { key, .. } | EventKind::KeyValueCleared { key } = &event.kind
        {
            keys.insert(key.clone());
        }
    }
    Some(keys)
}
