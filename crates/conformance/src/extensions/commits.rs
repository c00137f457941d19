//! `commit_turn` promises what `ack_orchestration_item` promises.

use std::sync::Arc;

use duroxide_core::providers::{ScheduledActivityIdentifier, TurnCommit};
use duroxide_core::{Event, EventKind};

use crate::ProviderFactory;
use crate::support::{
    Must, Store, activity, commit, event, heard, signal, start_item, started, timer,
};

/// Every part of a commit is stored, and the messages of the turn are consumed.
pub async fn commit_turn_stores_every_part<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    store.send(signal("a", "later")).await;
    let status = EventKind::CustomStatusUpdated { status: Some("on".to_owned()) };
    let events = vec![started("a", 1), event("a", 1, 2, status)];
    let messages = vec![timer("a", 3, store.now_ms()), signal("a", "own")];
    let whole = commit(&turn, events.clone())
        .with_activities(vec![activity("a", 4), activity("a", 5)])
        .with_messages(&turn.item.instance, messages.clone())
        .with_cancelled_activities(vec![ScheduledActivityIdentifier {
            instance: "a".to_owned(),
            execution_id: 1,
            activity_id: 4,
        }]);
    store.provider.commit_turn(Arc::new(whole)).await.must("committing a turn");
    assert_eq!(store.history("a").await, events);
    let status = store.provider.get_custom_status("a", 0).await.must("reading a status");
    assert_eq!(status, Some((Some("on".to_owned()), 1)));
    assert_eq!(store.work().await.item, activity("a", 5), "cancelling comes after scheduling");
    store.no_work("one activity is left").await;
    let next = store.turn_of("a").await;
    let expected = [vec![signal("a", "later")], messages].concat();
    assert_eq!(next.item.messages, expected, "the fetched message is consumed, the others wait");
}

/// A commit under an unknown, expired or already used token changes nothing.
pub async fn commit_turn_needs_a_live_lease<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    let valid = Arc::new(commit(&turn, vec![started("a", 1)]));
    let bogus = TurnCommit::clone(&valid).with_lock_token("no-such-token".to_owned());
    let refused = store.provider.commit_turn(Arc::new(bogus)).await;
    refused.must_fail_for_good("a commit under an unknown token");
    store.expire().await;
    let refused = store.provider.commit_turn(Arc::clone(&valid)).await;
    refused.must_fail_for_good("a commit after its lease expired");
    assert_eq!(store.history("a").await, vec![], "a refused commit stores nothing");
    let turn = store.turn_of("a").await;
    let valid = Arc::new(commit(&turn, vec![started("a", 1)]));
    store.provider.commit_turn(Arc::clone(&valid)).await.must("committing a turn");
    let refused = store.provider.commit_turn(valid).await;
    refused.must_fail_for_good("the same commit again");
    assert_eq!(store.history("a").await.len(), 1);
}

/// An event id that is already stored fails the whole commit. The caller may correct and repeat it
/// under the same lease.
pub async fn commit_turn_is_all_or_nothing<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    let before = store.history("a").await;
    store.send(signal("a", "1")).await;
    let turn = store.turn_of("a").await;
    let doomed = commit(&turn, vec![heard("a", 1, 2), started("a", 1)])
        .with_activities(vec![activity("a", 3)])
        .with_messages(&turn.item.instance, vec![signal("a", "doomed")]);
    let refused = store.provider.commit_turn(Arc::new(doomed)).await;
    refused.must_fail_for_good("a commit with an event id that is already stored");
    assert_eq!(store.history("a").await, before);
    store.no_work("a failed commit enqueues no activity").await;
    store.no_turn("a failed commit keeps its lease").await;
    let corrected = commit(&turn, vec![heard("a", 1, 2)]);
    store.provider.commit_turn(Arc::new(corrected)).await.must("a correct commit");
    store.no_turn("the message is consumed and nothing was sent").await;
}

/// An event without a position is refused, because the runtime numbers events, not the store.
pub async fn an_event_without_a_position_is_refused<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.send(signal("a", "1")).await;
    let turn = store.turn_of("a").await;
    let refused = store.ack(commit(&turn, vec![heard("a", 1, 0)])).await;
    refused.must_fail_for_good("a commit with an event that has no position");
    assert_eq!(store.history("a").await.len(), 1);
}

/// Events come back ordered by position, whatever the order of the commits.
pub async fn history_is_ordered_by_position<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    for delta in [vec![10, 11], vec![9, 2], vec![100]] {
        store.send(signal("a", "next")).await;
        let turn = store.turn_of("a").await;
        let events = delta.into_iter().map(|id| heard("a", 1, id)).collect();
        store.ack(commit(&turn, events)).await.must("a commit");
    }
    let ids =
        |events: &[Event]| -> Vec<u64> { events.iter().map(|event| event.event_id).collect() };
    assert_eq!(ids(&store.history("a").await), [1, 2, 9, 10, 11, 100]);
    store.send(signal("a", "next")).await;
    assert_eq!(ids(&store.turn_of("a").await.item.history), [1, 2, 9, 10, 11, 100]);
}
