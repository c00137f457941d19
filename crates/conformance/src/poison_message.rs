//! The store counts attempts, so that the runtime can detect a message that never succeeds.

use std::time::Duration;

use crate::ProviderFactory;
use crate::support::{
    Must, Store, Turn, Work, activity, commit, heard, signal, start_item, started,
};

async fn abandon_turn<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    turn: &Turn,
    how: (Option<Duration>, bool),
) {
    let (delay, ignore_attempt) = how;
    let token = turn.token.as_str();
    let abandoned = store.provider.abandon_orchestration_item(token, delay, ignore_attempt).await;
    abandoned.must("abandoning a turn");
}

async fn abandon_work<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    work: &Work,
    ignore_attempt: bool,
) {
    let abandoned = store.provider.abandon_work_item(&work.token, None, ignore_attempt).await;
    abandoned.must("abandoning an activity");
}

// How a turn is abandoned: the delay, and whether the attempt is undone.
const COUNTED: (Option<Duration>, bool) = (None, false);
const NOT_COUNTED: (Option<Duration>, bool) = (None, true);

/// The first fetch of a message is attempt 1.
pub async fn orchestration_attempt_count_starts_at_one<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    assert_eq!(turn.attempt, 1);
    store.ack(commit(&turn, vec![started("a", 1)])).await.must("a commit");
    store.send(signal("a", "1")).await;
    assert_eq!(store.turn_of("a").await.attempt, 1, "a new message starts at 1");
}

/// Every further fetch counts, whether the turn was abandoned or its lease expired.
pub async fn orchestration_attempt_count_increments_on_refetch<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    for attempt in 1..=3 {
        let turn = store.turn_of("a").await;
        assert_eq!(turn.attempt, attempt, "abandoned and fetched again");
        abandon_turn(&store, &turn, COUNTED).await;
    }
    for attempt in 4..=5 {
        assert_eq!(store.turn_of("a").await.attempt, attempt, "fetched after the lease expired");
        store.expire().await;
    }
}

/// The first fetch of an activity is attempt 1.
pub async fn worker_attempt_count_starts_at_one<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    assert_eq!(store.work().await.attempt, 1);
}

/// A fetch after an expired lease counts, and so does one after an abandon.
pub async fn worker_attempt_count_increments_on_lock_expiry<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    for attempt in 1..=3 {
        assert_eq!(store.work().await.attempt, attempt, "fetched after the lease expired");
        store.expire().await;
    }
    let work = store.work().await;
    abandon_work(&store, &work, false).await;
    assert_eq!(store.work().await.attempt, 5, "abandoned and fetched again");
}

/// Each message and each activity has its own count.
pub async fn attempt_count_is_per_message<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    for _ in 0..2 {
        let work = store.work().await;
        abandon_work(&store, &work, false).await;
    }
    store.send_work(activity("a", 2)).await;
    let old = store.work().await;
    let new = store.work().await;
    assert_eq!((old.item, old.attempt), (activity("a", 1), 3));
    assert_eq!((new.item, new.attempt), (activity("a", 2), 1));

    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    abandon_turn(&store, &turn, COUNTED).await;
    assert_eq!(store.turn_of("a").await.attempt, 2);
    store.send(start_item("b")).await;
    assert_eq!(store.turn_of("b").await.attempt, 1, "another instance has its own count");
}

/// Abandoning an activity with `ignore_attempt` undoes one attempt.
pub async fn abandon_work_item_ignore_attempt_decrements<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    let first = store.work().await;
    assert_eq!(first.attempt, 1);
    abandon_work(&store, &first, false).await;
    let second = store.work().await;
    assert_eq!(second.attempt, 2);
    abandon_work(&store, &second, true).await;
    assert_eq!(store.work().await.attempt, 2, "the second attempt was undone");
}

