//! How an execution gets and keeps its pin.

use duroxide_core::providers::ExecutionMetadata;

use super::nodes::{gets, pinned_and_ready};
use crate::ProviderFactory;
use crate::support::{End, Must, Store, commit, named, pinned, signal};

const ONE: &[(&str, &str)] = &[("1.0.0", "1.0.0")];
const TWO: &[(&str, &str)] = &[("2.0.0", "2.0.0")];

/// Commits one turn that stores only metadata.
async fn commit_metadata<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    metadata: ExecutionMetadata,
) {
    let turn = store.woken("pinned").await;
    let update = commit(&turn, vec![]).with_metadata(metadata);
    store.ack(update).await.must("a commit without events");
    store.send(signal("pinned", "next")).await;
}

/// The pin in the commit's metadata becomes the pin of the execution.
pub async fn test_pinned_version_stored_via_ack_metadata<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = pinned_and_ready(factory, "1.0.0").await;
    assert!(gets(&store, "pinned", ONE).await);
    assert!(!gets(&store, "pinned", TWO).await);
}

/// A commit without a pin keeps the stored one.
pub async fn test_pinned_version_immutable_across_ack_cycles<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = pinned_and_ready(factory, "1.0.0").await;
    for _ in 0..3 {
        commit_metadata(&store, named()).await;
        assert!(gets(&store, "pinned", ONE).await);
        assert!(!gets(&store, "pinned", TWO).await);
    }
    commit_metadata(&store, ExecutionMetadata::default()).await;
    assert!(!gets(&store, "pinned", TWO).await);
}

/// Each execution has its own pin, and the filter applies to the current one.
pub async fn test_continue_as_new_execution_gets_own_pinned_version<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = pinned_and_ready(factory, "1.0.0").await;
    store.end_with("pinned", End::ContinuedAsNew("next"), vec![]).await;
    assert!(!gets(&store, "pinned", TWO).await, "until the next execution starts");
    let turn = store.turn_of("pinned").await;
    store.begin_next(&turn, pinned("2.0.0")).await;
    store.send(signal("pinned", "next")).await;
    assert!(gets(&store, "pinned", TWO).await);
    assert!(!gets(&store, "pinned", ONE).await, "the first execution is finished");
}

/// An execution without a pin matches every node, whatever the pin of the previous execution.
pub async fn test_continue_as_new_execution_inherits_no_pin<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = pinned_and_ready(factory, "1.0.0").await;
    store.continue_as_new("pinned").await;
    store.send(signal("pinned", "next")).await;
    assert!(gets(&store, "pinned", ONE).await);
    assert!(gets(&store, "pinned", TWO).await);
}

/// A later commit can pin an execution that started without a pin.
pub async fn test_ack_stores_pinned_version_via_metadata_update<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.create("pinned").await;
    commit_metadata(&store, pinned("2.0.0")).await;
    assert!(gets(&store, "pinned", TWO).await);
    assert!(!gets(&store, "pinned", ONE).await);
}

/// The provider stores the pin of the commit, also over an earlier one.
pub async fn test_provider_updates_pinned_version_when_told<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = pinned_and_ready(factory, "1.0.0").await;
    commit_metadata(&store, pinned("2.0.0")).await;
    assert!(gets(&store, "pinned", TWO).await);
    assert!(!gets(&store, "pinned", ONE).await);
}
