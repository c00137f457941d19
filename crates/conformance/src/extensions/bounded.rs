//! Turns are bounded, and so is what a fetch returns.

use std::sync::Arc;

use duroxide_core::Event;
use duroxide_core::providers::{FetchedTurn, WorkItem};

use super::batches::turn_fetch;
use crate::ProviderFactory;
use crate::support::{
    Must, Store, commit, continuation, ended, heard, queued, signal, start_item, started,
};

/// Messages of this size are too large to be one turn together.
const LARGE_BYTES: usize = 1024 * 1024;
const LARGE_COUNT: usize = 3;

/// Events of a history that a fetch need not return.
const LONG_HISTORY: u64 = 600;

fn large(number: usize) -> WorkItem {
    queued("a", &format!("{number}{}", "x".repeat(LARGE_BYTES)))
}

async fn send_large<F: ProviderFactory + ?Sized>(store: &Store<'_, F>) -> Vec<WorkItem> {
    let messages: Vec<_> = (0..LARGE_COUNT).map(large).collect();
    for message in &messages {
        store.send(message.clone()).await;
    }
    messages
}

/// What one turn does not take waits for the next turn: in order, each message once, as its first
/// attempt.
pub async fn a_bounded_turn_leaves_the_rest_to_the_next<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    let messages = send_large(&store).await;
    let mut received = Vec::new();
    while let Some(turn) = store.try_turn().await {
        assert_eq!(turn.attempt, 1, "a message that waits has no attempt");
        assert!(turn.item.messages.len() < LARGE_COUNT, "one turn takes everything");
        received.extend(turn.item.messages.clone());
        let committed = store.provider.commit_turn(Arc::new(commit(&turn, vec![]))).await;
        let committed = committed.must("committing a part of the messages");
        let is_last = received.len() == LARGE_COUNT;
        assert_eq!(committed.more_waits, !is_last, "the commit says whether more waits");
    }
    assert!(received == messages, "every message comes once and in order");
}

/// An expired lease counts only for the messages of its turn.
pub async fn a_bounded_turn_counts_only_its_messages<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    send_large(&store).await;
    let first = store.turn_of("a").await;
    store.expire().await;
    let again = store.turn_of("a").await;
    assert!(again.item.messages == first.item.messages, "the same messages come first");
    assert_eq!(again.attempt, 2);
    store.ack(commit(&again, vec![])).await.must("a commit");
    assert_eq!(store.turn_of("a").await.attempt, 1, "the rest was not fetched before");
}

/// A message that starts an execution is part of the turn, however many messages come before it.
pub async fn a_bounded_turn_has_its_start<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    send_large(&store).await;
    let start = continuation("a", "next");
    store.send(start.clone()).await;
    let turn = store.turn_of("a").await;
    assert!(turn.item.messages.contains(&start), "without it the code cannot run");
    assert!(turn.item.messages.len() <= LARGE_COUNT, "one turn takes everything");
}

/// A cancellation is part of the turn, however many messages come before it: the instance ends
/// without them.
pub async fn a_bounded_turn_has_its_cancellation<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    let messages = send_large(&store).await;
    let cancel = WorkItem::CancelInstance { instance: "a".to_owned(), reason: "why".to_owned() };
    store.send(cancel.clone()).await;
    let turn = store.turn_of("a").await;
    assert!(turn.item.messages.last() == Some(&cancel), "it comes last");
    let taken = turn.item.messages.len() - 1;
    assert!(taken < LARGE_COUNT, "one turn takes everything");
    assert!(turn.item.messages[..taken] == messages[..taken], "the others are the first ones");
    store.ack(commit(&turn, vec![])).await.must("a commit");
    let next = store.turn_of("a").await;
    assert!(!next.item.messages.contains(&cancel), "it comes once");
}

/// Creates "a" with a long history in its second execution, and a message for it.
async fn create_long<F: ProviderFactory + ?Sized>(store: &Store<'_, F>) -> Vec<Event> {
    store.send(start_item("a")).await;
    let first = store.turn_of("a").await;
    let ends = commit(&first, vec![started("a", 1)]).with_metadata(ended("ContinuedAsNew", ""));
    store.ack(ends).await.must("the end of the first execution");
    store.send(signal("a", "1")).await;
    let second = store.turn_of("a").await;
    let later = (2..=LONG_HISTORY).map(|event_id| heard("a", 2, event_id));
    let events: Vec<_> = std::iter::once(started("a", 2)).chain(later).collect();
    let mut long = commit(&second, events.clone());
    long.execution_id = 2;
    store.ack(long).await.must("the commit of a long history");
    store.send(signal("a", "2")).await;
    events
}

async fn fetch<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, defers: bool) -> FetchedTurn {
    let request = turn_fetch(1, store.lease());
    let request = if defers { request.with_deferred_histories() } else { request };
    let fetched = store.provider.fetch_orchestration_items(request).await.must("fetching turns");
    fetched.into_iter().next().expect("a turn must be fetchable")
}

/// A fetch leaves a history to its caller only on request, and then the caller can read it.
pub async fn a_deferred_history_can_be_read<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let events = create_long(&store).await;
    let whole = fetch(&store, false).await;
    assert_eq!(whole.deferred, None, "the caller did not ask for it");
    assert!(whole.item.history == events, "the whole history");
    let released = store.provider.abandon_orchestration_item(&whole.lock_token, None, true).await;
    released.must("abandoning a turn");
    let turn = fetch(&store, true).await;
    assert_eq!(turn.item.execution_id, 2);
    match turn.deferred {
        Some(size) => {
            assert_eq!(size.events, LONG_HISTORY, "the size of the history");
            assert!(turn.item.history.is_empty(), "a part of it is of no use");
        }
        None => assert!(turn.item.history == events, "the whole history"),
    }
    let state = store.provider.read_turn_state("a", 2).await.must("reading the state of a turn");
    assert!(state.history == events, "the whole history in order");
    assert_eq!(state.history_error, None);
    let first = store.provider.read_turn_state("a", 1).await.must("reading another execution");
    assert_eq!(first.history.len(), 1, "of the execution that the caller names");
}

/// A history that cannot be decoded is reported as such, and does not fail the read.
pub async fn an_unreadable_turn_state_says_so<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    create_long(&store).await;
    factory.corrupt_instance_history("a").await;
    let state = store.provider.read_turn_state("a", 2).await.must("reading an unreadable state");
    assert!(state.history_error.is_some(), "the caller must learn it");
    assert!(state.history.is_empty(), "nothing of it can be trusted");
}
