//! Setting, reading and clearing.

use super::values::{assert_live, clear, clear_all, get, set};
use crate::ProviderFactory;
use crate::support::{Must, Store, commit, next_events, start_item, started};

/// A value that was set can be read.
pub async fn test_kv_set_and_get<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.record("keeper", vec![set("a", "1"), set("b", "2")]).await;
    assert_live(&store, "keeper", &[("a", "1"), ("b", "2")]).await;
}

/// The last value wins, within a commit and across commits.
pub async fn test_kv_overwrite<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.record("keeper", vec![set("a", "1"), set("a", "2")]).await;
    assert_live(&store, "keeper", &[("a", "2")]).await;
    store.record("keeper", vec![set("a", "3")]).await;
    assert_live(&store, "keeper", &[("a", "3")]).await;
}

/// Clearing a key removes only that key.
pub async fn test_kv_clear_single<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.record("keeper", vec![set("a", "1"), set("b", "2")]).await;
    store.record("keeper", vec![clear("a")]).await;
    assert_live(&store, "keeper", &[("b", "2")]).await;
    assert_eq!(get(&store, "keeper", "a").await, None);
}

/// Clearing everything removes all values set before it and none set after it.
pub async fn test_kv_clear_all<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.record("keeper", vec![set("a", "1"), set("b", "2")]).await;
    store.record("keeper", vec![set("c", "3"), clear_all()]).await;
    assert_live(&store, "keeper", &[]).await;
    assert_eq!(get(&store, "keeper", "a").await, None);
    store.record("keeper", vec![clear_all(), set("d", "4")]).await;
    assert_live(&store, "keeper", &[("d", "4")]).await;
}

/// A key that was never set has no value.
pub async fn test_kv_get_nonexistent<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    assert_eq!(get(&store, "keeper", "a").await, None);
    assert_live(&store, "keeper", &[]).await;
}

/// An unknown instance has no values, and reading it is not an error.
pub async fn test_kv_get_unknown_instance<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    assert_eq!(get(&store, "unknown", "a").await, None);
    assert_live(&store, "unknown", &[]).await;
}

/// Clearing an unknown key is not an error.
pub async fn test_kv_clear_nonexistent_key<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.record("keeper", vec![clear("a"), clear_all()]).await;
    store.record("keeper", vec![set("b", "2"), clear("a")]).await;
    assert_live(&store, "keeper", &[("b", "2")]).await;
}

/// Changes of one commit apply in order.
pub async fn test_kv_set_after_clear<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.record("keeper", vec![set("a", "1"), clear("a"), set("a", "2")]).await;
    assert_live(&store, "keeper", &[("a", "2")]).await;
    store.record("keeper", vec![clear("a"), set("a", "3"), clear("a")]).await;
    assert_live(&store, "keeper", &[]).await;
    store.record("keeper", vec![set("a", "4"), clear_all(), set("b", "5")]).await;
    assert_live(&store, "keeper", &[("b", "5")]).await;
}

/// An empty value is a value, and an empty key is a key.
pub async fn test_kv_empty_value<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    store.record("keeper", vec![set("a", ""), set("", "nameless")]).await;
    assert_live(&store, "keeper", &[("a", ""), ("", "nameless")]).await;
}

/// The largest value that the runtime allows comes back whole.
pub async fn test_kv_large_value<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    let large = "0123456789abcdef".repeat(64 * 1024 / 16);
    store.record("keeper", vec![set("a", &large)]).await;
    assert_live(&store, "keeper", &[("a", &large)]).await;
}

/// Keys are compared exactly.
pub async fn test_kv_special_chars_in_key<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("keeper").await;
    let keys =
        ["a b", "a/b", "a'b", "a\"b", "a%", "a_", "A", "a", "ключ", "\u{1f511}", "a\nb", "::", "*"];
    let values: Vec<String> = (0..keys.len()).map(|number| number.to_string()).collect();
    let expected: Vec<_> = keys.into_iter().zip(values.iter().map(String::as_str)).collect();
    let events = expected.iter().map(|(key, value)| set(key, value)).collect();
    store.record("keeper", events).await;
    assert_live(&store, "keeper", &expected).await;
    store.record("keeper", vec![clear("a%"), clear("a_")]).await;
    let left: Vec<_> =
        expected.into_iter().filter(|(key, _)| !["a%", "a_"].contains(key)).collect();
    assert_live(&store, "keeper", &left).await;
}

/// Instances do not see each other's values, parents and children included.
pub async fn test_kv_instance_isolation<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("one").await;
    store.create("two").await;
    store.create_child("one::sub::2", "one").await;
    store.record("one", vec![set("a", "1")]).await;
    store.record("two", vec![set("a", "2"), set("b", "2")]).await;
    assert_live(&store, "one", &[("a", "1")]).await;
    assert_live(&store, "two", &[("a", "2"), ("b", "2")]).await;
    assert_live(&store, "one::sub::2", &[]).await;
}

/// Clearing the values of an instance keeps those of other instances.
pub async fn test_kv_clear_isolation<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for instance in ["one", "two", "three"] {
        store.create(instance).await;
        store.record(instance, vec![set("a", instance)]).await;
    }
    // A store may keep the values of finished and running executions in different tables.
    store.complete("three", "done").await;
    store.record("one", vec![clear_all()]).await;
    assert_live(&store, "one", &[]).await;
    assert_live(&store, "two", &[("a", "two")]).await;
    assert_live(&store, "three", &[("a", "three")]).await;
    store.record("two", vec![clear("a")]).await;
    assert_live(&store, "three", &[("a", "three")]).await;
}

/// A refused commit stores no values; the first commit of an instance may store some.
pub async fn test_kv_of_refused_commit_is_not_stored<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("keeper")).await;
    let turn = store.turn_of("keeper").await;
    let mut events = vec![started("keeper", 1)];
    events.extend(next_events(&turn, vec![clear_all(), set("a", "1")]).into_iter().skip(1));
    store.ack(commit(&turn, events)).await.must("the first commit");
    assert_live(&store, "keeper", &[("a", "1")]).await;

    let turn = store.woken("keeper").await;
    let mut events = next_events(&turn, vec![set("a", "2"), clear("b"), set("c", "3")]);
    events.push(started("keeper", 1));
    store.ack(commit(&turn, events)).await.must_fail("a commit of a stored event");
    assert_live(&store, "keeper", &[("a", "1")]).await;
}
