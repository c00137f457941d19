//! How an execution gets its pin, and keeps it.

use duroxide_core::providers::{ExecutionMetadata, TurnCommit};

use super::nodes::{gets, pinned_and_ready};
use crate::ProviderFactory;
use crate::support::{End, Must, Store, commit, named, pinned, signal};

const ONE: &[(&str, &str)] = &[("1.0.0", "1.0.0")];
const TWO: &[(&str, &str)] = &[("2.0.0", "2.0.0")];

/// One turn that adds nothing but what the metadata says.
async fn tell<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, metadata: ExecutionMetadata) {
    let turn = store.woken("pinned").await;
    let told = TurnCommit { metadata, ..commit(&turn, vec![]) };
    store.ack(told).await.must("a commit without events");
    store.send(signal("pinned", "next")).await;
}

/// The pin of the commit's metadata is the pin of the execution.
pub async fn test_pinned_version_stored_via_ack_metadata<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = pinned_and_ready(factory, "1.0.0").await;
    assert!(gets(&store, "pinned", ONE).await);
    assert!(!gets(&store, "pinned", TWO).await);
}

/// A commit that says nothing about the pin keeps it.
pub async fn test_pinned_version_immutable_across_ack_cycles<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = pinned_and_ready(factory, "1.0.0").await;
    for _ in 0..3 {
        tell(&store, named()).await;
        assert!(gets(&store, "pinned", ONE).await);
        assert!(!gets(&store, "pinned", TWO).await);
    }
    tell(&store, ExecutionMetadata::default()).await;
    assert!(!gets(&store, "pinned", TWO).await);
}

/// Each execution has its own pin, and the current one decides.
pub async fn test_continue_as_new_execution_gets_own_pinned_version<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = pinned_and_ready(factory, "1.0.0").await;
    store.end_with("pinned", End::ContinuedAsNew("next"), vec![]).await;
    assert!(!gets(&store, "pinned", TWO).await, "until the next one begins");
    let turn = store.turn_of("pinned").await;
    store.begin_next(&turn, pinned("2.0.0")).await;
    store.send(signal("pinned", "next")).await;
    assert!(gets(&store, "pinned", TWO).await);
    assert!(!gets(&store, "pinned", ONE).await, "the first execution is over");
}

/// An execution that was not pinned fits every node, whatever the one before was pinned to.
pub async fn test_continue_as_new_execution_inherits_no_pin<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = pinned_and_ready(factory, "1.0.0").await;
    store.continue_as_new("pinned").await;
    store.send(signal("pinned", "next")).await;
    assert!(gets(&store, "pinned", ONE).await);
    assert!(gets(&store, "pinned", TWO).await);
}

/// An execution that began without a pin can be given one.
pub async fn test_ack_stores_pinned_version_via_metadata_update<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.create("pinned").await;
    tell(&store, pinned("2.0.0")).await;
    assert!(gets(&store, "pinned", TWO).await);
    assert!(!gets(&store, "pinned", ONE).await);
}

/// The provider stores what it is told, also over what was there.
pub async fn test_provider_updates_pinned_version_when_told<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = pinned_and_ready(factory, "1.0.0").await;
    tell(&store, pinned("2.0.0")).await;
    assert!(gets(&store, "pinned", TWO).await);
    assert!(!gets(&store, "pinned", ONE).await);
}
