//! The batch of a turn and what the turn commits.

use std::time::Duration;

use duroxide::providers::WorkItem;
use duroxide::{ErrorDetails, EventKind, OrchestrationContext, OrchestrationStatus};

use crate::support::{
    DEFAULT_MODE, Mode, Node, TIMEOUT, activities, count, has, in_every_mode, kinds, memory,
    orchestrations,
};

async fn echo(_: OrchestrationContext, input: String) -> Result<String, String> {
    Ok(input)
}

async fn wait_for_go(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let go = ctx.schedule_wait("Go").await;
    Ok(format!("{input} {go}"))
}

async fn drain(ctx: OrchestrationContext, number: String) -> Result<String, String> {
    let mut sum = 0_u64;
    for _ in 0..number.parse::<u64>().unwrap() {
        sum += ctx.dequeue_event("numbers").await.parse::<u64>().unwrap();
    }
    Ok(sum.to_string())
}

/// Starts another instance and returns as its input says.
async fn leave_behind(ctx: OrchestrationContext, how: String) -> Result<String, String> {
    if ctx.execution_id() > 1 {
        return Ok("second".to_owned());
    }
    let id = format!("detached-{how}");
    match how.as_str() {
        "continue" => {
            ctx.schedule_orchestration("Echo", id, how);
            ctx.schedule_wait("Go").await;
            Ok("over".to_owned())
        }
        "completed" => {
            ctx.schedule_orchestration("Echo", id, how);
            Ok("over".to_owned())
        }
        "failed" => {
            ctx.schedule_orchestration("Echo", id, how);
            Err("over".to_owned())
        }
        "cancelled" => {
            ctx.schedule_wait("Go").await;
            ctx.schedule_orchestration("Echo", id, how);
            ctx.schedule_wait("Never").await;
            Ok("never".to_owned())
        }
        _continued => {
            ctx.schedule_orchestration("Echo", id, how.clone());
            ctx.continue_as_new(how).await
        }
    }
}

async fn too_much(ctx: OrchestrationContext, what: String) -> Result<String, String> {
    ctx.set_kv_value("kept", "from the first turn");
    ctx.schedule_timer(Duration::ZERO).await;
    match what.as_str() {
        "status" => ctx.set_custom_status("x".repeat(262_145)),
        "tag" => {
            drop(ctx.schedule_activity("A", "").with_tag("t".repeat(257)));
        }
        "value" => ctx.set_kv_value("big", "x".repeat(65_537)),
        _keys => (0..150).for_each(|key| ctx.set_kv_value(key.to_string(), "")),
    }
    Ok("too late".to_owned())
}

async fn parent_of(ctx: OrchestrationContext, what: String) -> Result<String, String> {
    match ctx.schedule_sub_orchestration("TooMuch", what).await {
        Ok(output) => Ok(output),
        Err(error) => Ok(format!("caught: {error}")),
    }
}

async fn a_second_start_changes_nothing(mode: Mode) {
    let registry = orchestrations().register("Go", wait_for_go).register("Echo", echo);
    let node = Node::start(mode, registry, activities()).await;
    node.start_instance("order", "Go", "first").await;
    node.wait_for_event("order", "ExternalSubscribed").await;
    node.start_instance("order", "Echo", "second").await;
    node.client.raise_event("order", "Go", "now").await.unwrap();
    assert_eq!(node.output("order").await, "first now");
    node.start_instance("order", "Echo", "third").await;
    // The late start is processed before this later one of the same queue completes.
    assert_eq!(node.run("later", "Echo", "later").await, "later");
    assert_eq!(node.output("order").await, "first now");
    assert_eq!(node.client.list_executions("order").await.unwrap(), [1]);
    node.stop().await;
}

async fn a_completed_instance_discards_late_messages(mode: Mode) {
    let node = Node::start(mode, orchestrations().register("Echo", echo), activities()).await;
    assert_eq!(node.run("over", "Echo", "done").await, "done");
    let before = node.history("over").await;
    node.client.raise_event("over", "Go", "late").await.unwrap();
    node.client.enqueue_event("over", "queue", "late").await.unwrap();
    node.client.cancel_instance("over", "late").await.unwrap();
    node.wait_until_drained().await;
    assert_eq!(node.history("over").await, before);
    assert_eq!(node.output("over").await, "done");
    node.stop().await;
}

async fn six_hundred_buffered_messages_are_drained_in_one_turn(mode: Mode) {
    let store = memory().await;
    let client = duroxide::Client::new(store.clone());
    client.start_orchestration("sum", "Drain", "600").await.unwrap();
    for number in 0..600 {
        client.enqueue_event("sum", "numbers", number.to_string()).await.unwrap();
    }
    let registry = orchestrations().register("Drain", drain);
    let node = Node::on(&store, mode.options(), registry, activities()).await;
    assert_eq!(node.output("sum").await, (0..600).sum::<u64>().to_string());
    let history = node.history("sum").await;
    let first = history[0].timestamp_ms;
    assert!(history.iter().all(|event| event.timestamp_ms == first), "one turn has one time");
    node.stop().await;
}

