//! Waits that lose a race: every replay of the history has the same winner.

use duroxide_core::providers::WorkItem;
use duroxide_core::runtime::{OrchestrationRegistry, RuntimeOptions};
use duroxide_core::{Either2, Event, EventKind};

use super::nodes::{
    NAME, count, has, history_until, message, node, options, orchestrations, output, raised, seed,
    stop, without_cache,
};
use crate::ProviderFactory;
use crate::support::Store;

const LEGACY: &str = "0.1.30";
const EARLY: &str = "0.1.31";

fn dequeue(queue: &str) -> EventKind {
    EventKind::QueueSubscribed { name: queue.to_owned() }
}

fn wait(name: &str) -> EventKind {
    EventKind::ExternalSubscribed { name: name.to_owned() }
}

fn given_up(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::QueueSubscriptionCancelled { .. }
            | EventKind::ExternalSubscribedCancelled { .. }
    )
}

/// The messages that drive an instance to completion.
struct Course {
    /// Enqueued before any node runs, so that they arrive in one batch.
    batch: Vec<WorkItem>,
    /// Sent after the loser of the race is recorded.
    rest: Vec<WorkItem>,
}

/// Runs an instance to completion: on one node with a cache, on one without, or on two nodes of
/// which the second has only the history.
async fn run_through<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    instance: &str,
    registry: &OrchestrationRegistry,
    (options, two_nodes): (RuntimeOptions, bool),
    course: Course,
) -> String {
    for item in course.batch {
        store.send(item).await;
    }
    let mut running = node(store, registry.clone(), options.clone()).await;
    let lost = |history: &[Event]| has(history, given_up);
    let before = history_until(store, (instance, 1), "the race must have a loser", lost).await;
    if two_nodes {
        stop(running).await;
        running = node(store, registry.clone(), options).await;
    }
    for item in course.rest {
        store.send(item).await;
    }
    let result = output(store, instance).await;
    stop(running).await;
    let history = store.history(instance).await;
    assert_eq!(history[..before.len()], before, "recorded events do not change");
    result
}

/// The ways in which an instance can be run.
fn ways() -> [(RuntimeOptions, bool); 3] {
    [(options(), false), (without_cache(), false), (options(), true)]
}

/// A dequeue that lost a race consumes no message: the next dequeue gets the oldest one.
pub async fn test_queue_race_cancellation_replay<F: ProviderFactory + ?Sized>(factory: &F) {
    let registry = orchestrations()
        .register(NAME, |ctx, _input| async move {
            let raced = ctx.select2(ctx.dequeue_event("queue"), ctx.schedule_wait("skip")).await;
            if let Either2::First(data) = raced {
                return Err(format!("the dequeue won with {data}"));
            }
            let first = ctx.dequeue_event("queue").await;
            let second = ctx.dequeue_event("queue").await;
            ctx.schedule_wait("end").await;
            Ok(format!("{first}, {second}"))
        })
        .build();
    for (number, way) in ways().into_iter().enumerate() {
        let store = Store::open(factory).await;
        let instance = format!("race {number}");
        seed(&store, &instance, EARLY, vec![dequeue("queue"), wait("skip")]).await;
        let batch = vec![
            raised(&instance, "skip", ""),
            message(&instance, "queue", "a"),
            message(&instance, "queue", "b"),
            message(&instance, "queue", "c"),
        ];
        let rest = vec![raised(&instance, "end", "")];
        let result = run_through(&store, &instance, &registry, way, Course { batch, rest }).await;
        assert_eq!(result, "a, b");
    }
}

/// Messages that were not read before continuing as new are read after it, in order and once.
pub async fn test_continue_as_new_queue_race_replay<F: ProviderFactory + ?Sized>(factory: &F) {
    let registry = orchestrations()
        .register(NAME, |ctx, input| async move {
            if input == "next" {
                let rest = [ctx.dequeue_event("queue").await, ctx.dequeue_event("other").await];
                let last = ctx.dequeue_event("queue").await;
                return Ok(format!("{}, {last}", rest.join(", ")));
            }
            // Both losers record a cancellation, the second one only after its race.
            for _ in 0..2 {
                ctx.select2(ctx.dequeue_event("queue"), ctx.schedule_wait("skip")).await;
            }
            let first = ctx.dequeue_event("queue").await;
            ctx.schedule_wait("continue").await;
            ctx.set_kv_value("first", first);
            ctx.continue_as_new("next").await
        })
        .build();
    for (number, way) in ways().into_iter().enumerate() {
        let store = Store::open(factory).await;
        let instance = format!("race {number}");
        seed(&store, &instance, EARLY, vec![dequeue("queue"), wait("skip")]).await;
        continue_after_races(&store, &instance, &registry, way).await;
        let first = store.provider.get_kv_value(&instance, "first").await;
        assert_eq!(first.expect("reading a value").as_deref(), Some("a"));
    }
}

