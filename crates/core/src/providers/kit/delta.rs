//! What the events of a commit change besides the history.

use std::collections::BTreeSet;

use crate::model::{Event, EventKind, ExecutionStatus};
use crate::providers::ExecutionMetadata;

/// One change of the key-value state of an instance, with texts of type `T`.
///
/// A provider keeps two layers: what finished executions left, and what the running one wrote over
/// it. A change goes to the upper layer, where a cleared key hides the one below. The end of an
/// execution merges the upper layer into the lower one. A turn starts from the lower layer alone,
/// because replay repeats the writes of the running execution; clients read both.
///
/// The list of variants is complete: a provider that skips a change would store wrong values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KvChange<T> {
    /// Sets a key.
    Set {
        /// The key.
        key: T,
        /// Its new value.
        value: T,
        /// When the orchestration set it.
        updated_at_ms: u64,
    },
    /// Clears a key.
    Clear {
        /// The key.
        key: T,
    },
    /// Clears every key of both layers.
    ClearAll,
}

/// The changes that events make to the key-value state, in their order: a set after a clear stays.
/// `stored` turns a text into its stored form, such as `str::to_owned`.
pub fn kv_changes<'a, T>(
    events: &'a [Event],
    stored: impl Fn(&'a str) -> T,
) -> impl Iterator<Item = KvChange<T>> {
    events.iter().filter_map(move |event| {
        if let EventKind::KeyValueSet { key, value, last_updated_at_ms } = &event.kind {
            let updated_at_ms = *last_updated_at_ms;
            return Some(KvChange::Set { key: stored(key), value: stored(value), updated_at_ms });
        }
        if let EventKind::KeyValueCleared { key } = &event.kind {
            return Some(KvChange::Clear { key: stored(key) });
        }
        matches!(event.kind, EventKind::KeyValuesCleared).then_some(KvChange::ClearAll)
    })
}

/// Those of [`kv_changes`] that others of the same events do not undo: the last one of each key,
/// and nothing before the last [`ClearAll`](KvChange::ClearAll). Code may set a key often
/// in one turn.
pub fn last_kv_changes<'a, T>(
    events: &'a [Event],
    stored: impl Fn(&'a str) -> T,
) -> Vec<KvChange<T>> {
    let mut seen = BTreeSet::new();
    let mut changes = Vec::new();
    for event in events.iter().rev() {
        if let EventKind::KeyValueSet { key, value, last_updated_at_ms } = &event.kind {
            if seen.insert(key.as_str()) {
                let (key, value) = (stored(key), stored(value));
                let updated_at_ms = *last_updated_at_ms;
                changes.push(KvChange::Set { key, value, updated_at_ms });
            }
        } else if let EventKind::KeyValueCleared { key } = &event.kind {
            if seen.insert(key.as_str()) {
                changes.push(KvChange::Clear { key: stored(key) });
            }
        } else if matches!(event.kind, EventKind::KeyValuesCleared) {
            changes.push(KvChange::ClearAll);
            break;
        }
    }
    changes.reverse();
    changes
}

/// The custom status after these events, if they change it: `Some(None)` clears it. Its version
/// rises by one for the commit, however often the events set it.
pub fn last_custom_status(events: &[Event]) -> Option<Option<&str>> {
    events.iter().rev().find_map(|event| {
        let EventKind::CustomStatusUpdated { status } = &event.kind else { return None };
        Some(status.as_deref())
    })
}

/// Whether a commit ends its execution, so that its key-value writes become permanent.
pub fn ends_execution(metadata: &ExecutionMetadata) -> bool {
    let status = metadata.status.as_deref().and_then(ExecutionStatus::parse);
    status.is_some_and(ExecutionStatus::is_terminal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: EventKind) -> Event {
        Event::with_event_id(1, "i", 1, None, kind)
    }

    #[test]
    fn changes_keep_the_order_of_their_events() {
        let set = |value: &str| EventKind::KeyValueSet {
            key: "k".to_owned(),
            value: value.to_owned(),
            last_updated_at_ms: 5,
        };
        let events = [set("a"), EventKind::KeyValuesCleared, set("b")].map(event);
        let changes: Vec<_> = kv_changes(&events, |text| text).collect();
        let set = |value| KvChange::Set { key: "k", value, updated_at_ms: 5 };
        assert_eq!(changes, [set("a"), KvChange::ClearAll, set("b")]);
    }

    /// Every change of a key was written: on PostgreSQL a turn that set one key 500,000 times had
    /// not ended after five minutes.
    #[test]
    fn only_the_last_change_of_each_key_counts() {
        let set = |key: &str, value: &str| EventKind::KeyValueSet {
            key: key.to_owned(),
            value: value.to_owned(),
            last_updated_at_ms: 5,
        };
        let cleared = |key: &str| EventKind::KeyValueCleared { key: key.to_owned() };
        let last = |kinds: Vec<EventKind>| {
            let events: Vec<Event> = kinds.into_iter().map(event).collect();
            last_kv_changes(&events, str::to_owned)
        };
        let kept = |key: &str, value: &str| KvChange::Set {
            key: key.to_owned(),
            value: value.to_owned(),
            updated_at_ms: 5,
        };
        let clear = |key: &str| KvChange::Clear { key: key.to_owned() };
        assert_eq!(last(vec![]), []);
        let many = vec![set("a", "1"), set("b", "1"), set("a", "2"), cleared("b"), set("a", "3")];
        assert_eq!(last(many), [clear("b"), kept("a", "3")]);
        assert_eq!(last(vec![cleared("a"), set("a", "1")]), [kept("a", "1")]);
        let all = vec![set("a", "1"), EventKind::KeyValuesCleared, set("b", "1"), set("b", "2")];
        assert_eq!(last(all), [KvChange::ClearAll, kept("b", "2")]);
    }

    #[test]
    fn the_last_custom_status_counts() {
        let status = |status: Option<&str>| {
            event(EventKind::CustomStatusUpdated { status: status.map(str::to_owned) })
        };
        assert_eq!(last_custom_status(&[]), None);
        assert_eq!(last_custom_status(&[status(Some("a")), status(Some("b"))]), Some(Some("b")));
        assert_eq!(last_custom_status(&[status(Some("a")), status(None)]), Some(None));
    }
}
