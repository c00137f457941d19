//! Cancelled instances and dropped futures (8, 11.7, 11.10, 11.11, 19, decision 10).

use std::sync::Arc;
use std::time::{Duration, Instant};

use duroxide::runtime::RuntimeOptions;
use duroxide::{ActivityContext, AppErrorKind, ErrorDetails, OrchestrationContext};

use crate::support::{
    Diary, Mode, Node, PATIENCE, USUAL, activities, cancellations, count, in_every_mode, memory,
    orchestrations,
};

/// How soon an activity on the same node knows that nobody wants it.
/// Without being told it would be half a lease, 15 s.
const PROMPT: Duration = Duration::from_secs(5);

async fn works(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ctx.schedule_activity("Work", "").await
}

async fn races(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let work = ctx.schedule_activity("Work", "");
    let go = ctx.schedule_wait("Enough");
    Ok(match ctx.select2(work, go).await {
        duroxide::Either2::First(_) => "worked".to_owned(),
        duroxide::Either2::Second(reason) => reason,
    })
}

async fn waits(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    Ok(ctx.schedule_wait("Go").await)
}

async fn level_two(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ctx.schedule_sub_orchestration_with_id("Wait", "grandchild", "").await
}

async fn level_one(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ctx.schedule_sub_orchestration_with_id("Two", "child", "").await
}

/// An activity that says when it begins and when it is told to stop.
fn patient_work(
    diary: &Diary,
) -> impl Fn(
    ActivityContext,
    String,
) -> std::pin::Pin<Box<dyn Future<Output = Result<String, String>> + Send>>
+ Send
+ Sync
+ 'static {
    let diary = diary.clone();
    move |ctx, _| {
        let diary = diary.clone();
        Box::pin(async move {
            diary.write("began");
            ctx.cancelled().await;
            assert!(ctx.is_cancelled() && ctx.cancellation_token().is_cancelled());
            diary.write("stopped");
            Ok("unwanted".to_owned())
        })
    }
}

async fn a_running_activity_is_told_at_the_commit_that_cancels_it(mode: Mode) {
    let diary = Diary::default();
    let registry = orchestrations().register("Work", works).register("Race", races);
    let activities = activities().register("Work", patient_work(&diary));
    let node = Node::start(mode, registry, activities).await;

    node.begin("cancelled", "Work", "").await;
    assert_eq!(diary.next().await, "began");
    let asked = Instant::now();
    node.client.cancel_instance("cancelled", "enough").await.unwrap();
    assert_eq!(diary.next().await, "stopped");
    assert!(asked.elapsed() < PROMPT, "took {:?}", asked.elapsed());
    assert_eq!(node.failure_text("cancelled").await, "canceled: enough");

    node.begin("raced", "Race", "").await;
    assert_eq!(diary.next().await, "began");
    let asked = Instant::now();
    node.client.raise_event("raced", "Enough", "too slow").await.unwrap();
    assert_eq!(diary.next().await, "stopped");
    assert!(asked.elapsed() < PROMPT, "took {:?}", asked.elapsed());
    assert_eq!(node.output("raced").await, "too slow");
    assert_eq!(cancellations(&node.history("raced").await), [(2, "dropped_future")]);

    let counts = node.stop_and_count().await;
    assert_eq!(counts.activity_infra_errors, 0, "a cancelled activity is no trouble");
}

async fn a_queued_activity_that_is_cancelled_never_runs(mode: Mode) {
    let diary = Diary::default();
    let store = memory().await;
    let options = RuntimeOptions { worker_concurrency: 0, ..mode.options() };
    let registry = || orchestrations().register("Work", works).register("Wait", waits);
    let idle = Node::on(&store, options, registry(), activities()).await;
    idle.begin("queued", "Work", "").await;
    idle.until_kind("queued", "ActivityScheduled").await;
    idle.client.cancel_instance("queued", "enough").await.unwrap();
    assert_eq!(idle.failure_text("queued").await, "canceled: enough");
    assert_eq!(idle.client.get_queue_depths().await.unwrap().worker_queue, 0);
    idle.stop().await;
    let activities = activities().register("Work", patient_work(&diary));
    let node = Node::on(&store, mode.options(), registry(), activities).await;
    node.begin("next", "Work", "").await;
    assert_eq!(diary.next().await, "began", "only of the next instance");
    node.client.cancel_instance("next", "").await.unwrap();
    assert_eq!(diary.next().await, "stopped");
    assert!(diary.unread().is_empty());
    node.stop().await;
}

