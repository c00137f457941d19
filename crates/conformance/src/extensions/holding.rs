//! An operator's call holds an instance in place of the nodes, and ends it.

use std::sync::Arc;

use duroxide_core::model::ExecutionStatus;
use duroxide_core::providers::{
    HeldInstance, ProviderErrorKind, StoredEvent, StoredEventsQuery, TurnCommit,
};
use duroxide_core::{ErrorDetails, EventKind};

use crate::ProviderFactory;
use crate::support::{
    Must, Store, activity, cancellation, child_start_item, commit, continuation, ended, event,
    heard, identified, signal, start_item, timer,
};

/// More events than a provider that bounds its reads returns at once.
const EVENTS_MANY: u64 = 20;
const READS_MAX: usize = 100;

async fn hold<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, instance: &str) -> HeldInstance {
    store.admin().hold_instance(instance, store.lease()).await.must("holding an instance")
}

/// The commit that ends a held instance.
fn ending(instance: &str, held: &HeldInstance) -> TurnCommit {
    let details = ErrorDetails::Application {
        kind: duroxide_core::AppErrorKind::Cancelled { reason: "why".to_owned() },
        message: String::new(),
        retryable: false,
    };
    let failed = EventKind::OrchestrationFailed { details };
    let failed = event(instance, held.execution_id, held.last_event_id + 1, failed);
    TurnCommit::new(held.lock_token.clone(), held.execution_id)
        .with_history_delta(vec![failed])
        .with_metadata(ended("Failed", "canceled: why"))
        .with_cancelled_activities(held.activities.clone())
}

/// The turn that a node holds is lost without an attempt, no node gets another, and a commit under
/// the token ends the instance.
pub async fn a_held_instance_is_taken_from_its_node<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.send(signal("a", "1")).await;
    let turn = store.turn_of("a").await;
    let held = hold(&store, "a").await;
    assert_eq!(held.status, Some(ExecutionStatus::Running));
    assert_eq!((held.execution_id, held.last_event_id), (1, 1));
    let lost = store.ack(commit(&turn, vec![heard("a", 1, 2)])).await;
    let lost = lost.must_fail_for_good("a commit of the turn that was held");
    assert_eq!(lost.kind, ProviderErrorKind::LostLease);
    store.send(signal("a", "2")).await;
    store.no_turn("a held instance takes no turn").await;
    let committed = store.provider.commit_turn(Arc::new(ending("a", &held))).await;
    committed.must("a commit under the token of a hold");
    let info = store.admin().get_instance_info("a").await.must("reading an instance");
    assert_eq!(info.status, "Failed");
    let late = store.turn_of("a").await;
    assert_eq!(late.item.messages, vec![signal("a", "1"), signal("a", "2")]);
    assert_eq!(late.attempt, 1, "a lost turn counts no attempt");
}

/// Of two calls that hold an instance, the later one does.
pub async fn a_later_hold_wins<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    let first = hold(&store, "a").await;
    let second = hold(&store, "a").await;
    let lost = store.provider.commit_turn(Arc::new(ending("a", &first))).await;
    let lost = lost.must_fail_for_good("a commit under the earlier token");
    assert_eq!(lost.kind, ProviderErrorKind::LostLease);
    let committed = store.provider.commit_turn(Arc::new(ending("a", &second))).await;
    committed.must("a commit under the later token");
}

/// A hold names the visible cancellations that wait, in order, and not those that came before the
/// start of the instance.
pub async fn a_hold_names_the_cancellations<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    assert!(hold(&store, "a").await.cancellations.is_empty(), "none waits");
    store.send(cancellation("a", "one")).await;
    store.send(signal("a", "1")).await;
    store.send(cancellation("a", "two")).await;
    store.send_after(cancellation("a", "later"), store.lease() * 100).await;
    store.send(cancellation("b", "of another")).await;
    assert_eq!(hold(&store, "a").await.cancellations, ["one", "two"]);
    store.send(cancellation("new", "early")).await;
    store.send(start_item("new")).await;
    assert!(hold(&store, "new").await.cancellations.is_empty(), "it came before the start");
    store.send(cancellation("new", "late")).await;
    assert_eq!(hold(&store, "new").await.cancellations, ["late"]);
}

/// A hold that is released or expires changes nothing.
pub async fn a_hold_without_a_commit_changes_nothing<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.send(signal("a", "1")).await;
    let held = hold(&store, "a").await;
    let released = store.provider.abandon_orchestration_item(&held.lock_token, None, true).await;
    released.must("releasing a hold");
    let turn = store.turn_of("a").await;
    assert_eq!(turn.attempt, 1);
    let held = hold(&store, "a").await;
    store.no_turn("a held instance takes no turn").await;
    store.expire().await;
    let late = store.provider.commit_turn(Arc::new(ending("a", &held))).await;
    late.must_fail_for_good("a commit under a hold that has expired");
    let turn = store.turn_of("a").await;
    assert_eq!(turn.attempt, 1, "a hold counts no attempt");
    store.ack(commit(&turn, vec![heard("a", 1, 2)])).await.must("a commit after a hold");
}

/// A hold names the activities, whether a worker has leased them or not, so that the commit can
/// cancel them.
pub async fn a_hold_names_the_activities<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    for id in [3, 2] {
        store.send_work(activity("a", id)).await;
    }
    store.send_work(activity("other", 2)).await;
    store.work().await;
    let held = hold(&store, "a").await;
    assert_eq!(held.activities, [identified("a", 2), identified("a", 3)]);
    let committed = store.provider.commit_turn(Arc::new(ending("a", &held))).await;
    committed.must("a commit that cancels activities");
    let left = store.work().await;
    assert_eq!(left.item, activity("other", 2));
    store.no_work("the activities are cancelled").await;
}

