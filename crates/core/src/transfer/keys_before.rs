//! The keys that each execution of an instance starts with, by the events before.

use std::collections::BTreeMap;

use crate::histories::{Keys, apply_changes};
use crate::model::mended::MENDED;
use crate::model::{Event, KvEntry, MendMarker};
use crate::providers::CopiedEvent;

/// What the executions written so far leave behind.
#[derive(Debug, Default)]
pub(super) struct KeysSoFar {
    keys: Keys,
    /// Those of the execution that is being written, as far as it is.
    current: BTreeMap<String, KvEntry>,
    before: BTreeMap<String, KvEntry>,
}

impl KeysSoFar {
    /// Begins an execution; `marker` is its last mend marker. Returns the keys that it starts with.
    pub(super) fn begin(&mut self, marker: Option<&Event>) -> BTreeMap<String, KvEntry> {
        self.before = self.keys.next(marker.into_iter());
        self.current.clone_from(&self.before);
        self.before.clone()
    }

    /// Applies what events of the execution change. An event that cannot be decoded counts as none.
    pub(super) fn apply(&mut self, events: &[CopiedEvent]) {
        for event in events.iter().filter(|event| event.text.contains("KeyValue")) {
            apply_changes(&mut self.current, decoded(event).as_ref());
        }
    }

    /// Ends the execution.
    pub(super) fn end(&mut self) {
        let before = std::mem::take(&mut self.before);
        self.keys = Keys::new(before, std::mem::take(&mut self.current));
    }
}

/// The last mend marker among events.
pub(super) fn last_marker(events: &[CopiedEvent]) -> Option<Event> {
    let mut marked = events.iter().rev().filter(|event| event.text.contains(MENDED));
    marked.find_map(|event| decoded(event).filter(|event| MendMarker::of(event).is_some()))
}

fn decoded(event: &CopiedEvent) -> Option<Event> {
    serde_json::from_str(&event.text).ok()
}