async fn a_cancelled_parent_cancels_its_descendants(mode: Mode) {
    let registry = orchestrations()
        .register("One", level_one)
        .register("Two", level_two)
        .register("Wait", waits);
    let node = Node::start(mode, registry, activities()).await;
    node.begin("root", "One", "").await;
    node.until_kind("grandchild", "ExternalSubscribed").await;
    node.client.cancel_instance("root", "all of it").await.unwrap();
    assert_eq!(node.failure_text("root").await, "canceled: all of it");
    assert_eq!(node.failure_text("child").await, "canceled: parent canceled");
    assert_eq!(node.failure_text("grandchild").await, "canceled: parent canceled");
    node.stop().await;
}

async fn a_cancelled_child_is_an_error_its_parent_can_catch(mode: Mode) {
    async fn catches(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        Ok(ctx.schedule_sub_orchestration_with_id("Wait", "child", "").await.unwrap_err())
    }
    let registry = orchestrations().register("Catch", catches).register("Wait", waits);
    let node = Node::start(mode, registry, activities()).await;
    node.begin("parent", "Catch", "").await;
    node.until_kind("child", "ExternalSubscribed").await;
    node.client.cancel_instance("child", "only the child").await.unwrap();
    assert_eq!(node.output("parent").await, "canceled: only the child");
    node.stop().await;
}

in_every_mode! {
    a_running_activity_is_told_at_the_commit_that_cancels_it,
    a_queued_activity_that_is_cancelled_never_runs,
    a_cancelled_parent_cancels_its_descendants,
    a_cancelled_child_is_an_error_its_parent_can_catch,
}

#[tokio::test]
async fn a_cancelled_instance_says_why_and_stays_so() {
    let node = Node::start(USUAL, orchestrations().register("Wait", waits), activities()).await;
    node.begin("wait", "Wait", "").await;
    node.until_kind("wait", "ExternalSubscribed").await;
    node.client.cancel_instance("wait", "first").await.unwrap();
    node.client.cancel_instance("wait", "second").await.unwrap();
    match node.failure("wait").await {
        ErrorDetails::Application { kind: AppErrorKind::Cancelled { reason }, .. } => {
            assert_eq!(reason, "first");
        }
        other => panic!("{other:?}"),
    }
    node.until_drained().await;
    let history = node.history("wait").await;
    assert_eq!(count(&history, "OrchestrationCancelRequested"), 1);
    let info = node.client.get_execution_info("wait", 1).await.unwrap();
    assert_eq!((info.status.as_str(), info.output.as_deref()), ("Failed", Some("canceled: first")));
    node.stop().await;
}

#[tokio::test]
async fn what_the_cancelled_turn_asks_for_is_recorded_and_not_started() {
    async fn goes_on(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        ctx.schedule_wait("Go").await;
        ctx.schedule_activity("Work", "").await
    }
    let store = memory().await;
    let registry = || orchestrations().register("On", goes_on);
    let node = Node::on(&store, USUAL.options(), registry(), activities()).await;
    node.begin("on", "On", "").await;
    node.until_kind("on", "ExternalSubscribed").await;
    node.runtime.clone().shutdown(None).await;
    node.client.raise_event("on", "Go", "").await.unwrap();
    node.client.cancel_instance("on", "enough").await.unwrap();
    let node = Node::on(&store, USUAL.options(), registry(), activities()).await;
    assert_eq!(node.failure_text("on").await, "canceled: enough");
    assert_eq!(count(&node.history("on").await, "ActivityScheduled"), 1);
    assert_eq!(node.client.get_queue_depths().await.unwrap().worker_queue, 0);
    node.stop().await;
}

