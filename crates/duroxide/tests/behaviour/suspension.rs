//! Instances that are suspended: because their code disagrees with their history, or by an
//! operator.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use duroxide::providers::{SUSPENSION_RETRY_MIN, Suspension, SuspensionOrigin};
use duroxide::runtime::registry::OrchestrationRegistryBuilder;
use duroxide::runtime::{MismatchPolicy, RuntimeOptions};
use duroxide::{ActivityContext, ClientError, OrchestrationContext};
use tokio::sync::Notify;

use crate::support::{
    DEFAULT_MODE, Mode, Node, activities, cancellations, count, eventually, in_every_mode, memory,
    memory_with_clock, orchestrations, within,
};

async fn two_waits(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let first = ctx.schedule_wait("First").await;
    Ok(format!("{first} {}", ctx.schedule_wait("Second").await))
}

/// A deployment that adds a step in the middle without a version.
async fn with_a_new_step(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    ctx.schedule_timer(Duration::from_secs(1)).await;
    two_waits(ctx, input).await
}

fn good() -> OrchestrationRegistryBuilder {
    orchestrations().register("Code", two_waits)
}

fn bad() -> OrchestrationRegistryBuilder {
    orchestrations().register("Code", with_a_new_step)
}

/// Waits until an instance is suspended.
async fn suspended(node: &Node, instance: &str) -> Suspension {
    within(async {
        loop {
            if let Some(suspension) = node.client.get_suspension(instance).await.unwrap() {
                return suspension;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

async fn answer_the_second_wait(node: &Node, instance: &str) {
    node.wait_for_history(instance, |history| count(history, "ExternalSubscribed") == 2).await;
    node.client.raise_event(instance, "Second", "2").await.unwrap();
}

in_every_mode!(changed_code_suspends_and_repaired_code_goes_on,);

async fn changed_code_suspends_and_repaired_code_goes_on(mode: Mode) {
    let store = memory().await;
    let node = Node::on(&store, mode.options(), good(), activities()).await;
    for instance in ["a", "b"] {
        node.start_instance(instance, "Code", "").await;
        node.wait_for_event(instance, "ExternalSubscribed").await;
    }
    node.stop().await;
    let node = Node::on(&store, mode.options(), bad(), activities()).await;
    for instance in ["a", "b"] {
        node.client.raise_event(instance, "First", "1").await.unwrap();
        let suspension = suspended(&node, instance).await;
        assert_eq!(suspension.origin, SuspensionOrigin::Replay);
        let expected = "nondeterministic: schedule mismatch: action=CreateTimer";
        assert!(suspension.reason.starts_with(expected), "{}", suspension.reason);
    }
    let listed = node.client.list_suspended_instances(None, 10).await.unwrap();
    assert_eq!(listed.iter().map(|it| it.instance_id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(listed[0].orchestration_name, "Code");
    node.stop().await;
    // The repaired code takes the turns at its start, long before the pause is over.
    let node = Node::on(&store, mode.options(), good(), activities()).await;
    for instance in ["a", "b"] {
        answer_the_second_wait(&node, instance).await;
        assert_eq!(node.output(instance).await, "1 2");
        assert_eq!(node.client.get_suspension(instance).await.unwrap(), None);
        assert_eq!(count(&node.history(instance).await, "OrchestrationFailed"), 0);
    }
    node.stop().await;
}

#[tokio::test]
async fn a_suspended_instance_goes_on_by_itself_when_its_code_agrees() {
    let (store, clock) = memory_with_clock().await;
    let (is_bad, runs) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let code = {
        let (is_bad, runs) = (Arc::clone(&is_bad), Arc::clone(&runs));
        move |ctx: OrchestrationContext, input: String| {
            let is_bad = is_bad.load(Ordering::SeqCst);
            runs.fetch_add(1, Ordering::SeqCst);
            async move {
                match is_bad {
                    true => with_a_new_step(ctx, input).await,
                    false => two_waits(ctx, input).await,
                }
            }
        }
    };
    let mut options = RuntimeOptions { max_attempts: 1, ..DEFAULT_MODE.options() };
    options.warm_cache.enabled = false;
    let registry = orchestrations().register("Code", code);
    let node = Node::on(&store, options, registry, activities()).await;
    node.start_instance("a", "Code", "").await;
    node.wait_for_event("a", "ExternalSubscribed").await;
    is_bad.store(true, Ordering::SeqCst);
    node.client.raise_event("a", "First", "1").await.unwrap();
    let first = suspended(&node, "a").await;
    // More retries than attempts are allowed: none of them counts.
    for _ in 0..3 {
        let before = runs.load(Ordering::SeqCst);
        eventually(|| {
            clock.advance(SUSPENSION_RETRY_MIN);
            runs.load(Ordering::SeqCst) > before
        })
        .await;
    }
    assert_eq!(suspended(&node, "a").await.since_ms, first.since_ms);
    is_bad.store(false, Ordering::SeqCst);
    let before = runs.load(Ordering::SeqCst);
    eventually(|| {
        clock.advance(SUSPENSION_RETRY_MIN);
        runs.load(Ordering::SeqCst) > before
    })
    .await;
    answer_the_second_wait(&node, "a").await;
    assert_eq!(node.output("a").await, "1 2");
    node.stop().await;
}

/// The commit of a cancellation needs no replay: the history names what has to be cancelled.
#[tokio::test]
async fn a_suspended_instance_can_be_cancelled() {
    async fn with_work(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        let activity = ctx.schedule_activity("Unserved", "").with_tag("unserved");
        let child = ctx.schedule_sub_orchestration_with_id("Child", "child", "");
        let wait = ctx.schedule_wait("First");
        let (activity, ..) = ctx.join3(activity, child, wait).await;
        activity
    }
    async fn child(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        Ok(ctx.schedule_wait("Never").await)
    }
    let store = memory().await;
    let registry = orchestrations().register("Code", with_work).register("Child", child);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry, activities()).await;
    node.start_instance("a", "Code", "").await;
    node.wait_for_event("child", "ExternalSubscribed").await;
    node.stop().await;
    let registry = bad().register("Child", child);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry, activities()).await;
    node.client.raise_event("a", "First", "1").await.unwrap();
    suspended(&node, "a").await;
    node.client.cancel_instance("a", "given up").await.unwrap();
    assert_eq!(node.failure_text("a").await, "canceled: given up");
    assert!(node.failure_text("child").await.starts_with("canceled: "));
    let history = node.history("a").await;
    assert_eq!(count(&history, "ActivityCancelRequested"), 1, "{:?}", cancellations(&history));
    assert_eq!(node.client.get_queue_depths().await.unwrap().worker_queue, 0);
    assert_eq!(node.client.get_suspension("a").await.unwrap(), None);
    node.stop().await;
}

/// A turn takes some of the messages that wait. Replay failed before the turn came to the
/// cancellation behind them, again and again.
#[tokio::test]
async fn a_suspended_instance_with_thousands_of_messages_can_be_cancelled() {
    const WAITING: usize = 3_000;
    let store = memory().await;
    let node = Node::on(&store, DEFAULT_MODE.options(), good(), activities()).await;
    for instance in ["by replay", "by an operator"] {
        node.start_instance(instance, "Code", "").await;
        node.wait_for_event(instance, "ExternalSubscribed").await;
    }
    node.client.suspend_instance("by an operator", "maintenance").await.unwrap();
    node.stop().await;
    let node = Node::on(&store, DEFAULT_MODE.options(), bad(), activities()).await;
    node.client.raise_event("by replay", "First", "1").await.unwrap();
    assert_eq!(suspended(&node, "by replay").await.origin, SuspensionOrigin::Replay);
    for instance in ["by replay", "by an operator"] {
        for number in 0..WAITING {
            node.client.enqueue_event(instance, "Queue", number.to_string()).await.unwrap();
        }
        node.client.cancel_instance(instance, "given up").await.unwrap();
        assert_eq!(node.failure_text(instance).await, "canceled: given up");
        assert_eq!(node.client.get_suspension(instance).await.unwrap(), None);
    }
    node.stop().await;
}

#[tokio::test]
async fn an_operator_suspends_and_resumes_an_instance() {
    let (store, clock) = memory_with_clock().await;
    let go = Arc::new(Notify::new());
    let work = {
        let go = Arc::clone(&go);
        activities().register("Work", move |_: ActivityContext, _: String| {
            let go = Arc::clone(&go);
            async move {
                go.notified().await;
                Ok("done".to_owned())
            }
        })
    };
    async fn code(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        ctx.schedule_activity("Work", "").await
    }
    let registry = orchestrations().register("Code", code);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry, work).await;
    let missing = node.client.suspend_instance("missing", "why").await.unwrap_err();
    assert!(matches!(missing, ClientError::InstanceNotFound { .. }), "{missing}");
    node.start_instance("a", "Code", "").await;
    node.wait_for_event("a", "ActivityScheduled").await;
    node.client.suspend_instance("a", "maintenance").await.unwrap();
    go.notify_one();
    // The activity completes; its result waits.
    within(async {
        while node.client.get_queue_depths().await.unwrap().worker_queue > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    clock.advance(Duration::from_secs(3_600));
    let suspension = node.client.get_suspension("a").await.unwrap().expect("it is suspended");
    assert_eq!(suspension.origin, SuspensionOrigin::Operator);
    assert_eq!(suspension.reason, "maintenance");
    assert_eq!(count(&node.history("a").await, "ActivityCompleted"), 0);
    assert!(node.client.resume_instance("a").await.unwrap());
    assert_eq!(node.output("a").await, "done");
    assert!(!node.client.resume_instance("a").await.unwrap());
    let ended = node.client.suspend_instance("a", "late").await.unwrap_err();
    assert!(ended.to_string().contains("has ended: Completed"), "{ended}");
    node.stop().await;
}

#[tokio::test]
async fn one_orchestration_may_fail_where_the_others_are_suspended() {
    let store = memory().await;
    let registry = good().register("Strict", two_waits);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry, activities()).await;
    for (instance, name) in [("a", "Code"), ("strict", "Strict")] {
        node.start_instance(instance, name, "").await;
        node.wait_for_event(instance, "ExternalSubscribed").await;
    }
    node.stop().await;
    let options = DEFAULT_MODE.options().with_mismatch_policy_of("Strict", MismatchPolicy::Fail);
    let registry = bad().register("Strict", with_a_new_step);
    let node = Node::on(&store, options, registry, activities()).await;
    for instance in ["a", "strict"] {
        node.client.raise_event(instance, "First", "1").await.unwrap();
    }
    let text = node.failure_text("strict").await;
    assert!(text.starts_with("nondeterministic: schedule mismatch"), "{text}");
    suspended(&node, "a").await;
    node.stop().await;
}
