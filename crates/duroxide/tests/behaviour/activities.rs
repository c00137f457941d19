//! Activities, from schedule to result.

use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::TagFilter;
use duroxide::runtime::{RuntimeOptions, UnregisteredWork};
use duroxide::{ActivityContext, ErrorDetails, OrchestrationContext, PoisonMessageType};
use serde::{Deserialize, Serialize};

use crate::support::{
    DEFAULT_MODE, Journal, Mode, Node, activities, cancellations, count, eventually, in_every_mode,
    memory, memory_with_clock, orchestrations, short_backoff,
};

#[derive(Serialize, Deserialize)]
struct Sum {
    a: i64,
    b: i64,
}

async fn call(ctx: OrchestrationContext, name: String) -> Result<String, String> {
    match ctx.schedule_activity(name, "in").await {
        Ok(result) => Ok(format!("ok {result}")),
        Err(error) => Ok(format!("err {error}")),
    }
}

async fn shout(_: ActivityContext, input: String) -> Result<String, String> {
    Ok(input.to_uppercase())
}

async fn refuse(_: ActivityContext, _: String) -> Result<String, String> {
    Err("no".to_owned())
}

async fn panics(_: ActivityContext, _: String) -> Result<String, String> {
    panic!("kaboom")
}

async fn the_code_gets_results_errors_and_panics(mode: Mode) {
    let registry =
        activities().register("Shout", shout).register("Refuse", refuse).register("Panic", panics);
    let node = Node::start(mode, orchestrations().register("Call", call), registry).await;
    assert_eq!(node.run("ok", "Call", "Shout").await, "ok IN");
    assert_eq!(node.run("err", "Call", "Refuse").await, "err no");
    let text = node.run("panic", "Call", "Panic").await;
    assert!(text.contains("panicked with message \"kaboom\""), "{text}");
    node.stop().await;
}

async fn typed_activities_encode_input_and_decode_output(mode: Mode) {
    async fn add(ctx: OrchestrationContext, sum: Sum) -> Result<i64, String> {
        let total: i64 = ctx.schedule_activity_typed("Add", &sum).await?;
        let text: Result<Vec<u8>, String> = ctx.schedule_activity_typed("Add", &sum).await;
        assert!(text.is_err(), "a number is not a list");
        let bad: Result<i64, String> = ctx.schedule_activity_typed("Add", &"text").await;
        assert!(bad.is_err(), "a string is not a sum");
        Ok(total)
    }
    let registry = activities()
        .register_typed("Add", |_: ActivityContext, sum: Sum| async move { Ok(sum.a + sum.b) });
    let node = Node::start(mode, orchestrations().register_typed("Add", add), registry).await;
    node.client.start_orchestration_typed("sum", "Add", Sum { a: 40, b: 2 }).await.unwrap();
    let total = node.client.wait_for_orchestration_typed::<i64>("sum", crate::support::TIMEOUT);
    assert_eq!(total.await.unwrap(), Ok(42));
    node.stop().await;
}

async fn equal_calls_are_independent(mode: Mode) {
    async fn twice(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        let calls = (0..20).map(|_| ctx.schedule_activity("Count", "same")).collect();
        let mut results: Vec<String> = ctx.join(calls).await.into_iter().flatten().collect();
        results.sort();
        results.dedup();
        Ok(results.len().to_string())
    }
    let number = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let registry = activities().register("Count", move |_, _| {
        let number = number.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        async move { Ok(number.to_string()) }
    });
    let node = Node::start(mode, orchestrations().register("Twice", twice), registry).await;
    assert_eq!(node.run("twice", "Twice", "").await, "20");
    node.stop().await;
}

async fn system_calls_are_recorded_and_replayed(mode: Mode) {
    async fn calls(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        let id = ctx.new_guid().await?;
        let now = ctx.utc_now().await?;
        ctx.schedule_timer(Duration::ZERO).await;
        let since = now.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
        Ok(format!("{id} {since}"))
    }
    let node = Node::start(mode, orchestrations().register("Calls", calls), activities()).await;
    let output = node.run("calls", "Calls", "").await;
    let recorded: Vec<String> = node
        .history("calls")
        .await
        .into_iter()
        .filter_map(|event| match event.kind {
            duroxide::EventKind::ActivityCompleted { result } => Some(result),
            _ => None,
        })
        .collect();
    assert_eq!(output, recorded.join(" "));
    node.stop().await;
}

