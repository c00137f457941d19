//! Continue-as-new.

use std::time::Duration;

use duroxide::providers::WorkItem;
use duroxide::runtime::RuntimeOptions;
use duroxide::{ErrorDetails, EventKind, OrchestrationContext, PoisonMessageType};

use crate::support::{
    DEFAULT_MODE, Mode, Node, activities, count, has, in_every_mode, kinds, memory, orchestrations,
    short_backoff,
};

/// Counts down, one execution for each number.
async fn counts_down(ctx: OrchestrationContext, number: String) -> Result<String, String> {
    ctx.schedule_timer(Duration::ZERO).await;
    match number.parse::<u32>().unwrap() {
        0 => Ok(format!("execution {}", ctx.execution_id())),
        left => ctx.continue_as_new((left - 1).to_string()).await,
    }
}

async fn version_one(ctx: OrchestrationContext, how: String) -> Result<String, String> {
    ctx.schedule_wait("Next").await;
    match how.as_str() {
        "latest" => ctx.continue_as_new("done").await,
        exact => ctx.continue_as_new_versioned(exact, "done").await,
    }
}

async fn later_version(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    Ok(ctx.orchestration_version())
}

async fn each_execution_has_a_history_of_its_own(mode: Mode) {
    let registry = orchestrations().register("Down", counts_down);
    let node = Node::start(mode, registry, activities()).await;
    assert_eq!(node.run("down", "Down", "2").await, "execution 3");
    assert_eq!(node.client.list_executions("down").await.unwrap(), [1, 2, 3]);
    for execution in [1, 2] {
        let history = node.client.read_execution_history("down", execution).await.unwrap();
        assert_eq!(
            kinds(&history),
            ["OrchestrationStarted", "TimerCreated", "TimerFired", "OrchestrationContinuedAsNew"]
        );
        let ids: Vec<u64> = history.iter().map(|event| event.event_id).collect();
        assert_eq!(ids, [1, 2, 3, 4]);
        let info = node.client.get_execution_info("down", execution).await.unwrap();
        assert_eq!(info.status, "ContinuedAsNew");
        assert_eq!(info.output, Some((2 - execution).to_string()));
    }
    node.stop().await;
}

async fn continue_as_new_carries_status_and_values_and_nothing_else(mode: Mode) {
    async fn moves_on(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        if ctx.execution_id() == 1 {
            ctx.set_custom_status("kept");
            ctx.set_kv_value("key", "value");
            let in_flight = ctx.schedule_activity("Missing", "");
            let timer = ctx.schedule_timer(Duration::from_secs(3600));
            let next = ctx.schedule_wait("Next").await;
            let never = ctx.continue_as_new(next).await;
            drop((in_flight, timer));
            return never;
        }
        let status = ctx.get_custom_status().unwrap_or_default();
        let value = ctx.get_kv_value("key").unwrap_or_default();
        Ok(format!("{status} {value} {}", ctx.schedule_wait("Next").await))
    }
    let node = Node::start(mode, orchestrations().register("Moves", moves_on), activities()).await;
    node.start_instance("moves", "Moves", "").await;
    node.wait_for_event("moves", "ExternalSubscribed").await;
    node.client.raise_event("moves", "Next", "x").await.unwrap();
    node.wait_for_history("moves", |history| {
        history[0].execution_id == 2 && has(history, "ExternalSubscribed")
    })
    .await;
    node.client.raise_event("moves", "Next", "again").await.unwrap();
    assert_eq!(node.output("moves").await, "kept value again");
    let first = node.client.read_execution_history("moves", 1).await.unwrap();
    let reasons = crate::support::cancellations(&first);
    assert_eq!(reasons, [(4, "orchestration_terminal_continued_as_new")]);
    assert_eq!(node.client.get_queue_depths().await.unwrap().worker_queue, 0);
    node.stop().await;
}

async fn continue_as_new_uses_the_latest_version_unless_one_is_given(mode: Mode) {
    let registry = orchestrations()
        .register_versioned("V", "1.0.0", version_one)
        .register_versioned("V", "2.0.0", later_version)
        .register_versioned("V", "3.0.0", later_version);
    let node = Node::start(mode, registry, activities()).await;
    for (how, version) in [("latest", "3.0.0"), ("2.0.0", "2.0.0")] {
        node.client.start_orchestration_versioned(how, "V", "1.0.0", how).await.unwrap();
        node.wait_for_event(how, "ExternalSubscribed").await;
        node.client.raise_event(how, "Next", "").await.unwrap();
        assert_eq!(node.output(how).await, version);
    }
    node.stop().await;
}

