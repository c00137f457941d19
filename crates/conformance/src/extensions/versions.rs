//! Pins of executions: every range of a filter counts, and versions compare by semver.

use std::collections::BTreeMap;
use std::time::Duration;

use duroxide_core::providers::{
    DispatcherCapabilityFilter, ExecutionMetadata, SemverRange, UNPINNED_VERSION,
};
use semver::Version;

use super::code_filter::NAME;
use crate::ProviderFactory;
use crate::support::{End, Must, Store, commit, ended, named, signal, start_item, started};

fn version(text: &str) -> Version {
    Version::parse(text).expect("validations use valid versions")
}

/// A filter with one range for each pair.
fn filter(ranges: &[(&str, &str)]) -> DispatcherCapabilityFilter {
    let ranges = ranges.iter().map(|(min, max)| SemverRange::new(version(min), version(max)));
    DispatcherCapabilityFilter { supported_duroxide_versions: ranges.collect() }
}

/// A running pinned instance with a visible message.
async fn pinned<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, instance: &str, pin: &str) {
    pin_with(store, instance, named(), pin).await;
    store.send(signal(instance, "1")).await;
}

async fn pin_with<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    instance: &str,
    metadata: ExecutionMetadata,
    pin: &str,
) {
    store.send(start_item(instance)).await;
    let turn = store.turn_of(instance).await;
    let metadata = ExecutionMetadata { pinned_duroxide_version: Some(version(pin)), ..metadata };
    let mut start = started(instance, 1);
    start.duroxide_version = pin.to_owned();
    let first = commit(&turn, vec![start]).with_metadata(metadata);
    store.ack(first).await.must("a commit with a pin");
}

/// Whether a fetch with the filter returns the instance. The turn is abandoned at once.
async fn matches_filter<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    filter: &DispatcherCapabilityFilter,
) -> bool {
    let lease = store.lease();
    let fetched =
        store.provider.fetch_orchestration_item(lease, Duration::ZERO, Some(filter)).await;
    let Some((_, token, _)) = fetched.must("fetching with a filter") else { return false };
    let abandoned = store.provider.abandon_orchestration_item(&token, None, true).await;
    abandoned.must("abandoning a turn");
    true
}

/// An instance matches if any range of the filter contains its pin, whatever the order of the
/// ranges.
pub async fn every_range_of_a_filter_counts<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    pinned(&store, "a", "2.5.0").await;
    let (low, mid, high) = (("1.0.0", "1.9.9"), ("2.5.0", "2.5.0"), ("4.0.0", "5.0.0"));
    for ranges in [[low, mid, high], [mid, low, high], [high, low, mid]] {
        assert!(matches_filter(&store, &filter(&ranges)).await, "2.5.0 is in one of {ranges:?}");
    }
    assert!(!matches_filter(&store, &filter(&[low, high])).await, "2.5.0 lies between the ranges");
}

/// Components compare as numbers of any size.
pub async fn versions_compare_as_numbers<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    pinned(&store, "a", "1.10.4294967296").await;
    for (min, max, expected) in [
        ("1.9.0", "1.11.0", true),
        ("1.0.0", "1.9.0", false),
        ("1.2.0", "1.10.0", false),
        ("1.10.4294967295", "1.10.4294967296", true),
        ("1.10.4294967297", "1.11.0", false),
        ("0.0.0", "1.10.4294967295", false),
    ] {
        let found = matches_filter(&store, &filter(&[(min, max)])).await;
        assert_eq!(found, expected, "1.10.4294967296 in {min} to {max}");
    }
}

/// A pre-release comes before its release.
pub async fn pre_releases_compare_as_semver_says<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    pinned(&store, "a", "1.0.0-beta.2").await;
    for (min, max, expected) in [
        ("1.0.0", "2.0.0", false),
        ("0.9.0", "1.0.0", true),
        ("1.0.0-beta.10", "1.0.0", false),
        ("1.0.0-alpha", "1.0.0-beta.2", true),
        ("0.0.0", "1.0.0-beta.1", false),
    ] {
        let found = matches_filter(&store, &filter(&[(min, max)])).await;
        assert_eq!(found, expected, "1.0.0-beta.2 in {min} to {max}");
    }
}

/// The spread counts running instances by the pin of their current execution.
pub async fn the_version_spread_counts_running_instances<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let spread = store.admin().get_running_duroxide_version_spread().await;
    assert_eq!(spread.must("reading the version spread"), BTreeMap::new());
    pin_with(&store, "a", named(), "1.0.0").await;
    pin_with(&store, "b", named(), "2.0.0").await;
    pin_with(&store, "c", named(), "2.0.0").await;
    pin_with(&store, "d", ended("Completed", "done"), "2.0.0").await;
    pin_with(&store, "e", ended("Failed", "broken"), "3.0.0").await;
    // The oldest executions have no pin, and an upgrade needs their nodes, too.
    store.create("f").await;
    let spread = store.admin().get_running_duroxide_version_spread().await;
    let unpinned = (UNPINNED_VERSION.to_owned(), 1);
    let expected = [("1.0.0".to_owned(), 1), ("2.0.0".to_owned(), 2), unpinned];
    assert_eq!(spread.must("reading the version spread"), BTreeMap::from(expected));
}

/// The spread counts running instances by their orchestration and its version. One between two
/// executions runs; one whose start is queued does not yet.
pub async fn the_handler_spread_counts_running_instances<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let spread = || async {
        let spread = store.admin().get_running_handler_version_spread().await;
        spread.must("reading the spread of handlers")
    };
    assert_eq!(spread().await, BTreeMap::new());
    let code = |name: &str, version: &str, metadata: ExecutionMetadata| ExecutionMetadata {
        orchestration_name: Some(name.to_owned()),
        orchestration_version: Some(version.to_owned()),
        ..metadata
    };
    pin_with(&store, "a", code("Order", "1.0.0", named()), "1.0.0").await;
    pin_with(&store, "b", code("Order", "2.0.0", named()), "1.0.0").await;
    pin_with(&store, "c", code("Order", "2.0.0", named()), "2.0.0").await;
    pin_with(&store, "d", code("Ship", "1.0.0", named()), "1.0.0").await;
    pin_with(&store, "e", code("Ship", "1.0.0", ended("Completed", "done")), "1.0.0").await;
    pin_with(&store, "f", code("Done", "1.0.0", ended("Failed", "broken")), "1.0.0").await;
    store.create("chain").await;
    store.end_with("chain", End::ContinuedAsNew("next"), vec![]).await;
    store.send(start_item("new")).await;
    let of = |versions: &[(&str, u64)]| -> BTreeMap<String, u64> {
        versions.iter().map(|(version, count)| ((*version).to_owned(), *count)).collect()
    };
    let expected = [
        ("Order".to_owned(), of(&[("1.0.0", 1), ("2.0.0", 2)])),
        ("Ship".to_owned(), of(&[("1.0.0", 1)])),
        (NAME.to_owned(), of(&[("1.0.0", 1)])),
    ];
    assert_eq!(spread().await, BTreeMap::from(expected));
}
