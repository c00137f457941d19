//! An instance keeps the histories of all its executions apart.

use duroxide_core::providers::WorkItem;
use duroxide_core::{Event, EventKind};

use crate::ProviderFactory;
use crate::support::{
    Must, Store, Turn, commit, ended, event, heard, named, signal, start_item, started,
};

fn continue_as_new(instance: &str) -> WorkItem {
    WorkItem::ContinueAsNew {
        instance: instance.to_owned(),
        orchestration: "TestOrch".to_owned(),
        input: "next".to_owned(),
        version: None,
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: vec![("queue".to_owned(), "unread".to_owned())],
        initial_custom_status: Some("status".to_owned()),
    }
}

fn continued(instance: &str, execution_id: u64, event_id: u64) -> Event {
    let kind = EventKind::OrchestrationContinuedAsNew { input: "next".to_owned() };
    event(instance, execution_id, event_id, kind)
}

/// Finishes the fetched execution with a third event and enqueues the next one.
async fn end_and_continue<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    turn: &Turn,
    mut events: Vec<Event>,
    execution_id: u64,
) -> Vec<Event> {
    let instance = turn.item.instance.as_str();
    events.push(continued(instance, execution_id, 3));
    let last = commit(turn, events.clone())
        .with_execution_id(execution_id)
        .with_metadata(ended("ContinuedAsNew", "next"))
        .with_messages(&turn.item.instance, vec![continue_as_new(instance)]);
    store.ack(last).await.must("a commit that continues as new");
    events
}

/// Runs executions 1 to `count`; all but the last continue as new. Returns their histories.
async fn run_executions<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    count: u64,
) -> Vec<Vec<Event>> {
    store.send(start_item("a")).await;
    let mut histories: Vec<Vec<Event>> = Vec::new();
    for execution_id in 1..=count {
        let turn = store.turn_of("a").await;
        let before = execution_id.saturating_sub(1).max(1);
        assert_eq!(turn.item.execution_id, before, "a fetch reports the current execution");
        assert_eq!(turn.item.history, histories.last().cloned().unwrap_or_default());
        if execution_id > 1 {
            assert_eq!(turn.item.messages, vec![continue_as_new("a")]);
        }
        let events = vec![started("a", execution_id), heard("a", execution_id, 2)];
        if execution_id < count {
            histories.push(end_and_continue(store, &turn, events, execution_id).await);
        } else {
            let running = commit(&turn, events.clone()).with_execution_id(execution_id);
            store.ack(running).await.must("a commit to the latest execution");
            histories.push(events);
        }
    }
    histories
}

/// Each execution has its own history; reading without a number reads the latest.
pub async fn test_execution_isolation<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let histories = run_executions(&store, 2).await;
    assert_eq!(store.history("a").await, histories[1], "read returns the latest execution");
    assert_executions(&store, &histories).await;
    store.send(signal("a", "next")).await;
    let turn = store.turn_of("a").await;
    assert_eq!(turn.item.execution_id, 2);
    assert_eq!(turn.item.history, histories[1], "a turn contains only the current execution");
}

async fn assert_executions<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    histories: &[Vec<Event>],
) {
    for (execution_id, expected) in (1..).zip(histories) {
        let stored = store.provider.read_with_execution("a", execution_id).await;
        assert_eq!(&stored.must("reading an execution"), expected, "execution {execution_id}");
    }
}

/// The latest execution is the one with the highest number, not the one committed last.
pub async fn test_latest_execution_detection<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let histories = run_executions(&store, 3).await;
    store.send(signal("a", "late")).await;
    let turn = store.turn_of("a").await;
    let to_the_past =
        commit(&turn, vec![heard("a", 1, 9)]).with_execution_id(1).with_metadata(named());
    store.ack(to_the_past).await.must("a commit to an earlier execution");
    assert_eq!(store.history("a").await, histories[2], "the latest execution stays the latest");
    if let Some(admin) = store.provider.as_management_capability() {
        let latest = admin.latest_execution_id("a").await.must("reading the latest execution");
        assert_eq!(latest, 3);
    }
    store.send(signal("a", "next")).await;
    assert_eq!(store.turn_of("a").await.item.execution_id, 3);
}

/// A fetch reports the current execution; a commit with a higher number advances it.
pub async fn test_execution_id_sequencing<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    for execution_id in 1..=4 {
        store.send(signal("a", "next")).await;
        let turn = store.turn_of("a").await;
        assert_eq!(turn.item.execution_id, execution_id, "the number comes from the last commit");
        let next = execution_id + 1;
        let events = vec![started("a", next)];
        let moved = commit(&turn, events).with_execution_id(next);
        store.ack(moved).await.must("a commit with a higher number");
    }
}

/// Continuing as new finishes one execution and starts another; the first one stays readable.
pub async fn test_continue_as_new_creates_new_execution<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let histories = run_executions(&store, 2).await;
    assert_executions(&store, &histories).await;
    let Some(admin) = store.provider.as_management_capability() else { return };
    let executions = admin.list_executions("a").await.must("listing executions");
    assert_eq!(executions, vec![1, 2]);
    let first = admin.get_execution_info("a", 1).await.must("info of a finished execution");
    assert_eq!((first.status.as_str(), first.output.as_deref()), ("ContinuedAsNew", Some("next")));
    assert!(first.completed_at.is_some(), "a finished execution has a completion time");
    assert_eq!(first.event_count, 3);
    let second = admin.get_execution_info("a", 2).await.must("info of a running execution");
    assert_eq!((second.status.as_str(), second.output), ("Running", None));
    assert_eq!(second.completed_at, None, "a running execution has no completion time");
}

/// Three executions have three independent histories.
pub async fn test_execution_history_persistence<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let mut histories = run_executions(&store, 3).await;
    assert_executions(&store, &histories).await;
    store.send(signal("a", "next")).await;
    let turn = store.turn_of("a").await;
    let delta = vec![heard("a", 3, 3), heard("a", 3, 4)];
    store.ack(commit(&turn, delta.clone())).await.must("another commit to the third execution");
    histories[2].extend(delta);
    assert_executions(&store, &histories).await;
}

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __multi_execution {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context multi_execution
            test_execution_isolation;
            test_latest_execution_detection;
            test_execution_id_sequencing;
            test_continue_as_new_creates_new_execution;
            test_execution_history_persistence;
        }
    };
}
