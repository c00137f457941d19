//! Starts of instances that already exist.

use duroxide_core::EventKind;
use duroxide_core::providers::WorkItem;

use super::nodes::{
    NAME, client, count, has, history_until, message, node, options, orchestrations, output, stop,
};
use crate::ProviderFactory;
use crate::support::{Must, Store, child_start_item, commit, ended, event, start_item, started};

const INSTANCE: &str = "pinned";

/// A second start of a running instance changes neither its code nor its input.
pub async fn test_duplicate_start_preserves_pinned_handler<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    let registry =
        orchestrations()
            .register("Other", |_ctx, input| async move { Ok(format!("other {input}")) })
            .register_versioned("Pinned", "1.0.0", |ctx, input| async move {
                let seen = ctx.dequeue_event("queue").await;
                Ok(format!("one {input} {seen}"))
            })
            .register_versioned("Pinned", "2.0.0", |_ctx, input| async move {
                Ok(format!("two {input}"))
            })
            .build();
    let client = client(&store);
    let started = client.start_orchestration_versioned(INSTANCE, "Pinned", "1.0.0", "first").await;
    started.expect("starting an instance");
    let first = node(&store, registry.clone(), options()).await;
    let subscribed = |kind: &EventKind| matches!(kind, EventKind::QueueSubscribed { .. });
    let waiting = history_until(&store, (INSTANCE, 1), "it must subscribe", |h| has(h, subscribed));
    let before = waiting.await;
    stop(first).await;

    let again = client.start_orchestration_versioned(INSTANCE, "Pinned", "2.0.0", "second").await;
    again.expect("a second start is accepted and ignored later");
    let again = client.start_orchestration(INSTANCE, "Other", "third").await;
    again.expect("a third start is accepted and ignored later");
    let fetched = store.turn_of(INSTANCE).await;
    assert_eq!(fetched.item.orchestration_name, "Pinned", "a message does not change the instance");
    assert_eq!(fetched.item.version, "1.0.0", "a message does not change the instance");
    let abandoned = store.provider.abandon_orchestration_item(&fetched.token, None, true).await;
    abandoned.must("abandoning a turn");

    store.send(message(INSTANCE, "queue", "message")).await;
    let second = node(&store, registry, options()).await;
    assert_eq!(output(&store, INSTANCE).await, "one first message");
    stop(second).await;
    let history = store.history(INSTANCE).await;
    assert_eq!(history[..before.len()], before, "recorded events do not change");
    let is_start = |kind: &EventKind| matches!(kind, EventKind::OrchestrationStarted { .. });
    assert_eq!(count(&history, is_start), 1);
}

/// An execution that has continued as new, but whose successor's start is not enqueued yet.
async fn between_executions<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, instance: &str) {
    store.send(start_item(instance)).await;
    let turn = store.turn_of(instance).await;
    let continued = EventKind::OrchestrationContinuedAsNew { input: "next".to_owned() };
    let events = vec![started(instance, 1), event(instance, 1, 2, continued)];
    let last = commit(&turn, events).with_metadata(ended("ContinuedAsNew", "next"));
    store.ack(last).await.must("a commit that ends an execution");
}

/// A running instance that waits for `child` at its event 2.
async fn parent_of<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, parent: &str, child: &str) {
    let mut start = start_item(parent);
    if let WorkItem::StartOrchestration { orchestration, input, .. } = &mut start {
        "Parent".clone_into(orchestration);
        child.clone_into(input);
    }
    store.send(start).await;
    let turn = store.turn_of(parent).await;
    let mut first = started(parent, 1);
    if let EventKind::OrchestrationStarted { name, input, .. } = &mut first.kind {
        "Parent".clone_into(name);
        child.clone_into(input);
    }
    let scheduled = EventKind::SubOrchestrationScheduled {
        name: NAME.to_owned(),
        instance: child.to_owned(),
        input: "{}".to_owned(),
    };
    let events = vec![first, event(parent, 1, 2, scheduled)];
    let mut waiting = commit(&turn, events);
    waiting.metadata.orchestration_name = Some("Parent".to_owned());
    store.ack(waiting).await.must("a commit that schedules a child");
}

/// The successor's own start wins over any other, and the parent of the other start gets an error.
pub async fn test_continue_as_new_duplicate_start<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let cases = [("before", "parent before"), ("after", "parent after")];
    for (instance, parent) in cases {
        between_executions(&store, instance).await;
        parent_of(&store, parent, instance).await;
    }
    for (instance, parent) in cases {
        let mut items = vec![child_start_item(instance, parent), successor(instance)];
        if instance == "after" {
            items.reverse();
        }
        for item in items {
            store.send(item).await;
        }
    }
    let registry = orchestrations()
        .register(NAME, |_ctx, input| async move { Ok(format!("continued {input}")) })
        .register("Parent", |ctx, child| async move {
            let call = ctx.schedule_sub_orchestration_with_id(NAME, child, "{}");
            match call.await {
                Ok(output) => Err(format!("the collision was not reported: {output}")),
                Err(error) => Ok(error),
            }
        })
        .build();
    let running = node(&store, registry, options()).await;
    for (instance, parent) in cases {
        assert_eq!(output(&store, instance).await, "continued next");
        let reported = output(&store, parent).await;
        assert!(reported.contains("already exists"), "{reported}");
        assert!(!reported.contains("is terminal"), "the instance had not finished: {reported}");
        let history = store.history(instance).await;
        assert_eq!((history[0].event_id, history[0].execution_id), (1, 2));
    }
    stop(running).await;
}

fn successor(instance: &str) -> WorkItem {
    WorkItem::ContinueAsNew {
        instance: instance.to_owned(),
        orchestration: NAME.to_owned(),
        input: "next".to_owned(),
        version: None,
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: vec![],
        initial_custom_status: None,
    }
}
