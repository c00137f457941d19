//! Damaged rows: their instance gets an error, all others continue.

use std::time::Duration;

use duroxide_core::providers::{
    DispatcherCapabilityFilter, FetchFilter, FetchedTurn, Provider, ProviderAdmin, SemverRange,
    SessionFetchConfig, TagFilter,
};

use crate::support::*;

/// Damages an instance, sends a message to it and to another one, and returns both turns.
async fn turns_after(sql: &str) -> [FetchedTurn; 2] {
    let store = Store::new().await;
    let provider = &*store.provider;
    create(provider, "bad").await;
    create(provider, "good").await;
    for instance in ["bad", "good"] {
        provider.enqueue_for_orchestrator(signal(instance, "1"), None).await.unwrap();
    }
    assert_eq!(store.sql().execute(sql, []).unwrap(), 1, "{sql}");
    let supported_duroxide_versions =
        vec![SemverRange::new("0.0.0".parse().unwrap(), "9.9.9".parse().unwrap())];
    let filter = DispatcherCapabilityFilter { supported_duroxide_versions };
    let filter = FetchFilter::from(Some(&filter));
    let fetch = wish(2).with_filter(&filter);
    let mut turns = provider.fetch_orchestration_items(fetch).await.unwrap();
    turns.sort_by(|one, other| one.item.instance.cmp(&other.item.instance));
    let turns: [_; 2] = turns.try_into().unwrap();
    assert_eq!((turns[1].item.instance.as_str(), turns[1].item.history.len()), ("good", 1));
    assert_eq!(turns[1].item.history_error, None);
    // The damaged instance can be failed like any other.
    let end = commit(&turns[0].lock_token, vec![heard("bad", 9)]).with_metadata(ended("Failed"));
    provider.store_turn(end).await.unwrap();
    provider.delete_instance("bad", false).await.unwrap();
    turns
}

#[tokio::test]
async fn an_instance_with_a_damaged_row_gets_a_turn_with_an_error() {
    for sql in [
        "UPDATE instances SET orchestration_name = x'ff00' WHERE instance_id = 'bad'",
        "UPDATE instances SET orchestration_version = x'ff00' WHERE instance_id = 'bad'",
        "UPDATE instances SET current_execution_id = x'ff00' WHERE instance_id = 'bad'",
        "UPDATE instances SET incarnation = x'ff00' WHERE instance_id = 'bad'",
        "INSERT INTO kv_store (instance_id, key, value, last_updated_at_ms)
         VALUES ('bad', 'z', x'ff00', 0)",
        "INSERT INTO kv_store (instance_id, key, value, last_updated_at_ms)
         VALUES ('bad', 'z', 'v', x'ff00')",
    ] {
        let [bad, _] = turns_after(sql).await;
        let error = bad.item.history_error.expect(sql);
        assert!(error.starts_with("a row of the instance cannot be read"), "{error}");
        assert!(bad.item.history.is_empty() && bad.item.kv_snapshot.is_empty());
        assert_eq!((bad.item.execution_id, bad.attempt_count), (1, 1), "{sql}");
        assert_eq!((bad.item.orchestration_name.as_str(), bad.item.messages.len()), ("Test", 1));
    }
}

#[tokio::test]
async fn a_pin_that_cannot_be_read_counts_as_none() {
    for pin in ["x'ff00'", "CAST(x'ff00' AS TEXT)"] {
        let sql =
            format!("UPDATE executions SET duroxide_version = {pin} WHERE instance_id = 'bad'");
        let [bad, _] = turns_after(&sql).await;
        assert_eq!((bad.item.history_error, bad.item.history.len()), (None, 1));
    }
}

#[tokio::test]
async fn a_damaged_attempt_count_reads_as_too_many() {
    let sql = "UPDATE orchestrator_queue SET attempt_count = 99999999999 WHERE instance_id = 'bad'";
    let [bad, good] = turns_after(sql).await;
    assert_eq!((bad.attempt_count, good.attempt_count), (u32::MAX, 1));
}

#[tokio::test]
async fn a_damaged_time_does_not_break_the_wait_of_a_fetch() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    provider.enqueue_for_worker(activity("a", 1)).await.unwrap();
    for damage in [
        "UPDATE orchestrator_queue SET visible_at = x'ff00'",
        "UPDATE worker_queue SET visible_at = x'ff00', lane = 2",
    ] {
        assert_eq!(store.sql().execute(damage, []).unwrap(), 1);
    }
    assert!(try_turn(provider).await.is_none());
    let work = provider.fetch_work_item(LEASE, NOW, None, &TagFilter::Any).await.unwrap();
    assert!(work.is_none());
}

