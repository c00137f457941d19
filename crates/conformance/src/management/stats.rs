//! The size of one instance.

use duroxide_core::{EventKind, SystemStats};

use crate::ProviderFactory;
use crate::support::{Must, Store, commit, next_events, start_item, started};

async fn stats<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, instance: &str) -> SystemStats {
    let stats = store.provider.get_instance_stats(instance).await.must("reading stats");
    stats.expect("a known instance has stats")
}

fn set(key: &str, value: &str) -> EventKind {
    EventKind::KeyValueSet { key: key.to_owned(), value: value.to_owned(), last_updated_at_ms: 1 }
}

/// The number of keys and the total size of their values.
fn kv(stats: &SystemStats) -> (u64, u64) {
    (stats.kv_user_key_count, stats.kv_total_value_bytes)
}

/// An unknown instance has no stats, and reading them is not an error.
pub async fn test_get_instance_stats_nonexistent<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let stats = store.provider.get_instance_stats("unknown").await;
    assert_eq!(stats.must("reading stats"), None);
}

/// Events are counted and measured.
pub async fn test_get_instance_stats_history<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("sized").await;
    let small = stats(&store, "sized").await;
    assert_eq!(small.history_event_count, 1);
    assert!(small.history_size_bytes > 0, "an event has a size");
    assert_eq!((kv(&small), small.queue_pending_count), ((0, 0), 0));
    let status = Some("x".repeat(1000));
    store.record("sized", vec![EventKind::CustomStatusUpdated { status }]).await;
    let large = stats(&store, "sized").await;
    assert_eq!(large.history_event_count, 2);
    assert!(large.history_size_bytes >= small.history_size_bytes + 1000, "sizes add up");
}

/// Values of a finished execution are counted and measured.
pub async fn test_get_instance_stats_kv<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("sized").await;
    store.record("sized", vec![set("a", "123"), set("b", "12345")]).await;
    store.complete("sized", "done").await;
    assert_eq!(kv(&stats(&store, "sized").await), (2, 8));
}

/// Messages carried into the current execution are counted.
pub async fn test_get_instance_stats_carry_forward<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("carrying")).await;
    let turn = store.turn_of("carrying").await;
    let mut start = started("carrying", 1);
    if let EventKind::OrchestrationStarted { carry_forward_events, .. } = &mut start.kind {
        let carried = ["a", "b", "c"].map(|data| ("queue".to_owned(), data.to_owned()));
        *carry_forward_events = Some(carried.into());
    }
    store.ack(commit(&turn, vec![start])).await.must("the first commit");
    assert_eq!(stats(&store, "carrying").await.queue_pending_count, 3);
    store.continue_as_new("carrying").await;
    assert_eq!(
        stats(&store, "carrying").await.queue_pending_count,
        0,
        "the next execution has none"
    );
}

/// Values of the running execution are counted and measured.
pub async fn test_get_instance_stats_kv_delta_only<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("sized").await;
    store.record("sized", vec![set("a", "1234"), set("b", "12345")]).await;
    assert_eq!(kv(&stats(&store, "sized").await), (2, 9));
}

/// The stats count only the current version of an overwritten or cleared value.
pub async fn test_get_instance_stats_kv_merged<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("sized").await;
    store.continue_with("sized", vec![set("a", "12345")]).await;
    assert_eq!(kv(&stats(&store, "sized").await), (1, 5));
    store.record("sized", vec![set("a", "1234567")]).await;
    assert_eq!(kv(&stats(&store, "sized").await), (1, 7));
    store.record("sized", vec![set("b", "12")]).await;
    assert_eq!(kv(&stats(&store, "sized").await), (2, 9));
    let cleared = EventKind::KeyValueCleared { key: "a".to_owned() };
    store.record("sized", vec![cleared]).await;
    assert_eq!(kv(&stats(&store, "sized").await), (1, 2));
}

/// The stats exclude events of earlier executions and include their values.
pub async fn test_get_instance_stats_of_current_execution<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.create("sized").await;
    store.record("sized", vec![set("a", "1"), set("b", "2"), set("c", "3")]).await;
    store.continue_as_new("sized").await;
    let before = stats(&store, "sized").await;
    assert_eq!((before.history_event_count, kv(&before)), (1, (3, 3)));
    let turn = store.woken("sized").await;
    let events = next_events(&turn, vec![set("d", "4")]);
    store.ack(commit(&turn, events)).await.must("a commit");
    let after = stats(&store, "sized").await;
    assert_eq!((after.history_event_count, kv(&after)), (2, (4, 4)));
}
