//! A fetch of turns returns only turns whose code the caller has.

use duroxide_core::providers::{
    DispatcherCapabilityFilter, ExecutionMetadata, FetchFilter, RegisteredOrchestrations,
    SemverRange, WorkItem,
};
use semver::Version;

use super::batches::{single, turn_fetch};
use crate::ProviderFactory;
use crate::support::{
    Must, Store, Turn, commit, continuation, ended, heard, named, queued, signal, start_item,
};

/// The orchestration of [`named`] and [`start_item`].
pub(super) const NAME: &str = "TestOrch";
const TURNS_MAX: usize = 8;

fn version(text: &str) -> Version {
    Version::parse(text).expect("validations name versions that are semver")
}

/// A node that has these orchestrations.
pub(super) fn node(registered: &[(&str, &str)]) -> FetchFilter {
    let registered = registered.iter().map(|(name, text)| (*name, version(text)));
    FetchFilter::everything().with_orchestrations(RegisteredOrchestrations::new(registered))
}

/// The range of one version.
pub(super) fn ranges(text: &str) -> DispatcherCapabilityFilter {
    let supported_duroxide_versions = vec![SemverRange::new(version(text), version(text))];
    DispatcherCapabilityFilter { supported_duroxide_versions }
}

/// The turns that a node can fetch now.
async fn turns<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, node: &FetchFilter) -> Vec<Turn> {
    let request = turn_fetch(TURNS_MAX, store.lease()).with_filter(node);
    let turns = store.provider.fetch_orchestration_items(request).await;
    turns.must("fetching turns with a filter").into_iter().map(single).collect()
}

#[track_caller]
fn assert_none(turns: &[Turn], why: &str) {
    let instances: Vec<_> = turns.iter().map(|turn| &turn.item.instance).collect();
    assert!(turns.is_empty(), "{why}: {instances:?}");
}

/// The only turn that a node can fetch now.
async fn turn<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    node: &FetchFilter,
    instance: &str,
) -> Turn {
    let mut turns = turns(store, node).await;
    let instances: Vec<_> = turns.iter().map(|turn| turn.item.instance.clone()).collect();
    assert_eq!(instances, [instance], "the node has the code of one instance");
    turns.remove(0)
}

/// A start that requests a version, or none.
pub(super) fn start_of(instance: &str, name: &str, wanted: Option<&str>) -> WorkItem {
    let mut start = start_item(instance);
    if let WorkItem::StartOrchestration { orchestration, version, .. } = &mut start {
        *orchestration = name.to_owned();
        *version = wanted.map(str::to_owned);
    }
    start
}

fn continuation_at(instance: &str, wanted: &str) -> WorkItem {
    let mut next = continuation(instance, "{}");
    if let WorkItem::ContinueAsNew { version, .. } = &mut next {
        *version = Some(wanted.to_owned());
    }
    next
}

fn named_version(text: &str) -> ExecutionMetadata {
    ExecutionMetadata { orchestration_version: Some(text.to_owned()), ..named() }
}

/// A start goes to nodes with exactly the version that it requests, or with any version of the name
/// if it requests none. A node without it neither leases it nor counts an attempt.
pub async fn a_start_goes_to_a_node_with_its_code<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_of("exact", NAME, Some("2.0.0"))).await;
    store.send(start_of("any", NAME, None)).await;
    store.send(start_of("other", "Other", Some("2.0.0"))).await;
    for _ in 0..3 {
        let strange = node(&[("TestOrc", "2.0.0"), ("TestOrch2", "2.0.0")]);
        assert_none(&turns(&store, &strange).await, "other names");
        assert_none(&turns(&store, &node(&[])).await, "no code at all");
    }
    turn(&store, &node(&[(NAME, "1.0.0"), (NAME, "3.0.0")]), "any").await;
    let found = turn(&store, &node(&[(NAME, "1.0.0"), (NAME, "2.0.0")]), "exact").await;
    assert_eq!(found.attempt, 1, "to pass over a turn is no attempt");
    store.turn_of("other").await;
}

/// A start with a version that no node can have is not left waiting for ever.
pub async fn a_start_of_an_impossible_version_goes_to_any_node<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.send(start_of("odd", NAME, Some("latest"))).await;
    turn(&store, &node(&[("Other", "1.0.0")]), "odd").await;
}

