//! The first commit creates an instance.

use duroxide_core::providers::{ExecutionMetadata, WorkItem};

use crate::ProviderFactory;
use crate::support::{
    Must, Store, Turn, child_start_item, commit, named, signal, start_item, started,
};

const RESOLVED: &str = "7.8.9";

fn resolved() -> ExecutionMetadata {
    ExecutionMetadata { orchestration_version: Some(RESOLVED.to_owned()), ..named() }
}

#[track_caller]
fn assert_never_committed(turn: &Turn) {
    assert_eq!(turn.item.execution_id, 1, "a new instance starts with execution 1");
    assert_eq!(turn.item.history, vec![], "a new instance has no history");
    assert_eq!(turn.item.history_error, None);
    assert!(turn.item.kv_snapshot.is_empty(), "a new instance has no values");
}

/// Commits the first turn and fetches the next one.
async fn refetch<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, turn: &Turn) -> Turn {
    let instance = turn.item.instance.as_str();
    let events = vec![started(instance, 1)];
    let metadata = resolved();
    store.ack(commit(turn, events.clone()).with_metadata(metadata)).await.must("first commit");
    store.send(signal(instance, "next")).await;
    let next = store.turn_of(instance).await;
    assert_eq!(next.item.history, events, "the commit's events are the history");
    assert_eq!(next.item.messages, vec![signal(instance, "next")]);
    next
}

/// The first fetch reports the name and version of the start message; the first commit sets them.
pub async fn test_instance_creation_via_metadata<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("new")).await;
    let turn = store.turn_of("new").await;
    assert_never_committed(&turn);
    assert_eq!(turn.item.orchestration_name, "TestOrch");
    assert_eq!(
        turn.item.version, "1.0.0",
        "before the first commit the version comes from the message"
    );
    assert_eq!(turn.item.messages, vec![start_item("new")]);

    let next = refetch(&store, &turn).await;
    assert_eq!(next.item.orchestration_name, "TestOrch");
    assert_eq!(next.item.execution_id, 1);
    assert_eq!(
        next.item.version, RESOLVED,
        "the version comes from the commit, not from the message"
    );
}

/// An enqueued start is fetchable, but creates no instance.
pub async fn test_no_instance_creation_on_enqueue<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("new")).await;
    assert_not_created(&store, "new").await;
    let turn = store.turn_of("new").await;
    assert_eq!(turn.item.orchestration_name, "TestOrch");
    assert_never_committed(&turn);
    assert_not_created(&store, "new").await;
}

/// No part of the store knows the instance.
async fn assert_not_created<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, instance: &str) {
    assert_eq!(store.history(instance).await, vec![]);
    let stats = store.provider.get_instance_stats(instance).await.must("reading stats");
    assert_eq!(stats, None, "an instance that was never committed has no stats");
    if let Some(admin) = store.provider.as_management_capability() {
        let listed = admin.list_instances().await.must("listing instances");
        assert!(!listed.iter().any(|id| id == instance), "'{instance}' exists before its commit");
        admin.get_instance_info(instance).await.must_fail("info of an unknown instance");
    }
}

/// A start without a version is fetchable; later fetches return the version of the commit.
pub async fn test_null_version_handling<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let mut start = start_item("open");
    if let WorkItem::StartOrchestration { version, .. } = &mut start {
        *version = None;
    }
    store.send(start.clone()).await;
    let turn = store.turn_of("open").await;
    assert_never_committed(&turn);
    assert_eq!(turn.item.version, "unknown", "no version is set yet");
    assert_eq!(turn.item.messages, vec![start]);
    assert_eq!(refetch(&store, &turn).await.item.version, RESOLVED);
}

/// A child started by its parent's commit becomes an instance with its own first commit.
pub async fn test_sub_orchestration_instance_creation<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("parent")).await;
    let parent = store.turn_of("parent").await;
    let child_start = child_start_item("child", "parent");
    let started_child = commit(&parent, vec![started("parent", 1)])
        .with_messages(&parent.item.instance, vec![child_start.clone()]);
    store.ack(started_child).await.must("a commit that starts a child");
    assert_not_created(&store, "child").await;

    let child = store.turn_of("child").await;
    assert_never_committed(&child);
    assert_eq!(child.item.messages, vec![child_start]);
    assert_eq!(refetch(&store, &child).await.item.version, RESOLVED);
    assert_eq!(store.history("parent").await.len(), 1, "the parent keeps its own history");
}

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __instance_creation {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context instance_creation
            test_instance_creation_via_metadata;
            test_no_instance_creation_on_enqueue;
            test_null_version_handling;
            test_sub_orchestration_instance_creation;
        }
    };
}
