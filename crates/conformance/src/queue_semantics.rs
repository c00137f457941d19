//! Order and visibility of messages and activities.

use duroxide_core::clock::millis;

use crate::ProviderFactory;
use crate::support::{
    Must, Store, activity, commit, completed, heard, queued, signal, start_item, started, timer,
};

/// Activities come in the order in which they were enqueued.
pub async fn test_worker_queue_fifo_ordering<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    // The ids and names are in reverse order of arrival.
    let items: Vec<_> =
        (1..=8).rev().map(|number| activity(&format!("instance-{number}"), number)).collect();
    for item in &items {
        store.send_work(item.clone()).await;
    }
    for expected in &items {
        assert_eq!(&store.work().await.item, expected, "oldest first");
    }
}

/// A fetched activity is hidden, not removed; completing it removes it.
pub async fn test_worker_peek_lock_semantics<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    let first = store.work().await;
    store.no_work("a leased activity is hidden").await;
    store.expire().await;
    let second = store.work().await;
    assert_eq!(second.item, first.item, "a leased activity is not removed");
    store.provider.ack_work_item(&second.token, None).await.must("completing an activity");
    store.no_work("a completed activity is removed").await;
    store.expire().await;
    store.no_work("a completed activity never comes back").await;
}

/// Completing removes the activity and enqueues its result, both or neither.
pub async fn test_worker_ack_atomicity<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.send_work(activity("a", 2)).await;
    let work = store.work().await;
    let bogus = store.provider.ack_work_item("no-such-token", Some(completed("a", 2))).await;
    bogus.must_fail_for_good("completing under an unknown token");
    store.no_turn("a refused result is not sent").await;
    let finished = store.provider.ack_work_item(&work.token, Some(completed("a", 2))).await;
    finished.must("completing an activity");
    let turn = store.turn_of("a").await;
    assert_eq!(turn.item.messages, vec![completed("a", 2)]);
    assert_eq!(turn.attempt, 1);
    store.expire().await;
    store.no_work("a completed activity never comes back").await;
}

/// A timer is hidden until it is due; other messages are delivered without it.
pub async fn test_timer_delayed_visibility<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let first = store.turn_of("a").await;
    let wait = store.lease() * 2;
    let due = timer("a", 2, store.now_ms() + millis(wait));
    let sleeping = commit(&first, vec![started("a", 1)])
        .with_messages(&first.item.instance, vec![due.clone(), signal("a", "now")]);
    store.ack(sleeping).await.must("a commit with a timer");
    let second = store.turn_of("a").await;
    assert_eq!(second.item.messages, vec![signal("a", "now")], "the timer is not due");
    store.ack(commit(&second, vec![heard("a", 1, 2)])).await.must("a commit before the timer");
    store.no_turn("the timer is not due").await;
    store.pass(wait / 2).await;
    store.no_turn("the timer is still not due").await;
    store.pass(wait / 2).await;
    store.expire().await;
    let third = store.turn_of("a").await;
    assert_eq!(third.item.messages, vec![due], "the timer is due");
    assert_eq!(third.attempt, 1, "waiting does not count as an attempt");
}

/// An activity whose worker disappeared is delivered again.
pub async fn test_lost_lock_token_handling<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    let lost = store.work().await;
    store.no_work("the lease is held").await;
    store.expire().await;
    let again = store.work().await;
    assert_eq!(again.item, lost.item);
    assert_ne!(again.token, lost.token);
    assert_eq!(again.attempt, 2, "it is the second attempt");
    store.provider.ack_work_item(&again.token, None).await.must("completing after redelivery");
}

/// An activity is visible as soon as it is enqueued, directly or by a commit.
pub async fn test_worker_item_immediate_visibility<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    assert_eq!(store.work().await.item, activity("a", 1));
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    let scheduling = commit(&turn, vec![started("a", 1)]).with_activities(vec![activity("a", 2)]);
    store.ack(scheduling).await.must("a commit with an activity");
    assert_eq!(store.work().await.item, activity("a", 2));
}

/// A fetch skips a hidden activity although it is not leased; it does not block newer ones.
pub async fn test_worker_delayed_visibility_skips_future_items<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    store.send_work(activity("a", 2)).await;
    let hidden = store.work().await;
    assert_eq!(hidden.item, activity("a", 1));
    let delay = store.lease() * 2;
    let abandoned = store.provider.abandon_work_item(&hidden.token, Some(delay), false).await;
    abandoned.must("abandoning with a delay");
    let next = store.work().await;
    assert_eq!(next.item, activity("a", 2), "the hidden activity is skipped");
    store.provider.ack_work_item(&next.token, None).await.must("completing an activity");
    store.no_work("the other activity is still hidden").await;
    store.pass(delay).await;
    store.expire().await;
    assert_eq!(store.work().await.item, activity("a", 1));
}

/// Queue messages for an unknown instance are not fetched and wait for it; for a known one they are
/// delivered. The name is that of 0.1.x, which dropped the former.
pub async fn test_orphan_queue_messages_dropped<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(queued("ghost", "1")).await;
    store.send(queued("ghost", "2")).await;
    store.no_turn("an unknown instance has no reader").await;
    store.send(start_item("ghost")).await;
    let turn = store.turn_of("ghost").await;
    let waited = vec![queued("ghost", "1"), queued("ghost", "2"), start_item("ghost")];
    assert_eq!(turn.item.messages, waited, "queue messages are lossless");
    store.ack(commit(&turn, vec![started("ghost", 1)])).await.must("a first commit");
    store.send(queued("ghost", "3")).await;
    store.send(queued("ghost", "4")).await;
    let next = store.turn_of("ghost").await;
    assert_eq!(next.item.messages, vec![queued("ghost", "3"), queued("ghost", "4")]);
}

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __queue_semantics {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context queue_semantics
            test_worker_queue_fifo_ordering;
            test_worker_peek_lock_semantics;
            test_worker_ack_atomicity;
            test_timer_delayed_visibility;
            test_lost_lock_token_handling;
            test_worker_item_immediate_visibility;
            test_worker_delayed_visibility_skips_future_items;
            test_orphan_queue_messages_dropped;
        }
    };
}