in_every_mode! {
    the_code_gets_results_errors_and_panics,
    typed_activities_encode_input_and_decode_output,
    equal_calls_are_independent,
    system_calls_are_recorded_and_replayed,
}

#[tokio::test]
async fn an_activity_context_names_its_caller_and_worker() {
    async fn routed(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        let plain = ctx.schedule_activity("Who", "").await?;
        let routed = ctx.schedule_activity_on_session("Who", "", "s1").with_tag("gpu").await?;
        Ok(format!("{plain}\n{routed}"))
    }
    async fn who(ctx: ActivityContext, _: String) -> Result<String, String> {
        Ok(format!(
            "{} {} {}@{} {} {:?} {:?} {} {}",
            ctx.instance_id(),
            ctx.execution_id(),
            ctx.orchestration_name(),
            ctx.orchestration_version(),
            ctx.activity_name(),
            ctx.session_id(),
            ctx.tag(),
            ctx.worker_id().starts_with("work-"),
            ctx.worker_id().ends_with("-node-7"),
        ))
    }
    let store = memory().await;
    let options = RuntimeOptions {
        worker_node_id: Some("node-7".to_owned()),
        worker_tag_filter: TagFilter::default_and(["gpu"]),
        ..DEFAULT_MODE.options()
    };
    let registry = orchestrations().register_versioned("Routed", "2.1.0", routed);
    let node = Node::on(&store, options, registry, activities().register("Who", who)).await;
    assert_eq!(
        node.run("order-7", "Routed", "").await,
        "order-7 1 Routed@2.1.0 Who None None true true\n\
         order-7 1 Routed@2.1.0 Who Some(\"s1\") Some(\"gpu\") true true"
    );
    node.stop().await;
}

#[tokio::test]
async fn an_activity_can_signal_instances() {
    async fn relay(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        let go = ctx.schedule_wait("Go");
        ctx.schedule_activity("Signal", "").await?;
        Ok(go.await)
    }
    async fn signal(ctx: ActivityContext, _: String) -> Result<String, String> {
        let sent = ctx.get_client().raise_event(ctx.instance_id(), "Go", "from within").await;
        sent.map(|()| String::new()).map_err(|error| error.to_string())
    }
    let registry = activities().register("Signal", signal);
    let node = Node::start(DEFAULT_MODE, orchestrations().register("Relay", relay), registry).await;
    assert_eq!(node.run("relay", "Relay", "").await, "from within");
    node.stop().await;
}

#[tokio::test]
async fn a_held_activity_runs_and_a_dropped_one_does_not() {
    async fn hold(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        drop(ctx.schedule_activity("Note", "dropped"));
        let held = ctx.schedule_activity("Note", "held");
        ctx.schedule_wait("Go").await;
        held.await
    }
    let journal = Journal::default();
    let registry = activities().register("Note", {
        let journal = journal.clone();
        move |_, input: String| {
            journal.write(input.clone());
            async move { Ok(input) }
        }
    });
    let node = Node::start(DEFAULT_MODE, orchestrations().register("Hold", hold), registry).await;
    node.start_instance("hold", "Hold", "").await;
    assert_eq!(journal.next().await, "held");
    node.wait_for_event("hold", "ActivityCompleted").await;
    node.client.raise_event("hold", "Go", "").await.unwrap();
    assert_eq!(node.output("hold").await, "held");
    assert!(journal.unread().is_empty());
    assert_eq!(cancellations(&node.history("hold").await), [(2, "dropped_future")]);
    node.stop().await;
}

#[tokio::test]
async fn an_unregistered_activity_backs_off_until_a_node_has_its_handler() {
    let (store, clock) = memory_with_clock().await;
    let call = || orchestrations().register("Call", call);
    let options = DEFAULT_MODE.options().with_unregistered_work(UnregisteredWork::Backoff);
    let node = Node::on(&store, options, call(), activities()).await;
    node.start_instance("call", "Call", "Shout").await;
    // Fetched once and abandoned; the backoff hides it.
    let fetched =
        |node: &Node| node.runtime.metrics_snapshot().unwrap().worker_dispatcher_items_fetched;
    eventually(|| fetched(&node) > 0).await;
    node.runtime.clone().shutdown(None).await;
    let other =
        Node::on(&store, DEFAULT_MODE.options(), call(), activities().register("Shout", shout))
            .await;
    clock.advance(Duration::from_secs(1));
    assert_eq!(other.output("call").await, "ok IN");
    other.stop().await;
}

