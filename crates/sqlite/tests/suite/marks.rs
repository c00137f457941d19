//! Fetching without the history that the caller holds.

use std::sync::Arc;

use duroxide_core::providers::{FetchedTurn, HistoryMark, KnownHistory, Provider, ProviderAdmin};

use crate::support::*;

struct Held(HistoryMark);

impl KnownHistory for Held {
    fn mark(&self, _instance: &str) -> Option<HistoryMark> {
        Some(self.0)
    }
}

async fn turn_with(provider: &dyn Provider, mark: HistoryMark) -> FetchedTurn {
    let fetch = wish(1).with_known(Arc::new(Held(mark)));
    provider.fetch_orchestration_items(fetch).await.unwrap().pop().expect("a turn is ready")
}

/// Creates the instance with two events and returns its mark.
async fn create_marked(provider: &dyn Provider) -> HistoryMark {
    provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    let first = turn(provider).await;
    let events = vec![started("a", 1), heard("a", 2)];
    let answer = provider.store_turn(commit(&first.lock_token, events)).await.unwrap();
    HistoryMark::new(answer.incarnation.unwrap()).with_execution_id(1).with_event_id(2)
}

#[tokio::test]
async fn a_fetch_leaves_out_events_that_the_caller_knows() {
    let store = Store::new().await;
    let provider = &*store.provider;
    let mark = create_marked(provider).await;
    step(provider, "a", vec![heard("a", 3)]).await;
    provider.enqueue_for_orchestrator(signal("a", "x"), None).await.unwrap();
    let turn = turn_with(provider, mark).await;
    assert_eq!(turn.history_after, 2);
    assert_eq!(turn.item.history.iter().map(|event| event.event_id).collect::<Vec<_>>(), [3]);
}

/// The values of an instance were read for every turn, also if its execution was in memory.
#[tokio::test]
async fn a_caller_that_knows_the_history_gets_no_values() {
    let store = Store::new().await;
    let provider = &*store.provider;
    let mark = create_marked(provider).await;
    let sql = "INSERT INTO kv_store (instance_id, key, value, last_updated_at_ms)
         VALUES ('a', 'key', 'value', 1)";
    store.sql().execute(sql, []).unwrap();
    provider.enqueue_for_orchestrator(signal("a", "x"), None).await.unwrap();
    let warm = turn_with(provider, mark).await;
    assert_eq!((warm.history_after, warm.item.kv_snapshot.len()), (2, 0));
    provider.abandon_orchestration_item(&warm.lock_token, None, true).await.unwrap();
    assert_eq!(turn(provider).await.item.kv_snapshot["key"].value, "value");
}

#[tokio::test]
async fn a_mark_of_another_execution_or_a_later_event_is_ignored() {
    let store = Store::new().await;
    let provider = &*store.provider;
    let mark = create_marked(provider).await;
    for wrong in [
        mark.with_execution_id(2),
        mark.with_event_id(99),
        mark.with_incarnation(mark.incarnation ^ 1),
    ] {
        provider.enqueue_for_orchestrator(signal("a", "x"), None).await.unwrap();
        let turn = turn_with(provider, wrong).await;
        assert_eq!((turn.history_after, turn.item.history.len()), (0, 2), "{wrong:?}");
        provider.store_turn(commit(&turn.lock_token, vec![])).await.unwrap();
    }
}

#[tokio::test]
async fn a_recreated_instance_ignores_marks_of_the_deleted_one() {
    let store = Store::new().await;
    let provider = &*store.provider;
    let old = create_marked(provider).await;
    provider.delete_instance("a", true).await.unwrap();
    let new = create_marked(provider).await;
    assert_ne!(old.incarnation, new.incarnation);
    provider.enqueue_for_orchestrator(signal("a", "x"), None).await.unwrap();
    let turn = turn_with(provider, old).await;
    assert_eq!((turn.history_after, turn.item.history.len()), (0, 2));
}

struct Panics;

impl KnownHistory for Panics {
    fn mark(&self, _instance: &str) -> Option<HistoryMark> {
        panic!("on purpose")
    }
}

#[tokio::test]
async fn a_panic_in_a_job_undoes_it_and_the_writer_continues() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    let fetch = wish(1).with_known(Arc::new(Panics));
    let (failed, other) = tokio::join!(
        provider.fetch_orchestration_items(fetch),
        provider.enqueue_for_worker(activity("a", 1))
    );
    let error = failed.unwrap_err();
    assert!(error.message.contains("panicked"), "{error}");
    other.unwrap();
    assert_eq!(turn(provider).await.attempt_count, 1);
}
