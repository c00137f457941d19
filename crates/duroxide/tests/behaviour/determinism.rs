//! Code that does not match its history, and code that awaits something that is not durable.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use duroxide::runtime::MismatchPolicy;
use duroxide::{ActivityContext, ConfigErrorKind, ErrorDetails, OrchestrationContext};
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use crate::support::{DEFAULT_MODE, Mode, Node, activities, in_every_mode, memory, orchestrations};

async fn calls_a(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ctx.schedule_activity("A", "1").with_tag("unserved").await
}

async fn calls_b(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ctx.schedule_activity("B", "1").with_tag("unserved").await
}

async fn waits_for_b(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    Ok(ctx.schedule_wait("B").await)
}

async fn returns_at_once(_: OrchestrationContext, _: String) -> Result<String, String> {
    Ok("shortcut".to_owned())
}

/// Starts with one code and continues with another.
async fn redeployed<F, G, X, Y>(mode: Mode, before: F, after: G) -> (Node, &'static str)
where
    F: Fn(OrchestrationContext, String) -> X + Send + Sync + 'static,
    X: Future<Output = Result<String, String>> + Send + 'static,
    G: Fn(OrchestrationContext, String) -> Y + Send + Sync + 'static,
    Y: Future<Output = Result<String, String>> + Send + 'static,
{
    let store = memory().await;
    let registry = orchestrations().register("Code", before);
    let node = Node::on(&store, mode.options(), registry, activities()).await;
    node.start_instance("deployed", "Code", "").await;
    node.wait_for_event("deployed", "ActivityScheduled").await;
    node.runtime.clone().shutdown(None).await;
    node.client.raise_event("deployed", "Wake", "").await.unwrap();
    let registry = orchestrations().register("Code", after);
    let options = mode.options().with_mismatch_policy(MismatchPolicy::Fail);
    let node = Node::on(&store, options, registry, activities()).await;
    (node, "deployed")
}

async fn changed_code_fails_and_the_error_names_the_difference(mode: Mode) {
    let (node, instance) = redeployed(mode, calls_a, calls_b).await;
    match node.failure(instance).await {
        ErrorDetails::Configuration { kind: ConfigErrorKind::Nondeterminism, message, .. } => {
            let text = message.unwrap();
            assert!(text.starts_with("schedule mismatch: action="), "{text}");
            assert!(text.contains(" vs event=") && text.contains("name"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(node.stop_and_count().await.orch_configuration_errors, 1);
    let (node, instance) = redeployed(mode, calls_a, waits_for_b).await;
    let text = node.failure_text(instance).await;
    assert!(text.starts_with("nondeterministic: schedule mismatch: action="), "{text}");
    node.stop().await;
}

/// Code may return before it reaches a recorded schedule.
async fn code_that_returns_earlier_is_accepted(mode: Mode) {
    let (node, instance) = redeployed(mode, calls_a, returns_at_once).await;
    assert_eq!(node.output(instance).await, "shortcut");
    node.stop().await;
}

async fn a_recorded_tag_is_part_of_the_schedule(mode: Mode) {
    async fn other_tag(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        ctx.schedule_activity("A", "1").with_tag("other").await
    }
    let (node, instance) = redeployed(mode, calls_a, other_tag).await;
    let text = node.failure_text(instance).await;
    assert!(text.starts_with("nondeterministic: schedule mismatch"), "{text}");
    assert!(text.contains("tag"), "{text}");
    node.stop().await;
}

/// Two nodes may encode the same value differently, and a value may not matter.
async fn harmless_changes_of_inputs_are_accepted(mode: Mode) {
    async fn before(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        ctx.schedule_activity("Echo", r#"{"a":1,"b":2}"#).await?;
        ctx.schedule_activity("Notify", "v1").await?;
        ctx.schedule_sub_orchestration("Child", "v1").await?;
        Ok(ctx.schedule_wait("Go").await)
    }
    async fn after(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        let echoed = ctx.schedule_activity("Echo", r#"{"b":2.0, "a":1}"#).await?;
        let notified = ctx.schedule_activity("Notify", "v2").await?;
        let child = ctx.schedule_sub_orchestration("Child", "v2").await?;
        Ok(format!("{echoed} {notified} {child} {}", ctx.schedule_wait("Go").await))
    }
    async fn echo(_: ActivityContext, input: String) -> Result<String, String> {
        Ok(input)
    }
    let work = || activities().register("Echo", echo).register("Notify", echo);
    let code = || orchestrations().register("Child", |_, input| async move { Ok(input) });
    let store = memory().await;
    let node = Node::on(&store, mode.options(), code().register("Code", before), work()).await;
    node.start_instance("same", "Code", "").await;
    node.wait_for_event("same", "ExternalSubscribed").await;
    node.stop().await;
    let work = work().ignore_input_on_replay("Notify");
    let code = code().register("Code", after).ignore_input_on_replay("Child");
    let node = Node::on(&store, mode.options(), code, work).await;
    node.client.raise_event("same", "Go", "on").await.unwrap();
    // The results are those of the recorded inputs.
    assert_eq!(node.output("same").await, r#"{"a":1,"b":2} v1 v1 on"#);
    node.stop().await;
}

/// Otherwise the instance would wait for ever, because nothing durable wakes it.
async fn awaiting_something_not_durable_fails_the_instance(mode: Mode) {
    async fn sleeps(_: OrchestrationContext, _: String) -> Result<String, String> {
        tokio::time::sleep(Duration::from_millis(1)).await;
        Ok("never".to_owned())
    }
    let node = Node::start(mode, orchestrations().register("Sleep", sleeps), activities()).await;
    node.start_instance("sleep", "Sleep", "").await;
    let text = node.failure_text("sleep").await;
    let expected = "nondeterministic: orchestration 'Sleep' awaits something that is not durable";
    assert!(text.starts_with(expected), "{text}");
    node.stop().await;
}

/// Here the foreign wake comes while a durable wait is open, too.
#[tokio::test]
async fn a_foreign_wake_beside_a_durable_wait_fails_the_instance() {
    async fn races(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        let sleep = Box::pin(tokio::time::sleep(Duration::from_millis(1)));
        ctx.select2(sleep, ctx.schedule_wait("Never")).await;
        Ok("never".to_owned())
    }
    let node =
        Node::start(DEFAULT_MODE, orchestrations().register("Race", races), activities()).await;
    node.start_instance("race", "Race", "").await;
    let text = node.failure_text("race").await;
    let expected = "nondeterministic: orchestration 'Race' awaits something that is not durable";
    assert!(text.starts_with(expected), "{text}");
    node.stop().await;
}

/// Waiting for a cancellation alone is allowed: it needs no wake.
#[tokio::test]
async fn code_that_never_completes_can_be_cancelled() {
    async fn forever(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        ctx.set_custom_status("waiting");
        std::future::pending().await
    }
    let node =
        Node::start(DEFAULT_MODE, orchestrations().register("Ever", forever), activities()).await;
    node.start_instance("ever", "Ever", "").await;
    node.wait_for_event("ever", "CustomStatusUpdated").await;
    node.client.cancel_instance("ever", "enough").await.unwrap();
    assert_eq!(node.failure_text("ever").await, "canceled: enough");
    node.stop().await;
}

async fn replay_logs_nothing(mode: Mode) {
    async fn traces(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        ctx.trace_info("one");
        let before = ctx.is_replaying();
        ctx.schedule_timer(Duration::ZERO).await;
        ctx.trace_warn("two");
        ctx.schedule_timer(Duration::ZERO).await;
        ctx.trace("anything", "three");
        Ok(before.to_string())
    }
    let instance = format!("traces-{mode:?}");
    let node = Node::start(mode, orchestrations().register("Trace", traces), activities()).await;
    // The output is not compared: this code returns the replaying flag, which differs by mode.
    node.run(&instance, "Trace", "").await;
    assert_eq!(logged_by(&instance), ["one", "two", "three"]);
    node.stop().await;
}

in_every_mode! {
    changed_code_fails_and_the_error_names_the_difference,
    code_that_returns_earlier_is_accepted,
    harmless_changes_of_inputs_are_accepted,
    a_recorded_tag_is_part_of_the_schedule,
    awaiting_something_not_durable_fails_the_instance,
}

#[test]
fn replay_suppresses_traces() {
    let lines = Lines::default();
    LINES.set(Some(lines.clone()));
    for mode in [DEFAULT_MODE, Mode { warm: false, ..DEFAULT_MODE }] {
        let _here =
            tracing::subscriber::set_default(tracing_subscriber::registry().with(lines.clone()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(replay_logs_nothing(mode));
    }
}

std::thread_local! {
    static LINES: std::cell::RefCell<Option<Lines>> = const { std::cell::RefCell::new(None) };
}

/// Messages of orchestrations by instance, on this thread only.
#[derive(Clone, Default)]
struct Lines {
    written: Arc<Mutex<Vec<(String, String)>>>,
}

fn logged_by(instance: &str) -> Vec<String> {
    let lines = LINES.with_borrow(|lines| lines.clone().unwrap());
    let written = lines.written.lock().unwrap();
    let own = written.iter().filter(|(of, _)| of == instance);
    own.map(|(_, message)| message.clone()).collect()
}

impl<S: tracing::Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() != "duroxide::orchestration" {
            return;
        }
        let mut line = Line::default();
        event.record(&mut line);
        self.written.lock().unwrap().push((line.instance, line.message));
    }
}

#[derive(Default)]
struct Line {
    instance: String,
    message: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        match field.name() {
            "instance_id" => self.instance = format!("{value:?}").trim_matches('"').to_owned(),
            "message" => self.message = format!("{value:?}").trim_matches('"').to_owned(),
            _other => {}
        }
    }
}