/// A turn goes to nodes with the code of its execution, also after another node lost it.
pub async fn a_turn_goes_to_a_node_with_the_code_of_its_execution<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.send(signal("a", "1")).await;
    let newer = node(&[(NAME, "2.0.0"), ("Other", "1.0.0")]);
    assert_none(&turns(&store, &newer).await, "another version");
    let fitting = node(&[(NAME, "1.0.0")]);
    turn(&store, &fitting, "a").await;
    store.expire().await;
    assert_none(&turns(&store, &newer).await, "another version, after a lease");
    let found = turn(&store, &fitting, "a").await;
    assert_eq!(found.attempt, 2);
    let abandoned = store.provider.abandon_orchestration_item(&found.token, None, true).await;
    abandoned.must("abandoning a turn");
    assert_none(&turns(&store, &newer).await, "another version, after a release");
    turn(&store, &fitting, "a").await;
}

/// Messages before a start go where the start goes.
pub async fn messages_before_a_start_go_to_a_node_with_its_code<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.send(queued("a", "early")).await;
    store.send(start_item("a")).await;
    assert_none(&turns(&store, &node(&[("Other", "1.0.0")])).await, "the start of other code");
    let found = turn(&store, &node(&[(NAME, "1.0.0")]), "a").await;
    assert_eq!(found.item.messages, vec![queued("a", "early"), start_item("a")]);
}

/// A continuation may request another version than the execution before it. What waits for the
/// instance goes with it.
pub async fn a_continuation_goes_to_a_node_with_its_code<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let (older, newer) = (node(&[(NAME, "1.0.0")]), node(&[(NAME, "2.0.0")]));
    store.create("a").await;
    let last = store.woken("a").await;
    store.send(signal("a", "while it ends")).await;
    let ending = commit(&last, vec![heard("a", 1, 2)])
        .with_metadata(ended("ContinuedAsNew", "next"))
        .with_messages("a", vec![continuation_at("a", "2.0.0")]);
    store.ack(ending).await.must("a commit that continues as new");
    store.send(signal("a", "in between")).await;
    assert_none(&turns(&store, &older).await, "the continuation requests another version");
    let first = turn(&store, &newer, "a").await;
    assert_eq!(first.item.messages.len(), 3, "the continuation and two signals");
    store.begin_next(&first, named_version("2.0.0")).await;
    store.send(signal("a", "afterwards")).await;
    assert_none(&turns(&store, &older).await, "the next execution runs another version");
    turn(&store, &newer, "a").await;
}

/// The messages of an instance that has ended are only removed, which every node can do.
pub async fn an_ended_instance_needs_no_code<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    let last = store.woken("a").await;
    store.send(signal("a", "while it ends")).await;
    let ending = commit(&last, vec![heard("a", 1, 2)]).with_metadata(ended("Completed", "done"));
    store.ack(ending).await.must("the last commit");
    let stranger = node(&[("Other", "1.0.0")]);
    let found = turn(&store, &stranger, "a").await;
    store.ack(commit(&found, vec![])).await.must("removing a late message");
    store.send(signal("a", "late")).await;
    turn(&store, &stranger, "a").await;
}

/// Nor does it need a node that can replay it.
pub async fn an_ended_instance_needs_no_replay<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create_pinned("a", "9.9.0").await;
    let last = store.woken("a").await;
    store.send(signal("a", "while it ends")).await;
    let one = version("1.0.0");
    let old_engine = FetchFilter::everything().with_replays(DispatcherCapabilityFilter {
        supported_duroxide_versions: vec![SemverRange::new(one.clone(), one)],
    });
    let ending = commit(&last, vec![heard("a", 1, 2)]).with_metadata(ended("Failed", "why"));
    store.ack(ending).await.must("the last commit");
    let found = turn(&store, &old_engine, "a").await;
    store.ack(commit(&found, vec![])).await.must("removing a late message");
    store.send(signal("a", "late")).await;
    turn(&store, &old_engine, "a").await;
}

/// A node needs both the code and a range that contains the pin.
pub async fn code_and_pins_are_both_required<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create_pinned("a", "2.0.0").await;
    store.send(signal("a", "1")).await;
    let with_code = node(&[(NAME, "1.0.0")]);
    let old_engine = with_code.clone().with_replays(ranges("1.0.0"));
    assert_none(&turns(&store, &old_engine).await, "the code, but not the range");
    let other_code = node(&[("Other", "1.0.0")]).with_replays(ranges("2.0.0"));
    assert_none(&turns(&store, &other_code).await, "the range, but not the code");
    turn(&store, &with_code.with_replays(ranges("2.0.0")), "a").await;
}