#[tokio::test]
async fn a_dropped_child_is_cancelled_and_a_forgotten_one_is_not() {
    async fn lets_go(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        let dropped = ctx.schedule_sub_orchestration_with_id("Wait", "dropped", "");
        std::mem::forget(ctx.schedule_sub_orchestration_with_id("Wait", "forgotten", ""));
        ctx.schedule_wait("Both run").await;
        drop(dropped);
        Ok("over".to_owned())
    }
    let registry = orchestrations().register("Let", lets_go).register("Wait", waits);
    let node = Node::start(USUAL, registry, activities()).await;
    node.begin("parent", "Let", "").await;
    node.until_kind("dropped", "ExternalSubscribed").await;
    node.until_kind("forgotten", "ExternalSubscribed").await;
    node.client.raise_event("parent", "Both run", "").await.unwrap();
    assert_eq!(node.output("parent").await, "over");
    let text = node.failure_text("dropped").await;
    assert_eq!(text, "canceled: parent dropped sub-orchestration future");
    assert_eq!(cancellations(&node.history("parent").await), [(2, "dropped_future")]);
    node.client.raise_event("forgotten", "Go", "still here").await.unwrap();
    assert_eq!(node.output("forgotten").await, "still here");
    node.stop().await;
}

#[tokio::test]
async fn an_activity_that_does_not_stop_is_aborted_after_its_grace() {
    async fn stubborn(_: ActivityContext, _: String) -> Result<String, String> {
        std::future::pending().await
    }
    let diary = Diary::default();
    let options = RuntimeOptions {
        worker_concurrency: 1,
        activity_cancellation_grace_period: Duration::from_millis(20),
        ..USUAL.options()
    };
    let registry = orchestrations().register("Work", works).register("Race", races);
    let written = diary.clone();
    let activities = activities().register("Work", move |ctx: ActivityContext, input| {
        written.write(ctx.instance_id());
        stubborn(ctx, input)
    });
    let node = Node::on(&memory().await, options, registry, activities).await;
    for instance in ["first", "second"] {
        node.begin(instance, "Work", "").await;
        assert_eq!(diary.next().await, instance, "the only slot is free again");
        node.client.cancel_instance(instance, "enough").await.unwrap();
        node.client.wait_for_orchestration(instance, PATIENCE).await.unwrap();
    }
    node.stop().await;
}

#[tokio::test]
async fn an_activity_that_another_node_cancelled_is_no_infrastructure_error() {
    let (begun, mut begins) = tokio::sync::mpsc::channel::<()>(1);
    let enough = Arc::new(tokio::sync::Notify::new());
    let ends = Arc::clone(&enough);
    let work = move |_: ActivityContext, _: String| {
        let (begun, ends) = (begun.clone(), Arc::clone(&ends));
        async move {
            begun.send(()).await.map_err(|error| error.to_string())?;
            ends.notified().await;
            Ok("too late".to_owned())
        }
    };
    let store = memory().await;
    let turns = RuntimeOptions { worker_concurrency: 0, ..USUAL.options() };
    let work_only = RuntimeOptions { orchestration_concurrency: 0, ..USUAL.options() };
    let decides =
        Node::on(&store, turns, orchestrations().register("Race", races), activities()).await;
    let acts =
        Node::on(&store, work_only, orchestrations(), activities().register("Work", work)).await;
    decides.begin("race", "Race", "").await;
    begins.recv().await.unwrap();
    decides.until_kind("race", "ExternalSubscribed").await;
    decides.client.raise_event("race", "Enough", "enough").await.unwrap();
    assert_eq!(decides.output("race").await, "enough");
    enough.notify_one();
    decides.stop().await;
    let counted = acts.stop_and_count().await;
    assert_eq!((counted.activity_infra_errors, counted.activity_success), (0, 0));
}