/// Loses two races, reads one message and carries three.
async fn continue_after_races<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    instance: &str,
    registry: &OrchestrationRegistry,
    (options, two_nodes): (RuntimeOptions, bool),
) {
    store.send(raised(instance, "skip", "")).await;
    let mut running = node(store, registry.clone(), options.clone()).await;
    let lost = |number| move |history: &[Event]| count(history, given_up) == number;
    history_until(store, (instance, 1), "the first race must have a loser", lost(1)).await;
    store.send(raised(instance, "skip", "")).await;
    history_until(store, (instance, 1), "the second race must have a loser", lost(2)).await;
    for (queue, data) in [("queue", "a"), ("queue", "b"), ("other", "x"), ("queue", "c")] {
        store.send(message(instance, queue, data)).await;
    }
    let waits = |kind: &EventKind| *kind == wait("continue");
    history_until(store, (instance, 1), "it must subscribe", |history| has(history, waits)).await;
    if two_nodes {
        stop(running).await;
        running = node(store, registry.clone(), options).await;
    }
    store.send(raised(instance, "continue", "")).await;
    assert_eq!(output(store, instance).await, "b, x, c");
    assert_eq!(
        carried(store, instance).await,
        pairs(&[("queue", "b"), ("other", "x"), ("queue", "c")])
    );
    stop(running).await;
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(queue, data)| ((*queue).to_owned(), (*data).to_owned())).collect()
}

/// The messages that the second execution was started with.
async fn carried<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    instance: &str,
) -> Vec<(String, String)> {
    let started = |history: &[Event]| !history.is_empty();
    let history = history_until(store, (instance, 2), "the successor must start", started).await;
    let EventKind::OrchestrationStarted { carry_forward_events, .. } = &history[0].kind else {
        panic!("execution 2 of '{instance}' does not start with its start event: {history:#?}");
    };
    carry_forward_events.clone().unwrap_or_default()
}

/// A signal arrives after its wait lost a race: an execution started under the old policy keeps it
/// for the next wait, one started later does not. Every replay decides the same.
pub async fn test_positional_wait_race_replay<F: ProviderFactory + ?Sized>(factory: &F) {
    let registry = orchestrations()
        .register(NAME, |ctx, _input| async move {
            let raced = ctx.select2(ctx.schedule_wait("signal"), ctx.dequeue_event("skip")).await;
            if let Either2::First(data) = raced {
                return Err(format!("the wait won with {data}"));
            }
            let heard = ctx.schedule_wait("signal").await;
            ctx.dequeue_event("end").await;
            Ok(heard)
        })
        .build();
    for (stamp, expected) in [(LEGACY, "early"), (EARLY, "late")] {
        for (number, way) in ways().into_iter().enumerate() {
            let store = Store::open(factory).await;
            let instance = format!("race {number}");
            seed(&store, &instance, stamp, vec![wait("signal"), dequeue("skip")]).await;
            let batch = vec![message(&instance, "skip", ""), raised(&instance, "signal", "early")];
            let rest = vec![raised(&instance, "signal", "late"), message(&instance, "end", "")];
            let result = run_through(&store, &instance, &registry, way, Course { batch, rest });
            assert_eq!(result.await, expected, "an execution started under {stamp}");
        }
    }
}

/// A message arrives for a dequeue that has just lost a race: an execution started under the old
/// policy counts it as read, one started later carries it forward. The stored stamp decides.
pub async fn test_legacy_queue_race_decision_preserved<F: ProviderFactory + ?Sized>(factory: &F) {
    let registry = orchestrations()
        .register(NAME, |ctx, input| async move {
            if input == "next" {
                return Ok("continued".to_owned());
            }
            ctx.select2(ctx.dequeue_event("queue"), ctx.schedule_wait("skip")).await;
            ctx.continue_as_new("next").await
        })
        .build();
    let both = [("queue", "a"), ("queue", "b")];
    for (stamp, expected) in [(LEGACY, &both[1..]), (EARLY, &both[..])] {
        for options in [options(), without_cache()] {
            let store = Store::open(factory).await;
            seed(&store, "race", stamp, vec![dequeue("queue"), wait("skip")]).await;
            store.send(raised("race", "skip", "")).await;
            for (queue, data) in both {
                store.send(message("race", queue, data)).await;
            }
            let running = node(&store, registry.clone(), options).await;
            assert_eq!(output(&store, "race").await, "continued");
            let carried = carried(&store, "race").await;
            assert_eq!(carried, pairs(expected), "an execution started under {stamp}");
            stop(running).await;
        }
    }
}
