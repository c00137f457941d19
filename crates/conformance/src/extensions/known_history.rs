//! A fetch may omit the history that the caller holds. A provider may always return all of it.

use std::sync::Arc;

use duroxide_core::Event;
use duroxide_core::providers::{FetchedTurn, HistoryMark, KnownHistory};

use super::batches::turn_fetch;
use crate::ProviderFactory;
use crate::support::{Must, Store, Turn, commit, heard, signal, start_item, started};

struct Held(HistoryMark);

impl KnownHistory for Held {
    fn mark(&self, _instance: &str) -> Option<HistoryMark> {
        Some(self.0)
    }
}

/// Enqueues a message and fetches the turn as a caller that holds the history up to the mark.
async fn turn_with<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    mark: HistoryMark,
) -> FetchedTurn {
    store.send(signal("a", "next")).await;
    let known: Arc<dyn KnownHistory> = Arc::new(Held(mark));
    let request = turn_fetch(1, store.lease()).with_known(known);
    let batch = store.provider.fetch_orchestration_items(request).await;
    let mut batch = batch.must("fetching with known history");
    assert_eq!(batch.len(), 1, "one turn is fetchable");
    batch.remove(0)
}

/// Commits events to the fetched turn.
async fn commit_to<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    turn: FetchedTurn,
    events: Vec<Event>,
) {
    let FetchedTurn { item, lock_token: token, attempt_count: attempt, .. } = turn;
    let turn = Turn { item, token, attempt };
    store.ack(commit(&turn, events)).await.must("a commit after a partial fetch");
}

/// Creates "a" with three events. The mark is after the second event; `None` if the provider has no
/// incarnations.
async fn create_marked<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
) -> (Option<HistoryMark>, Vec<Event>) {
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    let events = vec![started("a", 1), heard("a", 1, 2), heard("a", 1, 3)];
    let committed = store.provider.commit_turn(Arc::new(commit(&turn, events.clone()))).await;
    let incarnation = committed.must("committing a turn").incarnation;
    let mark = incarnation
        .map(|incarnation| HistoryMark::new(incarnation).with_execution_id(1).with_event_id(2));
    (mark, events)
}

// The mark for a provider without incarnations, which must ignore every mark.
const FOREIGN: HistoryMark = HistoryMark::new(1).with_execution_id(1).with_event_id(2);

#[track_caller]
fn assert_whole(turn: &FetchedTurn, events: &[Event], what: &str) {
    assert_eq!(turn.history_after, 0, "{what} is ignored");
    assert_eq!(turn.item.history, events, "{what} is ignored");
}

/// The omitted part and the returned part make the whole history.
pub async fn known_history_is_left_out_exactly<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let (mark, mut events) = create_marked(&store).await;
    for event_id in 4..=5 {
        let turn = turn_with(&store, mark.unwrap_or(FOREIGN)).await;
        assert_eq!(turn.item.history_error, None);
        match (mark, turn.history_after) {
            (_, 0) => assert_eq!(turn.item.history, events, "the whole history is returned"),
            (Some(mark), after) => {
                assert_eq!(after, mark.event_id, "the omitted part ends at the mark");
                assert_eq!(
                    turn.item.history,
                    events[2..],
                    "the events after the mark are returned"
                );
            }
            (None, after) => panic!("omitted up to {after} although no mark exists"),
        }
        let delta = vec![heard("a", 1, event_id)];
        commit_to(&store, turn, delta.clone()).await;
        events.extend(delta);
    }
    assert_eq!(store.history("a").await, events, "omitted events stay stored");
}

/// A mark of another execution, another incarnation or a later event is ignored.
pub async fn a_mark_that_does_not_match_is_ignored<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let (mark, events) = create_marked(&store).await;
    let mark = mark.unwrap_or(FOREIGN);
    for (wrong, what) in [
        (mark.with_execution_id(2), "a mark of another execution"),
        (mark.with_event_id(99), "a mark past the end"),
        (mark.with_incarnation(mark.incarnation ^ 1), "another incarnation's mark"),
    ] {
        let turn = turn_with(&store, wrong).await;
        assert_whole(&turn, &events, what);
        commit_to(&store, turn, vec![]).await;
    }
}