async fn an_unregistered_successor_fails_as_an_execution_of_its_own(mode: Mode) {
    let options =
        RuntimeOptions { max_attempts: 2, unregistered_backoff: short_backoff(), ..mode.options() };
    let registry = orchestrations().register_versioned("V", "1.0.0", version_one);
    let node = Node::on(&memory().await, options, registry, activities()).await;
    node.start_instance("lost", "V", "9.9.9").await;
    node.wait_for_event("lost", "ExternalSubscribed").await;
    node.client.raise_event("lost", "Next", "").await.unwrap();
    match node.failure("lost").await {
        ErrorDetails::Poison {
            message_type: PoisonMessageType::Orchestration { execution_id, .. },
            ..
        } => assert_eq!(execution_id, 2),
        other => panic!("{other:?}"),
    }
    let history = node.history("lost").await;
    assert_eq!(kinds(&history), ["OrchestrationStarted", "OrchestrationFailed"]);
    let first = node.client.get_execution_info("lost", 1).await.unwrap();
    assert_eq!(first.status, "ContinuedAsNew");
    node.stop().await;
}

in_every_mode! {
    each_execution_has_a_history_of_its_own,
    continue_as_new_carries_status_and_values_and_nothing_else,
    continue_as_new_uses_the_latest_version_unless_one_is_given,
    an_unregistered_successor_fails_as_an_execution_of_its_own,
}

#[tokio::test]
async fn the_first_continue_as_new_counts_and_wins_over_a_return() {
    async fn twice(ctx: OrchestrationContext, input: String) -> Result<String, String> {
        if ctx.execution_id() == 1 {
            drop(ctx.continue_as_new("first"));
            drop(ctx.continue_as_new("second"));
            return Ok("ignored".to_owned());
        }
        Ok(input)
    }
    let node =
        Node::start(DEFAULT_MODE, orchestrations().register("Twice", twice), activities()).await;
    assert_eq!(node.run("twice", "Twice", "").await, "first");
    node.stop().await;
}

#[tokio::test]
async fn a_cancellation_wins_over_continue_as_new() {
    let store = memory().await;
    let registry = || orchestrations().register_versioned("V", "1.0.0", version_one);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry(), activities()).await;
    node.start_instance("both", "V", "latest").await;
    node.wait_for_event("both", "ExternalSubscribed").await;
    node.runtime.clone().shutdown(None).await;
    node.client.raise_event("both", "Next", "").await.unwrap();
    node.client.cancel_instance("both", "enough").await.unwrap();
    let node = Node::on(&store, DEFAULT_MODE.options(), registry(), activities()).await;
    assert_eq!(node.failure_text("both").await, "canceled: enough");
    assert_eq!(node.client.list_executions("both").await.unwrap(), [1]);
    node.stop().await;
}

#[tokio::test]
async fn completions_for_the_old_execution_are_dropped() {
    async fn next(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        let timer = ctx.schedule_timer(Duration::ZERO);
        if ctx.execution_id() == 1 {
            timer.await;
            return ctx.continue_as_new("").await;
        }
        timer.await;
        Ok(ctx.schedule_wait("Go").await)
    }
    let node =
        Node::start(DEFAULT_MODE, orchestrations().register("Next", next), activities()).await;
    node.start_instance("next", "Next", "").await;
    node.wait_for_event("next", "ExternalSubscribed").await;
    let late =
        WorkItem::TimerFired { instance: "next".to_owned(), execution_id: 1, id: 2, fire_at_ms: 0 };
    node.store.enqueue_for_orchestrator(late, None).await.unwrap();
    node.client.raise_event("next", "Go", "on").await.unwrap();
    assert_eq!(node.output("next").await, "on");
    assert_eq!(count(&node.history("next").await, "TimerFired"), 1);
    node.stop().await;
}

/// Messages that arrive before the start of the successor wait and are delivered to it.
#[tokio::test]
async fn messages_between_two_executions_are_delivered_to_the_second() {
    let store = memory().await;
    let registry = || {
        orchestrations().register_versioned("V", "1.0.0", version_one).register_versioned(
            "V",
            "2.0.0",
            waits_for_word,
        )
    };
    async fn waits_for_word(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        Ok(ctx.dequeue_event("words").await)
    }
    let options =
        RuntimeOptions { unregistered_backoff: short_backoff(), ..DEFAULT_MODE.options() };
    let old = Node::on(
        &store,
        options.clone(),
        orchestrations().register_versioned("V", "1.0.0", version_one),
        activities(),
    )
    .await;
    old.start_instance("continued", "V", "2.0.0").await;
    old.wait_for_event("continued", "ExternalSubscribed").await;
    old.client.raise_event("continued", "Next", "").await.unwrap();
    old.wait_for_event("continued", "OrchestrationContinuedAsNew").await;
    let status = old.client.get_orchestration_status("continued").await.unwrap();
    assert!(matches!(status, duroxide::OrchestrationStatus::Running { .. }), "{status:?}");
    old.client.enqueue_event("continued", "words", "kept").await.unwrap();
    let new = Node::on(&store, options, registry(), activities()).await;
    assert_eq!(new.output("continued").await, "kept");
    let start = &new.history("continued").await[0];
    assert!(
        matches!(&start.kind, EventKind::OrchestrationStarted { version, .. } if version == "2.0.0")
    );
    old.stop().await;
    new.stop().await;
}
