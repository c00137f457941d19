//! The keys that executions start with, by the histories of the executions before.

use std::collections::BTreeMap;

use super::recorded::apply_changes;
use crate::model::{Event, KvEntry, MendMarker};

/// The keys before and after the last execution that was noted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Keys {
    before: BTreeMap<String, KvEntry>,
    after: BTreeMap<String, KvEntry>,
}

impl Keys {
    /// The keys before and after an execution.
    pub(crate) fn new(before: BTreeMap<String, KvEntry>, after: BTreeMap<String, KvEntry>) -> Self {
        Self { before, after }
    }

    /// What the next execution, which has these events, starts with. A mended one starts like the
    /// one that it continues.
    pub(crate) fn next<'a>(
        &self,
        events: impl DoubleEndedIterator<Item = &'a Event>,
    ) -> BTreeMap<String, KvEntry> {
        let marker = events.rev().find_map(|event| Some((event, MendMarker::of(event)?)));
        match marker {
            Some((event, marker)) if marker.instance == event.instance_id => self.before.clone(),
            Some((_, marker)) => marker.kv,
            None => self.after.clone(),
        }
    }

    /// Notes an execution that started with these keys.
    pub(super) fn note<'a>(
        &mut self,
        before: BTreeMap<String, KvEntry>,
        events: impl IntoIterator<Item = &'a Event>,
    ) {
        self.after.clone_from(&before);
        apply_changes(&mut self.after, events);
        self.before = before;
    }
}
