//! Nodes that can replay some versions.

use std::time::Duration;

use duroxide_core::providers::{DispatcherCapabilityFilter, SemverRange};
use semver::Version;

use crate::ProviderFactory;
use crate::support::{Must, Store, Turn, signal};

fn version(text: &str) -> Version {
    Version::parse(text).expect("validations name versions that are semver")
}

/// The filter of a node that replays these inclusive ranges.
pub(super) fn replays(ranges: &[(&str, &str)]) -> DispatcherCapabilityFilter {
    let ranges = ranges.iter().map(|(min, max)| SemverRange::new(version(min), version(max)));
    DispatcherCapabilityFilter { supported_duroxide_versions: ranges.collect() }
}

/// The turn that such a node can fetch now.
pub(super) async fn fetch<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    filter: &DispatcherCapabilityFilter,
) -> Option<Turn> {
    let fetched =
        store.provider.fetch_orchestration_item(store.lease(), Duration::ZERO, Some(filter)).await;
    let (item, token, attempt) = fetched.must("fetching a turn with a filter")?;
    Some(Turn { item, token, attempt })
}

/// Whether such a node can fetch the instance now, which is the only one with messages. The turn is
/// abandoned as if it had not been fetched.
pub(super) async fn gets<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    instance: &str,
    ranges: &[(&str, &str)],
) -> bool {
    let Some(turn) = fetch(store, &replays(ranges)).await else { return false };
    assert_eq!(turn.item.instance, instance, "the turn belongs to another instance");
    let abandoned = store.provider.abandon_orchestration_item(&turn.token, None, true).await;
    abandoned.must("abandoning a turn");
    true
}

/// A store with one instance that is pinned and has a message.
pub(super) async fn pinned_and_ready<'f, F: ProviderFactory + ?Sized>(
    factory: &'f F,
    pin: &str,
) -> Store<'f, F> {
    let store = Store::open(factory).await;
    store.create_pinned("pinned", pin).await;
    store.send(signal("pinned", "next")).await;
    store
}

/// The sorted pins of the instances that a node with these ranges can fetch. Each instance is named
/// by its pin.
pub(super) async fn compatible_pins<F: ProviderFactory + ?Sized>(
    factory: &F,
    pins: &[&str],
    ranges: &[(&str, &str)],
) -> Vec<String> {
    let store = Store::open(factory).await;
    for pin in pins {
        store.create_pinned(pin, pin).await;
    }
    for pin in pins {
        store.send(signal(pin, "next")).await;
    }
    let filter = replays(ranges);
    let mut found = Vec::new();
    while let Some(turn) = fetch(&store, &filter).await {
        found.push(turn.item.instance);
    }
    found.sort();
    found
}