/// Both nodes are live all the time. An activity that went to the wrong one would be hidden for a
/// second of a clock that stands still.
async fn activities_go_only_to_nodes_that_have_their_handler(mode: Mode) {
    async fn fans_out(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        let mut all = Vec::new();
        for number in 0..20 {
            all.push(ctx.schedule_activity("Shout", format!("a{number}")));
            all.push(ctx.schedule_activity("Whisper", format!("B{number}")));
        }
        let results = ctx.join(all).await.into_iter().collect::<Result<Vec<_>, _>>()?;
        let session = ctx.schedule_activity_on_session("Shout", "s", "session").await?;
        // Every node runs these.
        ctx.utc_now().await?;
        ctx.new_guid().await?;
        Ok(format!("{} {session}", results.len()))
    }
    async fn whisper(_: ActivityContext, input: String) -> Result<String, String> {
        Ok(input.to_lowercase())
    }
    let (store, _clock) = memory_with_clock().await;
    let fan_out = || orchestrations().register("FanOut", fans_out);
    let options = || RuntimeOptions { max_attempts: 1, ..mode.options() };
    let quiet = activities().register("Whisper", whisper);
    let quiet = Node::on(&store, options(), fan_out(), quiet).await;
    let loud = activities().register("Shout", shout);
    let loud = Node::on(&store, options(), orchestrations(), loud).await;
    quiet.start_instance("early", "FanOut", "").await;
    assert_eq!(quiet.output("early").await, "40 S");
    loud.start_instance("late", "FanOut", "").await;
    assert_eq!(loud.output("late").await, "40 S");
    quiet.stop().await;
    loud.stop().await;
}

/// What no node has waits, and a node that comes later runs it at its first attempt.
async fn an_unregistered_activity_waits_for_a_node_with_its_handler(mode: Mode) {
    let (store, _clock) = memory_with_clock().await;
    let call = || orchestrations().register("Call", call);
    let options = || RuntimeOptions { max_attempts: 1, ..mode.options() };
    let node = Node::on(&store, options(), call(), activities().register("Refuse", refuse)).await;
    node.start_instance("call", "Call", "Shout").await;
    node.wait_for_event("call", "ActivityScheduled").await;
    assert_eq!(node.run("beside", "Call", "Refuse").await, "err no");
    let other = Node::on(&store, options(), call(), activities().register("Shout", shout)).await;
    assert_eq!(other.output("call").await, "ok IN");
    other.stop().await;
    node.stop().await;
}

in_every_mode! {
    activities_go_only_to_nodes_that_have_their_handler,
    an_unregistered_activity_waits_for_a_node_with_its_handler,
}

#[tokio::test]
async fn a_poisoned_activity_fails_its_orchestration() {
    let store = memory().await;
    let options = RuntimeOptions {
        max_attempts: 2,
        unregistered_backoff: short_backoff(),
        ..DEFAULT_MODE.options()
    };
    let node =
        Node::on(&store, options, orchestrations().register("Call", call), activities()).await;
    node.start_instance("poison", "Call", "Nowhere").await;
    match node.failure("poison").await {
        ErrorDetails::Poison {
            attempt_count: 3,
            max_attempts: 2,
            message_type: PoisonMessageType::Activity { activity_name, activity_id: 2, .. },
            message,
        } => {
            assert_eq!(activity_name, "Nowhere");
            assert!(message.contains("\"Nowhere\""), "{message}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(count(&node.history("poison").await, "ActivityFailed"), 1);
    let counts = node.stop_and_count().await;
    assert_eq!((counts.activity_poison, counts.orch_poison), (1, 1));
}

#[tokio::test]
async fn a_tagged_activity_waits_for_a_node_that_accepts_its_tag() {
    async fn tagged(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        ctx.schedule_activity("Shout", "gpu").with_tag("gpu").await
    }
    let store = memory().await;
    let registry = || orchestrations().register("Tagged", tagged);
    let shouting = || activities().register("Shout", shout);
    let plain = Node::on(&store, DEFAULT_MODE.options(), registry(), shouting()).await;
    plain.start_instance("tagged", "Tagged", "").await;
    plain.wait_for_event("tagged", "ActivityScheduled").await;
    let options =
        RuntimeOptions { worker_tag_filter: TagFilter::tags(["gpu"]), ..DEFAULT_MODE.options() };
    let gpu = Node::on(&store, options, registry(), shouting()).await;
    assert_eq!(gpu.output("tagged").await, "GPU");
    assert_eq!(plain.runtime.metrics_snapshot().unwrap().worker_dispatcher_items_fetched, 0);
    plain.stop().await;
    gpu.stop().await;
}
