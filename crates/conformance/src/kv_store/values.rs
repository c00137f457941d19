//! Writing and reading values.

use std::collections::BTreeMap;

use duroxide_core::EventKind;

use crate::ProviderFactory;
use crate::support::{Must, Store};

/// The default time at which values are set.
pub(super) const SET_AT_MS: u64 = 1_234_567;

pub(super) fn set(key: &str, value: &str) -> EventKind {
    set_at(key, value, SET_AT_MS)
}

pub(super) fn set_at(key: &str, value: &str, last_updated_at_ms: u64) -> EventKind {
    EventKind::KeyValueSet { key: key.to_owned(), value: value.to_owned(), last_updated_at_ms }
}

pub(super) fn clear(key: &str) -> EventKind {
    EventKind::KeyValueCleared { key: key.to_owned() }
}

pub(super) fn clear_all() -> EventKind {
    EventKind::KeyValuesCleared
}

/// The live value of a key.
pub(super) async fn get<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    instance: &str,
    key: &str,
) -> Option<String> {
    store.provider.get_kv_value(instance, key).await.must("reading a value")
}

/// Expected pairs.
pub(super) fn pairs(expected: &[(&str, &str)]) -> BTreeMap<String, String> {
    expected.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// The live values are exactly these, read one by one or all together.
pub(super) async fn assert_live<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    instance: &str,
    expected: &[(&str, &str)],
) {
    let all = store.provider.get_kv_all_values(instance).await.must("reading all values");
    let all: BTreeMap<_, _> = all.into_iter().collect();
    assert_eq!(all, pairs(expected), "live values of '{instance}'");
    for (key, value) in expected {
        let one = get(store, instance, key).await;
        assert_eq!(one.as_deref(), Some(*value), "live value of '{key}'");
    }
}

/// The snapshot of the next turn contains exactly these values. The turn is abandoned afterwards.
pub(super) async fn assert_snapshot<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    instance: &str,
    expected: &[(&str, &str)],
) {
    let turn = store.woken(instance).await;
    let snapshot = turn.item.kv_snapshot.into_iter().map(|(key, entry)| (key, entry.value));
    let snapshot: BTreeMap<_, _> = snapshot.collect();
    assert_eq!(snapshot, pairs(expected), "snapshot of a turn of '{instance}'");
    let abandoned = store.provider.abandon_orchestration_item(&turn.token, None, true).await;
    abandoned.must("abandoning a turn");
}
