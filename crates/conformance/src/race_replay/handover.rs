//! The transition between two executions loses nothing.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::WorkItem;
use duroxide_core::runtime::{OrchestrationRegistryBuilder, Runtime, RuntimeOptions};
use duroxide_core::{ErrorDetails, Event, EventKind};

use super::nodes::{
    NAME, client, count, has, history_later, history_until, message, node, options, orchestrations,
    output, raised, stamped, stop,
};
use crate::ProviderFactory;
use crate::support::{Must, Store, commit, completed, ended, event, start_item, started};

const HIDDEN_FOR: Duration = Duration::from_secs(2);
const SETTLE: Duration = Duration::from_millis(50);

/// Version 1.0.0 waits for a signal and continues as 2.0.0, without reading its queue.
fn first_version() -> OrchestrationRegistryBuilder {
    orchestrations().register_versioned(NAME, "1.0.0", |ctx, _input| async move {
        ctx.schedule_wait("continue").await;
        ctx.continue_as_new_versioned("2.0.0", "next").await
    })
}

fn continued(kind: &EventKind) -> bool {
    matches!(kind, EventKind::OrchestrationContinuedAsNew { .. })
}

fn waits(kind: &EventKind) -> bool {
    matches!(kind, EventKind::ExternalSubscribed { .. })
}

/// An instance that has continued as new with two carried messages, on a node without the
/// successor's code.
async fn continue_to_unknown<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    instance: &str,
    options: RuntimeOptions,
) -> Arc<Runtime> {
    let started = client(store).start_orchestration_versioned(instance, NAME, "1.0.0", "in").await;
    started.expect("starting an instance");
    let old = node(store, first_version().build(), options).await;
    history_until(store, (instance, 1), "it must subscribe", |history| has(history, waits)).await;
    for data in ["carried 1", "carried 2"] {
        store.send(message(instance, "queue", data)).await;
    }
    store.send(raised(instance, "continue", "")).await;
    let finished = |history: &[Event]| has(history, continued);
    history_until(store, (instance, 1), "it must continue as new", finished).await;
    old
}

/// While no node has the successor's code, its start waits, and so do all later messages.
pub async fn test_continue_as_new_unregistered_backoff<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let old = continue_to_unknown(&store, "chain", options()).await;
    store.send(message("chain", "queue", "late")).await;
    // Lets the old node fetch the successor's start and the late message.
    tokio::time::sleep(SETTLE).await;
    stop(old).await;
    let second = store.provider.read_with_execution("chain", 2).await;
    assert_eq!(second.must("reading the history of an execution"), vec![], "it has not started");

    let registry = first_version()
        .register_versioned(NAME, "2.0.0", |ctx, input| async move {
            let mut seen = vec![input];
            for _ in 0..3 {
                seen.push(ctx.dequeue_event("queue").await);
            }
            Ok(seen.join(", "))
        })
        .build();
    let new = node(&store, registry, options()).await;
    let finished = |history: &[Event]| history.iter().any(Event::is_terminal);
    history_later(&store, ("chain", 2), "the successor must complete", finished).await;
    assert_eq!(output(&store, "chain").await, "next, carried 1, carried 2, late");
    stop(new).await;
}

/// A successor whose start is poisoned fails as its own execution.
pub async fn test_continue_as_new_poisoned_successor_is_own_execution<
    F: ProviderFactory + ?Sized,
>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    let impatient = RuntimeOptions { max_attempts: 2, ..options() };
    let old = continue_to_unknown(&store, "chain", impatient).await;
    let finished = |history: &[Event]| history.iter().any(Event::is_terminal);
    let second = history_later(&store, ("chain", 2), "the successor must fail", finished).await;
    let kinds: Vec<_> = second.iter().map(|event| &event.kind).collect();
    let poisoned = matches!(
        kinds[..],
        [
            EventKind::OrchestrationStarted { .. },
            EventKind::OrchestrationFailed { details: ErrorDetails::Poison { .. } }
        ]
    );
    assert!(poisoned, "not a start and a failure: {second:#?}");
    let first = store.provider.read_with_execution("chain", 1).await;
    let first = first.must("reading the history of an execution");
    assert!(has(&first, continued), "the first execution keeps its own last event");
    let failed = |kind: &EventKind| matches!(kind, EventKind::OrchestrationFailed { .. });
    assert!(!has(&first, failed), "the first execution did not fail");

    // These messages arrive after the instance has finished.
    store.send(message("chain", "queue", "too late")).await;
    store.send(raised("chain", "signal", "too late")).await;
    if let Some(admin) = store.provider.as_management_capability() {
        let info = admin.get_execution_info("chain", 1).await.must("info of an execution");
        assert_eq!(info.status, "ContinuedAsNew");
        let info = admin.get_instance_info("chain").await.must("info of an instance");
        assert_eq!((info.status.as_str(), info.current_execution_id), ("Failed", 2));
    }
    // The node processes messages in order, so this start is processed after the others.
    let started = client(&store).start_orchestration_versioned("marker", NAME, "1.0.0", "in").await;
    started.expect("starting an instance");
    history_later(&store, ("marker", 1), "it must subscribe", |history| has(history, waits)).await;
    tokio::time::sleep(SETTLE).await;
    stop(old).await;
    store.pass(HIDDEN_FOR).await;
    store.no_turn("messages for a finished instance are discarded").await;
    assert_eq!(store.history("chain").await, second, "and leave no event");
}

