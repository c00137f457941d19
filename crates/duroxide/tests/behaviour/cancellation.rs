//! Cancelled instances and dropped futures.

use std::sync::Arc;
use std::time::{Duration, Instant};

use duroxide::runtime::RuntimeOptions;
use duroxide::{ActivityContext, AppErrorKind, ErrorDetails, OrchestrationContext};

use crate::support::{
    DEFAULT_MODE, Journal, Mode, Node, TIMEOUT, activities, cancellations, count, in_every_mode,
    memory, orchestrations,
};

/// How soon an activity on the same node is cancelled. Its renewal would detect it only after half
/// a lease, 15 s.
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

/// An activity that records its start and its cancellation.
fn cancellable_work(
    journal: &Journal,
) -> impl Fn(
    ActivityContext,
    String,
) -> std::pin::Pin<Box<dyn Future<Output = Result<String, String>> + Send>>
+ Send
+ Sync
+ 'static {
    let journal = journal.clone();
    move |ctx, _| {
        let journal = journal.clone();
        Box::pin(async move {
            journal.write("started");
            ctx.cancelled().await;
            assert!(ctx.is_cancelled() && ctx.cancellation_token().is_cancelled());
            journal.write("stopped");
            Ok("unwanted".to_owned())
        })
    }
}

async fn the_commit_that_cancels_a_running_activity_notifies_it(mode: Mode) {
    let journal = Journal::default();
    let registry = orchestrations().register("Work", works).register("Race", races);
    let activities = activities().register("Work", cancellable_work(&journal));
    let node = Node::start(mode, registry, activities).await;

    node.start_instance("cancelled", "Work", "").await;
    assert_eq!(journal.next().await, "started");
    let start = Instant::now();
    node.client.cancel_instance("cancelled", "enough").await.unwrap();
    assert_eq!(journal.next().await, "stopped");
    assert!(start.elapsed() < PROMPT, "took {:?}", start.elapsed());
    assert_eq!(node.failure_text("cancelled").await, "canceled: enough");

    node.start_instance("raced", "Race", "").await;
    assert_eq!(journal.next().await, "started");
    let start = Instant::now();
    node.client.raise_event("raced", "Enough", "too slow").await.unwrap();
    assert_eq!(journal.next().await, "stopped");
    assert!(start.elapsed() < PROMPT, "took {:?}", start.elapsed());
    assert_eq!(node.output("raced").await, "too slow");
    assert_eq!(cancellations(&node.history("raced").await), [(2, "dropped_future")]);

    let counts = node.stop_and_count().await;
    assert_eq!(
        counts.activity_infra_errors, 0,
        "a cancelled activity is not an infrastructure error"
    );
}

async fn a_queued_activity_that_is_cancelled_never_runs(mode: Mode) {
    let journal = Journal::default();
    let store = memory().await;
    let options = RuntimeOptions { worker_concurrency: 0, ..mode.options() };
    let registry = || orchestrations().register("Work", works).register("Wait", waits);
    let idle = Node::on(&store, options, registry(), activities()).await;
    idle.start_instance("queued", "Work", "").await;
    idle.wait_for_event("queued", "ActivityScheduled").await;
    idle.client.cancel_instance("queued", "enough").await.unwrap();
    assert_eq!(idle.failure_text("queued").await, "canceled: enough");
    assert_eq!(idle.client.get_queue_depths().await.unwrap().worker_queue, 0);
    idle.stop().await;
    let activities = activities().register("Work", cancellable_work(&journal));
    let node = Node::on(&store, mode.options(), registry(), activities).await;
    node.start_instance("next", "Work", "").await;
    assert_eq!(journal.next().await, "started", "only the activity of the next instance runs");
    node.client.cancel_instance("next", "").await.unwrap();
    assert_eq!(journal.next().await, "stopped");
    assert!(journal.unread().is_empty());
    node.stop().await;
}

async fn a_cancelled_parent_cancels_its_descendants(mode: Mode) {
    let registry = orchestrations()
        .register("One", level_one)
        .register("Two", level_two)
        .register("Wait", waits);
    let node = Node::start(mode, registry, activities()).await;
    node.start_instance("root", "One", "").await;
    node.wait_for_event("grandchild", "ExternalSubscribed").await;
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
    node.start_instance("parent", "Catch", "").await;
    node.wait_for_event("child", "ExternalSubscribed").await;
    node.client.cancel_instance("child", "only the child").await.unwrap();
    assert_eq!(node.output("parent").await, "canceled: only the child");
    node.stop().await;
}

in_every_mode! {
    the_commit_that_cancels_a_running_activity_notifies_it,
    a_queued_activity_that_is_cancelled_never_runs,
    a_cancelled_parent_cancels_its_descendants,
    a_cancelled_child_is_an_error_its_parent_can_catch,
}

