//! What the gauges of a node show of the store.

use std::time::Duration;

use duroxide_core::providers::{Provider, ProviderAdmin};

use crate::support::*;

#[tokio::test]
async fn ready_delayed_and_parked_messages_are_counted_apart() {
    let store = Store::new().await;
    let provider = &*store.provider;
    create(provider, "a").await;
    provider.enqueue_for_orchestrator(queued("unknown", "x"), None).await.unwrap();
    assert!(try_turn(provider).await.is_none());
    let later = Some(Duration::from_secs(60));
    provider.enqueue_for_orchestrator(signal("a", "x"), later).await.unwrap();
    for data in ["y", "z"] {
        provider.enqueue_for_orchestrator(signal("a", data), None).await.unwrap();
    }
    provider.enqueue_for_worker(activity("a", 1)).await.unwrap();
    let gauges = provider.read_gauges().await.unwrap();
    assert_eq!((gauges.running_instances, gauges.activities), (1, 1));
    let messages = (gauges.ready_messages, gauges.delayed_messages, gauges.parked_messages);
    assert_eq!(messages, (2, 1, 1));
}

/// They counted all events before the first turn, and once a minute on every node.
#[tokio::test]
async fn gauges_read_no_history() {
    let store = Store::new().await;
    let provider = &*store.provider;
    create(provider, "a").await;
    store.sql().execute("ALTER TABLE history RENAME TO hidden", []).unwrap();
    assert!(provider.read("a").await.is_err(), "no other table has the events");
    assert_eq!(provider.read_gauges().await.unwrap().running_instances, 1);
}