#[tokio::test]
async fn an_activity_with_damaged_columns_runs_and_does_not_block_the_next() {
    let store = Store::new().await;
    let provider = &*store.provider;
    for id in 1..=3 {
        provider.enqueue_for_worker(activity("a", id)).await.unwrap();
    }
    let sql = store.sql();
    sql.execute("UPDATE worker_queue SET session_id = x'ff00' WHERE activity_id = 1", []).unwrap();
    sql.execute("UPDATE worker_queue SET attempt_count = 1e30 WHERE activity_id = 2", []).unwrap();
    let owner = SessionFetchConfig { owner_id: "w".to_owned(), lock_timeout: LEASE };
    for (id, attempts) in [(1, 1), (2, u32::MAX), (3, 1)] {
        let fetched = provider.fetch_work_item(LEASE, NOW, Some(&owner), &TagFilter::Any).await;
        let (item, token, attempt_count) = fetched.unwrap().unwrap();
        assert_eq!((item, attempt_count), (activity("a", id), attempts));
        provider.renew_work_item_lock(&token, LEASE).await.unwrap();
        provider.ack_work_item(&token, Some(completed("a", id))).await.unwrap();
    }
}

#[tokio::test]
async fn the_error_of_a_damaged_value_names_its_key() {
    let store = Store::new().await;
    let provider = &*store.provider;
    create(provider, "a").await;
    let sql = "INSERT INTO kv_store (instance_id, key, value, last_updated_at_ms)
               VALUES ('a', 'colour', x'ff00', 0)";
    store.sql().execute(sql, []).unwrap();
    for error in [
        provider.get_kv_value("a", "colour").await.unwrap_err(),
        provider.get_kv_all_values("a").await.unwrap_err(),
    ] {
        assert!(!error.is_retryable());
        assert!(error.message.contains("key 'colour' cannot be read"), "{error}");
    }
    assert_eq!(provider.get_kv_value("a", "other").await.unwrap(), None);
}

/// A time that was damaged to a fraction made every fetch of the store fail.
#[tokio::test]
async fn a_message_with_a_damaged_time_stops_no_other_work() {
    let store = Store::new().await;
    let node = &*store.provider;
    for instance in ["damaged", "healthy"] {
        node.enqueue_for_orchestrator(start(instance), None).await.unwrap();
    }
    let damage = "UPDATE orchestrator_queue SET visible_at = -1e-308
         WHERE instance_id = 'damaged'";
    assert_eq!(store.sql().execute(damage, []).unwrap(), 1);
    let mut fetched = [turn(node).await.item.instance, turn(node).await.item.instance];
    fetched.sort();
    assert_eq!(fetched, ["damaged", "healthy"]);
}

/// The lease of a turn that did not take all messages named the end of its part by a whole number.
/// If the time of the last was a fraction, the commit left that message, and it came again.
#[tokio::test]
async fn a_damaged_time_at_the_end_of_a_part_repeats_no_message() {
    const TURN_MESSAGES_MAX: u32 = 1024;
    let store = Store::new().await;
    let node = &*store.provider;
    create(node, "a").await;
    for number in 0..TURN_MESSAGES_MAX + 2 {
        node.enqueue_for_orchestrator(signal("a", &number.to_string()), None).await.unwrap();
    }
    let sql = store.sql();
    let after = "(SELECT id FROM orchestrator_queue ORDER BY id LIMIT 1 OFFSET ?1)";
    let damage = format!(
        "UPDATE orchestrator_queue SET visible_at = visible_at + 0.5
         WHERE id >= {after}"
    );
    assert_eq!(sql.execute(&damage, [TURN_MESSAGES_MAX - 1]).unwrap(), 3);
    store.clock.advance(Duration::from_secs(1));
    let first = turn(node).await;
    assert_eq!(first.item.messages.len(), TURN_MESSAGES_MAX as usize);
    node.store_turn(commit(&first.lock_token, Vec::new())).await.unwrap();
    let second = turn(node).await;
    let rest = [TURN_MESSAGES_MAX, TURN_MESSAGES_MAX + 1].map(|n| signal("a", &n.to_string()));
    assert_eq!(second.item.messages, rest);
}
