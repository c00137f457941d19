//! A commit stores all of its parts or none.

use std::sync::Arc;

use duroxide_core::EventKind;
use duroxide_core::providers::{ScheduledActivityIdentifier, TurnCommit};

use crate::ProviderFactory;
use crate::support::{
    Must, Store, Turn, activity, commit, ended, event, heard, signal, start_item, started, timer,
};

/// A commit that changes every part of the store and whose last event is already stored.
fn doomed(turn: &Turn) -> TurnCommit {
    let instance = turn.item.instance.as_str();
    let status = EventKind::CustomStatusUpdated { status: Some("doomed".to_owned()) };
    let value = EventKind::KeyValueSet {
        key: "key".to_owned(),
        value: "doomed".to_owned(),
        last_updated_at_ms: 1,
    };
    commit(
        turn,
        vec![
            heard(instance, 1, 2),
            event(instance, 1, 3, status),
            event(instance, 1, 4, value),
            started(instance, 1),
        ],
    )
    .with_activities(vec![activity(instance, 9)])
    .with_outgoing_messages(vec![signal("other", "doomed")])
    .with_metadata(ended("Completed", "doomed"))
    .with_cancelled_activities(vec![ScheduledActivityIdentifier {
        instance: instance.to_owned(),
        execution_id: 1,
        activity_id: 5,
    }])
}

/// An event id that is already stored fails the commit. No part of it is visible, and the lease
/// stays held.
pub async fn test_atomicity_failure_rollback<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.create("other").await;
    let before = store.history("a").await;
    store.send_work(activity("a", 5)).await;
    store.send(signal("a", "1")).await;
    let turn = store.turn_of("a").await;

    let failed = store.ack(doomed(&turn)).await;
    failed.must_fail_for_good("a commit with an event id that is already stored");

    assert_eq!(store.history("a").await, before, "a failed commit does not change the history");
    let status = store.provider.get_custom_status("a", 0).await.must("reading a status");
    assert_eq!(status, None, "a failed commit sets no custom status");
    let value = store.provider.get_kv_value("a", "key").await.must("reading a value");
    assert_eq!(value, None, "a failed commit sets no value");
    if let Some(admin) = store.provider.as_management_capability() {
        let info = admin.get_instance_info("a").await.must("reading instance info");
        assert_eq!(info.status, "Running", "a failed commit does not complete the execution");
        assert_eq!(info.output, None);
    }
    assert_eq!(store.work().await.item, activity("a", 5), "a failed commit cancels nothing");
    store.no_work("a failed commit enqueues no activity").await;
    store.no_turn("a failed commit keeps its lease and sends no message").await;

    let abandoned = store.provider.abandon_orchestration_item(&turn.token, None, false).await;
    abandoned.must("abandoning a turn after a failed commit");
    let again = store.turn_of("a").await;
    assert_eq!(again.item.messages, vec![signal("a", "1")], "a failed commit consumes nothing");
    let delta = vec![heard("a", 1, 2)];
    store.ack(commit(&again, delta)).await.must("a correct commit after a failed one");
}

/// One commit makes all its parts visible, with the messages in the given order.
pub async fn test_multi_operation_atomic_ack<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    let mut events = vec![started("a", 1)];
    events.extend((2..=5).map(|id| heard("a", 1, id)));
    let activities: Vec<_> = (2..=4).map(|id| activity("a", id)).collect();
    let messages = vec![timer("a", 5, store.now_ms()), signal("a", "1")];
    let whole = commit(&turn, events.clone())
        .with_activities(activities.clone())
        .with_messages(&turn.item.instance, messages.clone());
    store.ack(whole).await.must("a commit of many parts");

    assert_eq!(store.history("a").await, events);
    for expected in activities {
        assert_eq!(store.work().await.item, expected, "activities come in the given order");
    }
    store.no_work("three activities were committed").await;
    let next = store.turn_of("a").await;
    assert_eq!(next.item.messages, messages, "messages come in the given order");
    assert_eq!(next.item.history, events);
    assert_eq!(next.attempt, 1, "messages of a commit are new");
}

/// A commit under an unknown token changes nothing and releases no lease.
pub async fn test_lock_released_only_on_successful_ack<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    let bogus = commit(&turn, vec![started("a", 1)])
        .with_lock_token("no-such-token".to_owned())
        .with_activities(vec![activity("a", 2)]);
    store.ack(bogus).await.must_fail_for_good("a commit under an unknown token");
    assert_eq!(store.history("a").await, vec![], "a refused commit stores nothing");
    store.no_work("a refused commit enqueues nothing").await;
    store.no_turn("the valid lease is still held").await;
    store.expire().await;
    assert_eq!(store.turn_of("a").await.item.messages, vec![start_item("a")]);
}

/// Of two commits under one token, exactly one succeeds.
pub async fn test_concurrent_ack_prevention<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.send(signal("a", "1")).await;
    let turn = store.turn_of("a").await;
    // The events differ, so only the token can make one of the commits fail.
    let commits = [2, 3].map(|id| {
        let provider = Arc::clone(&store.provider);
        let delta = vec![heard("a", 1, id)];
        let turn = commit(&turn, delta.clone());
        tokio::spawn(async move {
            let acked = provider
                .ack_orchestration_item(
                    &turn.lock_token,
                    turn.execution_id,
                    turn.history_delta,
                    vec![],
                    vec![],
                    turn.metadata,
                    vec![],
                )
                .await;
            acked.is_ok().then_some(delta)
        })
    });
    let mut stored = vec![started("a", 1).kind];
    for attempt in commits {
        let delta = attempt.await.expect("a commit must not panic");
        stored.extend(delta.into_iter().flatten().map(|event| event.kind));
    }
    assert_eq!(stored.len(), 2, "exactly one of two commits under one token succeeds");
    let history = store.history("a").await;
    let kinds: Vec<_> = history.into_iter().map(|event| event.kind).collect();
    assert_eq!(kinds, stored, "the history holds the events of the commit that succeeded");
}

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __atomicity {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context atomicity
            test_atomicity_failure_rollback;
            test_multi_operation_atomic_ack;
            test_lock_released_only_on_successful_ack;
            test_concurrent_ack_prevention;
        }
    };
}