/// Runs the validation for an execution of each race policy.
pub(crate) async fn transition_delivery_of_all_stamps<F: ProviderFactory + ?Sized>(factory: &F) {
    for stamp in ["0.1.30", "0.1.31"] {
        test_continue_as_new_transition_delivery(factory, stamp).await;
    }
}

/// Stores an instance that has continued as new and whose successor's start is still hidden.
async fn hidden_successor<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    instance: &str,
    stamp: &str,
) {
    store.send(start_item(instance)).await;
    let turn = store.turn_of(instance).await;
    let scheduled = EventKind::ActivityScheduled {
        name: "Late".to_owned(),
        input: String::new(),
        session_id: None,
        tag: None,
    };
    let continued = EventKind::OrchestrationContinuedAsNew { input: "next".to_owned() };
    let events =
        [started(instance, 1), event(instance, 1, 2, scheduled), event(instance, 1, 3, continued)];
    let events = events.into_iter().map(|event| stamped(event, stamp)).collect();
    let last = commit(&turn, events).with_metadata(ended("ContinuedAsNew", "next"));
    store.ack(last).await.must("a commit that ends an execution");
    let successor = WorkItem::ContinueAsNew {
        instance: instance.to_owned(),
        orchestration: NAME.to_owned(),
        input: "next".to_owned(),
        version: None,
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: vec![("queue".to_owned(), "carried".to_owned())],
        initial_custom_status: None,
    };
    store.send_after(successor, HIDDEN_FOR).await;
}

/// Messages that arrive before the successor's start is visible reach the successor; results for
/// the previous execution do not.
pub async fn test_continue_as_new_transition_delivery<F: ProviderFactory + ?Sized>(
    factory: &F,
    stamp: &str,
) {
    let store = Store::open(factory).await;
    for instance in ["continued", "cancelled"] {
        hidden_successor(&store, instance, stamp).await;
    }
    store.send(completed("continued", 2)).await;
    store.send(message("continued", "queue", "late")).await;
    store.send(raised("continued", "signal", "heard")).await;
    let reason = "enough".to_owned();
    store.send(WorkItem::CancelInstance { instance: "cancelled".to_owned(), reason }).await;
    let registry = orchestrations()
        .register(NAME, |ctx, input| async move {
            let first = ctx.dequeue_event("queue").await;
            let second = ctx.dequeue_event("queue").await;
            ctx.dequeue_event("end").await;
            Ok(format!("{input}: {first}, {second}"))
        })
        .build();
    let running = node(&store, registry, options()).await;
    tokio::time::sleep(SETTLE).await;
    for instance in ["continued", "cancelled"] {
        let early = store.provider.read_with_execution(instance, 2).await;
        assert_eq!(early.must("reading the history of an execution"), vec![], "it is hidden");
    }

    let heard = |kind: &EventKind| matches!(kind, EventKind::ExternalEvent { .. });
    let signalled = |history: &[Event]| has(history, heard);
    history_later(&store, ("continued", 2), "the signal must arrive", signalled).await;
    store.send(message("continued", "end", "")).await;
    assert_eq!(output(&store, "continued").await, "next: carried, late");
    let history = store.history("continued").await;
    let completed_activity = |kind: &EventKind| matches!(kind, EventKind::ActivityCompleted { .. });
    assert_eq!(count(&history, completed_activity), 0, "the result was for the previous execution");
    assert_eq!(count(&history, heard), 1);

    let finished = |history: &[Event]| history.iter().any(Event::is_terminal);
    let history = history_later(&store, ("cancelled", 2), "it must be cancelled", finished).await;
    let request = EventKind::OrchestrationCancelRequested { reason: "enough".to_owned() };
    assert!(has(&history, |kind| *kind == request), "{history:#?}");
    stop(running).await;
}