async fn detached_orchestrations_start_whatever_the_result_of_the_turn(mode: Mode) {
    let registry = orchestrations().register("Leave", leave_behind).register("Echo", echo);
    let node = Node::start(mode, registry, activities()).await;
    for how in ["continue", "completed", "failed", "continued"] {
        node.start_instance(how, "Leave", how).await;
        assert_eq!(node.output(&format!("detached-{how}")).await, how);
    }
    assert_eq!(node.failure_text("failed").await, "over");
    assert_eq!(node.output("continued").await, "second");
    assert!(node.history("detached-failed").await.len() == 2, "a root, without a parent");
    node.stop().await;
}

/// The code runs once more in the cancelled turn, and its detached starts take effect.
async fn a_cancelled_turn_starts_its_detached_orchestrations(mode: Mode) {
    let store = memory().await;
    let registry = || orchestrations().register("Leave", leave_behind).register("Echo", echo);
    let node = Node::on(&store, mode.options(), registry(), activities()).await;
    node.start_instance("cancelled", "Leave", "cancelled").await;
    node.wait_for_event("cancelled", "ExternalSubscribed").await;
    node.runtime.clone().shutdown(None).await;
    node.client.raise_event("cancelled", "Go", "").await.unwrap();
    node.client.cancel_instance("cancelled", "enough").await.unwrap();
    let node = Node::on(&store, mode.options(), registry(), activities()).await;
    assert_eq!(node.failure_text("cancelled").await, "canceled: enough");
    assert_eq!(node.output("detached-cancelled").await, "cancelled");
    node.stop().await;
}

async fn a_violated_limit_stores_nothing_of_its_turn_and_notifies_the_parent(mode: Mode) {
    let registry = orchestrations().register("TooMuch", too_much).register("Parent", parent_of);
    let node = Node::start(mode, registry, activities()).await;
    let texts = [
        ("status", "Custom status size (262145 bytes) exceeds limit (262144 bytes)"),
        ("tag", "Activity 'A' tag size (257 bytes) exceeds limit (256 bytes)"),
        ("value", "KV value for key 'big' (65537 bytes) exceeds limit (65536 bytes)"),
        ("keys", "KV key count (151) exceeds limit (150)"),
    ];
    for (what, text) in texts {
        assert_eq!(node.run(what, "Parent", what).await, format!("caught: {text}"));
        let child = format!("{what}::sub::2");
        let history = node.history(&child).await;
        assert_eq!(
            kinds(&history),
            [
                "OrchestrationStarted",
                "KeyValueSet",
                "TimerCreated",
                "TimerFired",
                "OrchestrationFailed"
            ]
        );
        let values = node.client.get_kv_all_values(&child).await.unwrap();
        assert_eq!(values.len(), 1, "only the value of the first turn");
        match node.client.get_orchestration_status(&child).await.unwrap() {
            OrchestrationStatus::Failed { custom_status, custom_status_version, .. } => {
                assert_eq!((custom_status, custom_status_version), (None, 0));
            }
            other => panic!("{other:?}"),
        }
    }
    node.stop().await;
}

in_every_mode! {
    a_second_start_changes_nothing,
    a_completed_instance_discards_late_messages,
    six_hundred_buffered_messages_are_drained_in_one_turn,
    detached_orchestrations_start_whatever_the_result_of_the_turn,
    a_cancelled_turn_starts_its_detached_orchestrations,
    a_violated_limit_stores_nothing_of_its_turn_and_notifies_the_parent,
}

#[tokio::test]
async fn messages_for_an_unknown_instance_wait_or_are_dropped_and_block_no_instance() {
    let registry = orchestrations()
        .register("Go", wait_for_go)
        .register("Echo", echo)
        .register("Read", |ctx: OrchestrationContext, _input: String| async move {
            Ok(ctx.dequeue_event("q").await)
        });
    let node = Node::start(DEFAULT_MODE, registry, activities()).await;
    node.client.raise_event("ghost", "Go", "early").await.unwrap();
    node.client.cancel_instance("phantom", "before the start").await.unwrap();
    node.client.enqueue_event("reader", "q", "kept").await.unwrap();
    assert_eq!(node.run("other", "Echo", "not blocked").await, "not blocked");
    let parked = node.client.list_parked_messages(10).await.unwrap();
    let parked: Vec<_> =
        parked.iter().map(|one| (one.instance_id.as_str(), one.kind.as_str())).collect();
    assert_eq!(parked, [("reader", "QueueMessage")]);

    for id in ["ghost", "phantom"] {
        node.start_instance(id, "Go", id).await;
        node.wait_for_event(id, "ExternalSubscribed").await;
        assert!(!has(&node.history(id).await, "ExternalEvent"), "nothing early was kept");
        node.client.raise_event(id, "Go", "in time").await.unwrap();
        assert_eq!(node.output(id).await, format!("{id} in time"));
    }
    assert_eq!(node.run("reader", "Read", "").await, "kept", "queue messages are lossless");
    assert!(node.client.list_parked_messages(10).await.unwrap().is_empty());
    node.stop().await;
}