/// What starts the next execution is part of a hold: an instance that is not stored can be held,
/// and one between two executions.
pub async fn a_hold_names_the_queued_start<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("new")).await;
    let held = hold(&store, "new").await;
    assert_eq!((held.status, held.last_event_id), (None, 0));
    assert_eq!(held.start, Some(start_item("new")));
    store.no_turn("a held start is not fetched").await;
    store.create("between").await;
    let last = store.woken("between").await;
    let ending = commit(&last, vec![heard("between", 1, 2)])
        .with_metadata(ended("ContinuedAsNew", "next"))
        .with_messages("between", vec![continuation("between", "{}")]);
    store.ack(ending).await.must("a commit that continues as new");
    let held = hold(&store, "between").await;
    assert_eq!((held.status, held.execution_id), (Some(ExecutionStatus::ContinuedAsNew), 1));
    let start = held.start.expect("the continuation is queued");
    assert_eq!(start, continuation("between", "{}"));
    store.create("running").await;
    assert_eq!(hold(&store, "running").await.start, None);
}

/// An operator's suspension outlives a hold that is released or expires, and ends with a commit.
pub async fn a_hold_keeps_a_suspension<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.send(signal("a", "1")).await;
    store.admin().suspend_instance("a", "maintenance").await.must("suspending an instance");
    let held = hold(&store, "a").await;
    let released = store.provider.abandon_orchestration_item(&held.lock_token, None, true).await;
    released.must("releasing a hold");
    store.no_turn("the instance is still suspended").await;
    hold(&store, "a").await;
    store.expire().await;
    store.no_turn("the suspension outlives the hold").await;
    let suspension = store.admin().read_suspension("a").await.must("reading a suspension");
    assert_eq!(suspension.expect("a suspension").reason, "maintenance");
    let held = hold(&store, "a").await;
    let committed = store.provider.commit_turn(Arc::new(ending("a", &held))).await;
    committed.must("a commit under the token of a hold");
    let suspension = store.admin().read_suspension("a").await.must("reading no suspension");
    assert_eq!(suspension, None);
}

/// Only an instance that exists and has not ended can be held.
pub async fn only_an_open_instance_can_be_held<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("done").await;
    store.complete("done", "done").await;
    store.create("failed").await;
    store.fail("failed", "failed").await;
    store.create("deleted").await;
    store.admin().delete_instance("deleted", true).await.must("deleting an instance");
    for (instance, kind) in [
        ("unknown", ProviderErrorKind::NotFound),
        ("deleted", ProviderErrorKind::NotFound),
        ("done", ProviderErrorKind::Conflict),
        ("failed", ProviderErrorKind::Conflict),
    ] {
        let refused = store.admin().hold_instance(instance, store.lease()).await;
        let refused = refused.map(drop).must_fail_for_good("holding such an instance");
        assert_eq!(refused.kind, kind, "{instance}");
    }
}

/// What waits for an instance that has ended is removed, hidden or not, except the starts of
/// parents, which a node has to respond to. Nothing of a running instance is removed.
pub async fn late_messages_are_discarded<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.send(signal("a", "1")).await;
    let discarded = store.admin().discard_late_messages("a").await.must("discarding nothing");
    assert_eq!(discarded, 0, "the instance runs");
    store.complete("a", "done").await;
    store.send(timer("a", 2, store.now_ms() + 60_000)).await;
    store.send(start_item("a")).await;
    store.send(child_start_item("a", "parent")).await;
    store.send(signal("other", "1")).await;
    for expected in [2, 0] {
        let discarded = store.admin().discard_late_messages("a").await.must("discarding messages");
        assert_eq!(discarded, expected);
    }
    let turn = store.turn_of("a").await;
    assert_eq!(turn.item.messages, vec![child_start_item("a", "parent")]);
}

/// The events of an execution come page by page, each once and in order.
pub async fn stored_events_are_read_in_order<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    let turn = store.woken("a").await;
    let events = (2..=EVENTS_MANY).map(|id| heard("a", 1, id)).collect();
    store.ack(commit(&turn, events)).await.must("a commit of many events");
    let read = read_all(&store, "a").await;
    let decoded: Vec<_> = read.iter().filter_map(StoredEvent::decoded).cloned().collect();
    assert_eq!(decoded, store.history("a").await);
    assert_eq!(read_all(&store, "unknown").await, []);
}

/// An event that cannot be decoded comes as it is stored; the status of its instance can be read.
pub async fn undecodable_events_are_returned_raw<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    factory.corrupt_instance_history("a").await;
    let read = read_all(&store, "a").await;
    let [StoredEvent::Raw(raw)] = read.as_slice() else { panic!("not one raw event: {read:?}") };
    assert_eq!(raw.event_id, 1);
    assert!(!raw.error.is_empty() && !raw.text.is_empty(), "{raw:?}");
    let held = hold(&store, "a").await;
    assert_eq!(held.last_event_id, 1);
    let committed = store.provider.commit_turn(Arc::new(ending("a", &held))).await;
    committed.must("ending an instance with an unreadable history");
    let info = store.admin().get_instance_info("a").await.must("reading an instance");
    assert_eq!(info.status, "Failed");
}

async fn read_all<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    instance: &str,
) -> Vec<StoredEvent> {
    let mut all: Vec<StoredEvent> = Vec::new();
    for _ in 0..READS_MAX {
        let last = all.last().map_or(0, StoredEvent::event_id);
        let query = StoredEventsQuery::new(instance, 1).behind(last);
        let events = store.admin().read_stored_events(query).await.must("reading stored events");
        if events.is_empty() {
            return all;
        }
        all.extend(events);
    }
    panic!("the reads do not end: {all:?}");
}