/// Abandoning a turn with `ignore_attempt` undoes one attempt.
pub async fn abandon_orchestration_item_ignore_attempt_decrements<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let first = store.turn_of("a").await;
    assert_eq!(first.attempt, 1);
    abandon_turn(&store, &first, COUNTED).await;
    let second = store.turn_of("a").await;
    assert_eq!(second.attempt, 2);
    abandon_turn(&store, &second, NOT_COUNTED).await;
    assert_eq!(store.turn_of("a").await.attempt, 2, "the second attempt was undone");
}

/// A count never falls below zero: the next fetch is attempt 1, however often attempts are undone.
pub async fn ignore_attempt_never_goes_negative<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 1)).await;
    store.send(start_item("a")).await;
    for _ in 0..3 {
        let work = store.work().await;
        assert_eq!(work.attempt, 1);
        abandon_work(&store, &work, true).await;
        let turn = store.turn_of("a").await;
        assert_eq!(turn.attempt, 1);
        abandon_turn(&store, &turn, NOT_COUNTED).await;
    }
}

/// A batch reports the highest count of its messages.
pub async fn max_attempt_count_across_message_batch<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.send(signal("a", "old")).await;
    for _ in 0..2 {
        let turn = store.turn_of("a").await;
        abandon_turn(&store, &turn, COUNTED).await;
    }
    store.send(signal("a", "new")).await;
    let both = store.turn_of("a").await;
    assert_eq!(both.item.messages, vec![signal("a", "old"), signal("a", "new")]);
    assert_eq!(both.attempt, 3, "the highest of 3 and 1 is 3");
}

/// Undoing the attempt of fetched messages does not change a hidden message.
pub async fn orchestration_ignore_attempt_preserves_hidden_start<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.create("a").await;
    let delay = store.lease() * 2;
    store.send(start_item("a")).await;
    let first = store.turn_of("a").await;
    abandon_turn(&store, &first, COUNTED).await;
    let second = store.turn_of("a").await;
    assert_eq!(second.attempt, 2);
    abandon_turn(&store, &second, (Some(delay), false)).await;

    store.send(signal("a", "visible")).await;
    let visible = store.turn_of("a").await;
    assert_eq!(visible.item.messages, vec![signal("a", "visible")], "the start is hidden");
    assert_eq!(visible.attempt, 1, "a hidden message does not count");
    abandon_turn(&store, &visible, NOT_COUNTED).await;

    store.pass(delay).await;
    store.expire().await;
    let both = store.turn_of("a").await;
    assert_eq!(both.item.messages, vec![start_item("a"), signal("a", "visible")]);
    assert_eq!(both.attempt, 3, "the start was fetched twice before");
}

/// A delay hides the fetched messages; messages that arrived under the lease stay visible.
pub async fn orchestration_delayed_abandon_preserves_unlocked_rows<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.create("a").await;
    let delay = store.lease() * 2;
    store.send(signal("a", "fetched")).await;
    let turn = store.turn_of("a").await;
    store.send(signal("a", "later")).await;
    abandon_turn(&store, &turn, (Some(delay), false)).await;

    let later = store.turn_of("a").await;
    assert_eq!(
        later.item.messages,
        vec![signal("a", "later")],
        "only the fetched message is hidden"
    );
    assert_eq!(later.attempt, 1);
    store.ack(commit(&later, vec![heard("a", 1, 2)])).await.must("a commit");
    store.no_turn("the fetched message is still hidden").await;
    store.pass(delay).await;
    store.expire().await;
    let hidden = store.turn_of("a").await;
    assert_eq!(hidden.item.messages, vec![signal("a", "fetched")]);
    assert_eq!(hidden.attempt, 2);
}

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __poison_message {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context poison_message
            orchestration_attempt_count_starts_at_one;
            orchestration_attempt_count_increments_on_refetch;
            worker_attempt_count_starts_at_one;
            worker_attempt_count_increments_on_lock_expiry;
            attempt_count_is_per_message;
            abandon_work_item_ignore_attempt_decrements;
            abandon_orchestration_item_ignore_attempt_decrements;
            ignore_attempt_never_goes_negative;
            max_attempt_count_across_message_batch;
            orchestration_ignore_attempt_preserves_hidden_start;
            orchestration_delayed_abandon_preserves_unlocked_rows;
        }
    };
}
