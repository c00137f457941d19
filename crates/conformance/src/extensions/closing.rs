//! The end of a provider.

use crate::ProviderFactory;
use crate::support::{Must, Store, start_item};

/// A store can be checkpointed at any time, and is used afterwards as before.
pub async fn a_checkpoint_changes_nothing<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.provider.checkpoint().await.must("a checkpoint of an empty store");
    store.send(start_item("a")).await;
    store.provider.checkpoint().await.must("a checkpoint");
    let turn = store.turn_of("a").await;
    assert_eq!(turn.item.messages.len(), 1, "messages survive a checkpoint");
}

/// A provider can be closed again, and by several callers at once.
pub async fn a_provider_may_be_closed_again<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let (first, second) = tokio::join!(store.provider.close(), store.provider.close());
    first.must("closing");
    second.must("closing at the same time");
    store.provider.close().await.must("closing again");
}