/// Without a node, the message and the later start reach the first turn together.
#[tokio::test]
async fn a_cancellation_before_the_start_does_not_harm_the_new_instance() {
    let store = memory().await;
    let client = duroxide::Client::new(store.clone());
    client.cancel_instance("one", "too early").await.unwrap();
    client.start_orchestration("one", "Echo", "alive").await.unwrap();
    let registry = orchestrations().register("Echo", echo);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry, activities()).await;
    assert_eq!(node.output("one").await, "alive");
    node.stop().await;
}

#[tokio::test]
async fn the_first_start_of_a_batch_counts() {
    let store = memory().await;
    let client = duroxide::Client::new(store.clone());
    client.start_orchestration("one", "Echo", "first").await.unwrap();
    client.start_orchestration("one", "Missing", "second").await.unwrap();
    let registry = orchestrations().register("Echo", echo);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry, activities()).await;
    assert_eq!(node.output("one").await, "first");
    node.stop().await;
}

#[tokio::test]
async fn completions_for_another_execution_are_dropped_and_unknown_ones_fail_the_instance() {
    let node =
        Node::start(DEFAULT_MODE, orchestrations().register("Go", wait_for_go), activities()).await;
    node.start_instance("order", "Go", "x").await;
    node.wait_for_event("order", "ExternalSubscribed").await;
    let completion = |execution_id| WorkItem::ActivityCompleted {
        instance: "order".to_owned(),
        execution_id,
        id: 77,
        result: "?".to_owned(),
    };
    node.store.enqueue_for_orchestrator(completion(9), None).await.unwrap();
    node.wait_until_drained().await;
    assert_eq!(count(&node.history("order").await, "ActivityCompleted"), 0);
    node.store.enqueue_for_orchestrator(completion(1), None).await.unwrap();
    let text = node.failure_text("order").await;
    assert!(text.starts_with("nondeterministic: no matching schedule for completion id=77"));
    node.stop().await;
}

#[tokio::test]
async fn a_panic_fails_the_instance_with_its_text() {
    async fn panics(_: OrchestrationContext, _: String) -> Result<String, String> {
        panic!("kaboom")
    }
    let node =
        Node::start(DEFAULT_MODE, orchestrations().register("Panic", panics), activities()).await;
    node.start_instance("panic", "Panic", "").await;
    assert_eq!(node.failure_text("panic").await, "orchestration panicked: kaboom");
    node.stop().await;
}

#[tokio::test]
async fn values_of_exactly_the_limit_are_allowed() {
    async fn at_limit(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        ctx.set_custom_status("x".repeat(262_144));
        (0..150).for_each(|key| ctx.set_kv_value(key.to_string(), "x".repeat(65_536)));
        Ok("fits".to_owned())
    }
    let node =
        Node::start(DEFAULT_MODE, orchestrations().register("Fit", at_limit), activities()).await;
    assert_eq!(node.run("fit", "Fit", "").await, "fits");
    assert_eq!(node.client.get_kv_all_values("fit").await.unwrap().len(), 150);
    node.stop().await;
}

#[tokio::test]
async fn terminal_events_have_a_fixed_order() {
    async fn leaves_open(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        let activity = ctx.schedule_activity("Missing", "");
        let wait = ctx.schedule_wait("Go");
        let queue = ctx.dequeue_event("queue");
        ctx.schedule_timer(Duration::ZERO).await;
        std::mem::forget((activity, wait, queue));
        Err("enough".to_owned())
    }
    let node =
        Node::start(DEFAULT_MODE, orchestrations().register("Open", leaves_open), activities());
    let node = node.await;
    node.start_instance("open", "Open", "").await;
    match node.client.wait_for_orchestration("open", TIMEOUT).await.unwrap() {
        OrchestrationStatus::Failed { details: ErrorDetails::Application { .. }, .. } => {}
        other => panic!("{other:?}"),
    }
    let history = node.history("open").await;
    assert_eq!(
        kinds(&history)[6..],
        [
            "ExternalSubscribedCancelled",
            EventKind::QueueSubscriptionCancelled { reason: String::new() }.type_tag(),
            "OrchestrationFailed",
            "ActivityCancelRequested"
        ]
    );
    let reasons = crate::support::cancellations(&history);
    assert_eq!(
        reasons,
        [
            (3, "orchestration_terminal"),
            (4, "orchestration_terminal"),
            (2, "orchestration_terminal_failed")
        ]
    );
    node.stop().await;
}
