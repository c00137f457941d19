//! A node on a store in memory.

use duroxide::prelude::*;
use duroxide::runtime::RuntimeBuilder;

/// Starts a node with what the builder has registered.
pub(crate) async fn node(builder: RuntimeBuilder) -> (Arc<Runtime>, Client) {
    let store = Arc::new(SqliteProvider::new_in_memory().await.unwrap());
    let runtime = builder.with_provider(store.clone()).build().await.unwrap();
    (runtime, Client::new(store))
}