/// A mark of an earlier execution is ignored once the next execution has started.
pub async fn a_mark_of_an_earlier_execution_is_ignored<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let (mark, _) = create_marked(&store).await;
    store.send(signal("a", "next")).await;
    let turn = store.turn_of("a").await;
    let events = vec![started("a", 2), heard("a", 2, 2), heard("a", 2, 3)];
    let moved = commit(&turn, events.clone()).with_execution_id(2);
    store.ack(moved).await.must("a commit to the next execution");
    let turn = turn_with(&store, mark.unwrap_or(FOREIGN)).await;
    assert_eq!(turn.item.execution_id, 2);
    assert_whole(&turn, &events, "a mark of an earlier execution");
}

/// A store that was restored from a backup may hold a history of the same length that other commits
/// wrote. A mark names its commit, so that neither its end nor its beginning is taken for the one
/// that the caller holds.
pub async fn a_mark_of_another_commit_is_ignored<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    let mut events = vec![started("a", 1), heard("a", 1, 2)];
    let first = commit(&turn, events.clone()).with_commit_id(Some(7));
    let committed = store.provider.commit_turn(Arc::new(first)).await.must("committing a turn");
    let mark = committed.incarnation.map_or(FOREIGN, |incarnation| {
        HistoryMark::new(incarnation).with_execution_id(1).with_event_id(2)
    });
    for event_id in 3..=4 {
        let turn = turn_with(&store, mark.with_commit_id(Some(8))).await;
        assert_whole(&turn, &events, "a mark of another commit");
        commit_to(&store, turn, vec![]).await;
        let turn = turn_with(&store, mark.with_commit_id(Some(7))).await;
        if turn.history_after > 0 {
            assert_eq!(turn.history_after, 2, "the omitted part ends at the mark");
            assert_eq!(turn.item.history, events[2..], "the events after the mark are returned");
        }
        let delta = vec![heard("a", 1, event_id)];
        commit_to(&store, turn, delta.clone()).await;
        events.extend(delta);
    }
    // The last event came without a commit id.
    let turn = turn_with(&store, mark.with_event_id(4).with_commit_id(Some(7))).await;
    assert_whole(&turn, &events, "a mark of a commit that the store does not know");
}

/// An instance that was deleted and created again has a new incarnation, so old marks are ignored.
pub async fn a_recreated_instance_has_a_new_incarnation<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let (old, _) = create_marked(&store).await;
    store.admin().delete_instance("a", true).await.must("deleting by force");
    let (new, events) = create_marked(&store).await;
    if let (Some(old), Some(new)) = (old, new) {
        assert_ne!(old.incarnation, new.incarnation, "an incarnation is never reused");
    }
    let turn = turn_with(&store, old.unwrap_or(FOREIGN)).await;
    assert_whole(&turn, &events, "a mark of the deleted instance");
}

/// All commits of an instance return the same incarnation, and no two instances share one.
pub async fn an_incarnation_stays_with_its_instance<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let mut incarnations = Vec::new();
    for instance in ["a", "b"] {
        store.send(start_item(instance)).await;
        for event_id in 1..=3 {
            let turn = store.turn_of(instance).await;
            let event =
                if event_id == 1 { started(instance, 1) } else { heard(instance, 1, event_id) };
            let committed = store.provider.commit_turn(Arc::new(commit(&turn, vec![event]))).await;
            incarnations.push(committed.must("committing a turn").incarnation);
            if event_id < 3 {
                store.send(signal(instance, "next")).await;
            }
        }
    }
    assert!(incarnations[..3].iter().all(|found| *found == incarnations[0]), "{incarnations:?}");
    assert!(incarnations[3..].iter().all(|found| *found == incarnations[3]), "{incarnations:?}");
    if incarnations[0].is_some() {
        assert_ne!(incarnations[0], incarnations[3], "two instances share an incarnation");
    }
}

/// A corrupt history is also reported to a caller that holds a part of it.
pub async fn a_corrupt_history_is_reported_despite_a_mark<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    let (mark, _) = create_marked(&store).await;
    store.factory.corrupt_instance_history("a").await;
    let turn = turn_with(&store, mark.unwrap_or(FOREIGN)).await;
    assert!(turn.item.history_error.is_some(), "the third event cannot be decoded");
    assert_eq!(turn.item.history, vec![], "a corrupt history is not returned in part");
    assert_eq!(turn.history_after, 0, "the caller's part cannot be trusted");
    assert_eq!(turn.item.messages, vec![signal("a", "next")]);
}
