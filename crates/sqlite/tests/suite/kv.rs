//! Key-value state of the running execution and of finished ones.

use duroxide_core::providers::{Provider, ProviderAdmin};
use duroxide_core::{Event, EventKind};

use crate::support::*;

fn set(id: u64, key: &str, value: &str) -> Event {
    let (key, value) = (key.to_owned(), value.to_owned());
    event("a", 1, id, EventKind::KeyValueSet { key, value, last_updated_at_ms: 7 })
}

fn clear(id: u64, key: &str) -> Event {
    event("a", 1, id, EventKind::KeyValueCleared { key: key.to_owned() })
}

/// Completes execution 1 and starts execution 2.
async fn next_execution(provider: &dyn Provider, last_events: Vec<Event>) {
    provider.enqueue_for_orchestrator(signal("a", "end"), None).await.unwrap();
    let held = turn(provider).await;
    let end = commit(&held.lock_token, last_events).with_metadata(ended("ContinuedAsNew"));
    provider.store_turn(end).await.unwrap();
    provider.enqueue_for_orchestrator(signal("a", "begin"), None).await.unwrap();
    let held = turn(provider).await;
    let begin = commit(&held.lock_token, vec![started("a", 2)]).with_execution_id(2);
    provider.store_turn(begin).await.unwrap();
}

async fn snapshot(provider: &dyn Provider) -> Vec<(String, String, u64)> {
    provider.enqueue_for_orchestrator(signal("a", "look"), None).await.unwrap();
    let held = turn(provider).await;
    provider.abandon_orchestration_item(&held.lock_token, None, true).await.unwrap();
    let mut entries: Vec<_> = held
        .item
        .kv_snapshot
        .into_iter()
        .map(|(key, entry)| (key, entry.value, entry.last_updated_at_ms))
        .collect();
    entries.sort();
    entries
}

#[tokio::test]
async fn clients_see_writes_of_the_running_execution_and_turns_do_not() {
    let store = Store::new().await;
    let provider = &*store.provider;
    create(provider, "a").await;
    step(provider, "a", vec![set(2, "k", "v"), set(3, "empty", "")]).await;
    assert_eq!(provider.get_kv_value("a", "k").await.unwrap().as_deref(), Some("v"));
    assert_eq!(provider.get_kv_value("a", "empty").await.unwrap().as_deref(), Some(""));
    assert_eq!(provider.get_kv_value("a", "none").await.unwrap(), None);
    assert_eq!(provider.get_kv_value("unknown", "k").await.unwrap(), None);
    assert_eq!(provider.get_kv_all_values("a").await.unwrap().len(), 2);
    assert!(snapshot(provider).await.is_empty());
}

#[tokio::test]
async fn the_end_of_an_execution_merges_its_writes() {
    let store = Store::new().await;
    let provider = &*store.provider;
    create(provider, "a").await;
    step(provider, "a", vec![set(2, "kept", "1"), set(3, "gone", "1")]).await;
    next_execution(provider, vec![clear(4, "gone")]).await;
    assert_eq!(snapshot(provider).await, [("kept".to_owned(), "1".to_owned(), 7)]);
    assert_eq!(store.count("SELECT count(*) FROM kv_delta"), 0);
}

#[tokio::test]
async fn removals_of_the_running_execution_hide_what_earlier_ones_left() {
    let store = Store::new().await;
    let provider = &*store.provider;
    create(provider, "a").await;
    next_execution(provider, vec![set(2, "old", "1"), set(3, "older", "1")]).await;
    let all = event("a", 2, 2, EventKind::KeyValuesCleared);
    let again = Event { execution_id: 2, ..set(3, "old", "2") };
    provider.enqueue_for_orchestrator(signal("a", "x"), None).await.unwrap();
    let held = turn(provider).await;
    let changed = commit(&held.lock_token, vec![all, again]).with_execution_id(2);
    provider.store_turn(changed).await.unwrap();
    assert_eq!(provider.get_kv_value("a", "older").await.unwrap(), None);
    assert_eq!(provider.get_kv_value("a", "old").await.unwrap().as_deref(), Some("2"));
    let stats = provider.get_instance_stats("a").await.unwrap().unwrap();
    assert_eq!((stats.kv_user_key_count, stats.kv_total_value_bytes), (1, 1));
    assert_eq!(snapshot(provider).await.len(), 2, "turns begin with finished executions only");
}

#[tokio::test]
async fn deleting_an_instance_deletes_its_values() {
    let store = Store::new().await;
    let provider = &*store.provider;
    create(provider, "a").await;
    next_execution(provider, vec![set(2, "k", "v")]).await;
    provider.delete_instance("a", true).await.unwrap();
    assert_eq!(provider.get_kv_value("a", "k").await.unwrap(), None);
    assert!(provider.get_instance_stats("a").await.unwrap().is_none());
}