#[tokio::test]
async fn a_cancelled_instance_keeps_its_first_reason() {
    let node =
        Node::start(DEFAULT_MODE, orchestrations().register("Wait", waits), activities()).await;
    node.start_instance("wait", "Wait", "").await;
    node.wait_for_event("wait", "ExternalSubscribed").await;
    node.client.cancel_instance("wait", "first").await.unwrap();
    node.client.cancel_instance("wait", "second").await.unwrap();
    match node.failure("wait").await {
        ErrorDetails::Application { kind: AppErrorKind::Cancelled { reason }, .. } => {
            assert_eq!(reason, "first");
        }
        other => panic!("{other:?}"),
    }
    node.wait_until_drained().await;
    let history = node.history("wait").await;
    assert_eq!(count(&history, "OrchestrationCancelRequested"), 1);
    let info = node.client.get_execution_info("wait", 1).await.unwrap();
    assert_eq!((info.status.as_str(), info.output.as_deref()), ("Failed", Some("canceled: first")));
    node.stop().await;
}

#[tokio::test]
async fn actions_of_a_cancelled_turn_are_recorded_and_not_started() {
    async fn continues(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        ctx.schedule_wait("Go").await;
        ctx.schedule_activity("Work", "").await
    }
    let store = memory().await;
    let registry = || orchestrations().register("On", continues);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry(), activities()).await;
    node.start_instance("on", "On", "").await;
    node.wait_for_event("on", "ExternalSubscribed").await;
    node.runtime.clone().shutdown(None).await;
    node.client.raise_event("on", "Go", "").await.unwrap();
    node.client.cancel_instance("on", "enough").await.unwrap();
    let node = Node::on(&store, DEFAULT_MODE.options(), registry(), activities()).await;
    assert_eq!(node.failure_text("on").await, "canceled: enough");
    assert_eq!(count(&node.history("on").await, "ActivityScheduled"), 1);
    assert_eq!(node.client.get_queue_depths().await.unwrap().worker_queue, 0);
    node.stop().await;
}

#[tokio::test]
async fn a_dropped_child_is_cancelled_and_a_forgotten_one_is_not() {
    async fn drops_and_forgets(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        let dropped = ctx.schedule_sub_orchestration_with_id("Wait", "dropped", "");
        std::mem::forget(ctx.schedule_sub_orchestration_with_id("Wait", "forgotten", ""));
        ctx.schedule_wait("Both run").await;
        drop(dropped);
        Ok("over".to_owned())
    }
    let registry = orchestrations().register("Let", drops_and_forgets).register("Wait", waits);
    let node = Node::start(DEFAULT_MODE, registry, activities()).await;
    node.start_instance("parent", "Let", "").await;
    node.wait_for_event("dropped", "ExternalSubscribed").await;
    node.wait_for_event("forgotten", "ExternalSubscribed").await;
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
async fn an_activity_that_does_not_stop_is_aborted_after_its_grace_period() {
    async fn stubborn(_: ActivityContext, _: String) -> Result<String, String> {
        std::future::pending().await
    }
    let journal = Journal::default();
    let options = RuntimeOptions {
        worker_concurrency: 1,
        activity_cancellation_grace_period: Duration::from_millis(20),
        ..DEFAULT_MODE.options()
    };
    let registry = orchestrations().register("Work", works).register("Race", races);
    let written = journal.clone();
    let activities = activities().register("Work", move |ctx: ActivityContext, input| {
        written.write(ctx.instance_id());
        stubborn(ctx, input)
    });
    let node = Node::on(&memory().await, options, registry, activities).await;
    for instance in ["first", "second"] {
        node.start_instance(instance, "Work", "").await;
        assert_eq!(journal.next().await, instance, "the only slot is free again");
        node.client.cancel_instance(instance, "enough").await.unwrap();
        node.client.wait_for_orchestration(instance, TIMEOUT).await.unwrap();
    }
    node.stop().await;
}

#[tokio::test]
async fn a_cancellation_by_another_node_is_not_an_infrastructure_error() {
    let (started, mut starts) = tokio::sync::mpsc::channel::<()>(1);
    let release = Arc::new(tokio::sync::Notify::new());
    let released = Arc::clone(&release);
    let work = move |_: ActivityContext, _: String| {
        let (started, released) = (started.clone(), Arc::clone(&released));
        async move {
            started.send(()).await.map_err(|error| error.to_string())?;
            released.notified().await;
            Ok("too late".to_owned())
        }
    };
    let store = memory().await;
    let turns = RuntimeOptions { worker_concurrency: 0, ..DEFAULT_MODE.options() };
    let work_only = RuntimeOptions { orchestration_concurrency: 0, ..DEFAULT_MODE.options() };
    let turn_node =
        Node::on(&store, turns, orchestrations().register("Race", races), activities()).await;
    let activity_node =
        Node::on(&store, work_only, orchestrations(), activities().register("Work", work)).await;
    turn_node.start_instance("race", "Race", "").await;
    starts.recv().await.unwrap();
    turn_node.wait_for_event("race", "ExternalSubscribed").await;
    turn_node.client.raise_event("race", "Enough", "enough").await.unwrap();
    assert_eq!(turn_node.output("race").await, "enough");
    release.notify_one();
    turn_node.stop().await;
    let counted = activity_node.stop_and_count().await;
    assert_eq!((counted.activity_infra_errors, counted.activity_success), (0, 0));
}
