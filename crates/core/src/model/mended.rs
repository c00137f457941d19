//! What a mended execution records about the execution that it continues.
//!
//! Both records are signals with reserved names, like [patch markers](super::patch): every release
//! decodes them and replays them without effect.
//!
//! - The *mend marker* follows the kept events. Its lineage lets answers to the kept calls arrive:
//!   they name the execution that made the call.
//! - A *held signal* is one that arrived after the kept events. The engine delivers it when a wait
//!   for it opens; a signal that is sent now would be lost before that.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Event, EventKind, KvEntry};

/// Name of the signal that records where a mended execution comes from.
pub(crate) const MENDED: &str = "__duroxide_syscall:mended";

/// Name of the signal that holds another one until a wait for it opens.
pub(crate) const HELD_SIGNAL: &str = "__duroxide_syscall:held_signal";

/// The record of a mended execution: which events it has from which other one.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
/// use duroxide::{Event, MendMarker};
///
/// /// The execution that a history continues, if it was mended.
/// fn continued(history: &[Event]) -> Option<u64> {
///     history.iter().rev().find_map(MendMarker::of).map(|marker| marker.execution_id)
/// }
/// assert_eq!(continued(&[]), None);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MendMarker {
    /// The instance that the events come from: the same one, or the one that was forked.
    pub instance: String,
    /// The execution that the events come from.
    #[serde(rename = "execution")]
    pub execution_id: u64,
    /// The last event of it that was kept.
    pub kept: u64,
    /// Earlier executions of the same instance whose events are among the kept ones, each with the
    /// last of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<(u64, u64)>,
    /// Why it was mended.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The keys that a fork starts with. No history of the fork has them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kv: BTreeMap<String, KvEntry>,
}

impl MendMarker {
    /// The marker that an event records, if it records one.
    pub fn of(event: &Event) -> Option<Self> {
        let EventKind::ExternalEvent { name, data } = &event.kind else { return None };
        if name != MENDED {
            return None;
        }
        serde_json::from_str(data).ok()
    }

    /// The marker of an execution that continues another one.
    pub(crate) fn new(instance: &str, execution_id: u64, kept: u64) -> Self {
        Self {
            instance: instance.to_owned(),
            execution_id,
            kept,
            earlier: Vec::new(),
            reason: String::new(),
            kv: BTreeMap::new(),
        }
    }

    pub(crate) fn to_kind(&self) -> EventKind {
        let data = serde_json::to_string(self).unwrap_or_default();
        EventKind::ExternalEvent { name: MENDED.to_owned(), data }
    }
}

/// A signal that waits for its wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeldSignal {
    /// The event that holds it. The event of its delivery names it as its source.
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) data: String,
}

impl HeldSignal {
    /// The signal that an event holds, if it holds one.
    pub(crate) fn of(event: &Event) -> Option<Self> {
        let EventKind::ExternalEvent { name, data } = &event.kind else { return None };
        if name != HELD_SIGNAL {
            return None;
        }
        let (name, data) = serde_json::from_str(data).ok()?;
        Some(Self { id: event.event_id, name, data })
    }

    /// The event that holds a signal.
    pub(crate) fn kind(name: &str, data: &str) -> EventKind {
        let data = serde_json::to_string(&(name, data)).unwrap_or_default();
        EventKind::ExternalEvent { name: HELD_SIGNAL.to_owned(), data }
    }
}

/// The executions that made the kept calls of a mended one, oldest first, each with the last event
/// that is kept of it. Empty for any other execution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Lineage(Vec<(u64, u64)>);

impl Lineage {
    /// The lineage by a whole history.
    pub(crate) fn of(events: &[Event]) -> Self {
        let mut lineage = Self::default();
        events.iter().for_each(|event| lineage.note(event));
        lineage
    }

    /// The last marker counts. That of a fork names no execution of its instance.
    pub(crate) fn note(&mut self, event: &Event) {
        if let Some(marker) = MendMarker::of(event)
            && marker.instance == event.instance_id
        {
            self.0 = marker.earlier;
            self.0.push((marker.execution_id, marker.kept));
        }
    }

    /// Whether a call of this execution is among the kept ones.
    pub(crate) fn covers(&self, execution_id: u64, call: u64) -> bool {
        self.0.iter().any(|(earlier, kept)| *earlier == execution_id && call <= *kept)
    }

    /// The execution that made a call; `current` if it is none of the earlier ones.
    pub(crate) fn origin(&self, current: u64, call: u64) -> u64 {
        let made = self.0.iter().find(|(_, kept)| call <= *kept);
        made.map_or(current, |(execution_id, _)| *execution_id)
    }

    /// The lineage of an execution that keeps the events up to `kept` of the current one.
    pub(crate) fn kept_until(&self, kept: u64) -> Vec<(u64, u64)> {
        self.0.iter().map(|(execution_id, last)| (*execution_id, (*last).min(kept))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(event_id: u64, kind: EventKind) -> Event {
        Event {
            event_id,
            source_event_id: None,
            instance_id: "i".to_owned(),
            execution_id: 3,
            timestamp_ms: 0,
            duroxide_version: String::new(),
            kind,
        }
    }

    #[test]
    fn markers_are_read_back() {
        let mut marker = MendMarker::new("i", 2, 9);
        marker.earlier = vec![(1, 4)];
        assert_eq!(MendMarker::of(&event(10, marker.to_kind())), Some(marker));
        let held = event(11, HeldSignal::kind("paid", "{\"a\":1}"));
        let signal = HeldSignal { id: 11, name: "paid".to_owned(), data: "{\"a\":1}".to_owned() };
        assert_eq!(HeldSignal::of(&held), Some(signal));
        assert_eq!(MendMarker::of(&held), None);
    }

    #[test]
    fn a_call_belongs_to_the_execution_that_made_it() {
        let mut marker = MendMarker::new("i", 2, 9);
        marker.earlier = vec![(1, 4)];
        let lineage = Lineage::of(&[event(10, marker.to_kind())]);
        assert_eq!([4, 5, 9, 10].map(|call| lineage.origin(3, call)), [1, 2, 2, 3]);
        assert!(lineage.covers(1, 4) && lineage.covers(2, 9) && lineage.covers(2, 2));
        assert!(!lineage.covers(1, 5) && !lineage.covers(3, 2) && !lineage.covers(2, 10));
        assert_eq!(lineage.kept_until(6), [(1, 4), (2, 6)]);
        let forked = event(10, MendMarker::new("other", 2, 9).to_kind());
        assert_eq!(Lineage::of(&[forked]), Lineage::default());
    }
}
