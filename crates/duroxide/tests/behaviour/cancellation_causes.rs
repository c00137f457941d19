//! Every cause that cancels an activity, and how soon the activity is notified.

use std::sync::Arc;
use std::time::{Duration, Instant};

use duroxide::providers::Provider;
use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::{ActivityRegistryBuilder, OrchestrationRegistryBuilder};
use duroxide::{ActivityContext, OrchestrationContext};
use tokio::sync::mpsc;

use crate::faulty::Faulty;
use crate::support::{
    Journal, Mode, Node, activities, cancellations, has, in_every_mode, memory, orchestrations,
    within,
};

/// From the response of the store to the cancellation of the activity.
const NOTIFIED_WITHIN: Duration = Duration::from_millis(100);
/// One of these attempts must be fast enough; the machine may be busy during the others.
const TRIES: usize = 5;

/// What cancels an activity, and the reason recorded in history.
const CAUSES: [(&str, &str); 5] = [
    ("Drop", "dropped_future"),
    ("Race", "dropped_future"),
    ("End", "orchestration_terminal_completed"),
    ("Continue", "orchestration_terminal_continued_as_new"),
    ("Cancel", "orchestration_terminal_failed"),
];

fn causes() -> OrchestrationRegistryBuilder {
    orchestrations()
        .register("Drop", |ctx: OrchestrationContext, _: String| async move {
            let work = ctx.schedule_activity("Work", "");
            ctx.schedule_wait("Enough").await;
            drop(work);
            Ok(ctx.schedule_wait("End").await)
        })
        .register("Race", |ctx: OrchestrationContext, _: String| async move {
            let work = ctx.schedule_activity("Work", "");
            ctx.select2(work, ctx.schedule_wait("Enough")).await;
            Ok(ctx.schedule_wait("End").await)
        })
        .register("End", |ctx: OrchestrationContext, _: String| async move {
            // A future that is dropped with the code would count as dropped.
            std::mem::forget(ctx.schedule_activity("Work", ""));
            Ok(ctx.schedule_wait("Enough").await)
        })
        .register("Continue", |ctx: OrchestrationContext, input: String| async move {
            if input == "again" {
                return Ok(ctx.schedule_wait("End").await);
            }
            let _work = ctx.schedule_activity("Work", "");
            ctx.schedule_wait("Enough").await;
            ctx.continue_as_new("again").await
        })
        .register("Cancel", |ctx: OrchestrationContext, _: String| async move {
            let work = ctx.schedule_activity("Work", "");
            let _wait = ctx.schedule_wait("Enough");
            work.await
        })
}

/// An activity that records its start and the time of its cancellation.
fn cancellable_work(
    started: &Journal,
    notified: &mpsc::UnboundedSender<Instant>,
) -> ActivityRegistryBuilder {
    let (started, notified) = (started.clone(), notified.clone());
    activities().register("Work", move |ctx: ActivityContext, _: String| {
        let (started, notified) = (started.clone(), notified.clone());
        async move {
            started.write(ctx.instance_id());
            ctx.cancelled().await;
            notified.send(Instant::now()).unwrap();
            Ok("unwanted".to_owned())
        }
    })
}

/// Makes the orchestration cancel the activity.
async fn trigger(node: &Node, instance: &str, cause: &str) {
    match cause {
        "Cancel" => node.client.cancel_instance(instance, "enough").await.unwrap(),
        _signal => node.client.raise_event(instance, "Enough", "").await.unwrap(),
    }
}

async fn every_cause_cancels_a_running_activity_at_once(mode: Mode) {
    let started = Journal::default();
    let (notified, mut notifications) = mpsc::unbounded_channel();
    let faulty = Faulty::new(memory().await);
    let store: Arc<dyn Provider> = faulty.clone();
    let node =
        Node::on(&store, mode.options(), causes(), cancellable_work(&started, &notified)).await;
    for (cause, reason) in CAUSES {
        let mut took = Vec::new();
        while took.iter().all(|took| *took >= NOTIFIED_WITHIN) {
            assert!(took.len() < TRIES, "{cause}: {took:?}");
            let instance = format!("{cause}-{}", took.len());
            node.start_instance(&instance, cause, "").await;
            // With a single slot this also proves that the slot of the previous one is free.
            assert_eq!(started.next().await, instance);
            node.wait_for_event(&instance, "ExternalSubscribed").await;
            trigger(&node, &instance, cause).await;
            let notified = within(notifications.recv()).await.unwrap();
            let committed = faulty.cancelled_at().unwrap();
            took.push(notified.saturating_duration_since(committed));
            let history = node.client.read_execution_history(&instance, 1).await.unwrap();
            assert_eq!(cancellations(&history).last(), Some(&(2, reason)), "{cause}");
            assert!(!has(&history, "ActivityCompleted") && !has(&history, "ActivityFailed"));
        }
        println!("{cause}: notified {took:?} after the commit");
    }
    let counted = node.stop_and_count().await;
    assert_eq!((counted.activity_success, counted.activity_infra_errors), (0, 0));
    assert!(started.unread().is_empty(), "each ran once");
}

async fn a_cancelled_activity_in_the_queue_never_starts(mode: Mode) {
    let started = Journal::default();
    let (notified, _tells) = mpsc::unbounded_channel();
    let store = memory().await;
    let options = RuntimeOptions { worker_concurrency: 0, ..mode.options() };
    let turn_node = Node::on(&store, options, causes(), activities()).await;
    for (cause, reason) in CAUSES {
        turn_node.start_instance(cause, cause, "").await;
        turn_node.wait_for_event(cause, "ExternalSubscribed").await;
        trigger(&turn_node, cause, cause).await;
        within(async {
            loop {
                let history = turn_node.client.read_execution_history(cause, 1).await.unwrap();
                if cancellations(&history).last() == Some(&(2, reason)) {
                    return;
                }
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
    assert_eq!(turn_node.client.get_queue_depths().await.unwrap().worker_queue, 0);
    let options = RuntimeOptions { orchestration_concurrency: 0, ..mode.options() };
    let activity_node =
        Node::on(&store, options, causes(), cancellable_work(&started, &notified)).await;
    turn_node.start_instance("canary", "Drop", "").await;
    assert_eq!(started.next().await, "canary", "only the activity that is not cancelled starts");
    trigger(&turn_node, "canary", "Drop").await;
    turn_node.wait_for_event("canary", "ActivityCancelRequested").await;
    activity_node.stop().await;
    turn_node.stop().await;
    assert!(started.unread().is_empty());
}

in_every_mode! {
    every_cause_cancels_a_running_activity_at_once,
    a_cancelled_activity_in_the_queue_never_starts,
}

/// Two nodes on one store: the store notifies the node of the activity long before its renewal.
#[tokio::test]
async fn an_activity_on_another_node_is_cancelled_at_once() {
    let started = Journal::default();
    let (notified, mut notifications) = mpsc::unbounded_channel();
    let store = memory().await;
    let options = RuntimeOptions { worker_concurrency: 0, ..RuntimeOptions::default() };
    let turn_node = Node::on(&store, options, causes(), activities()).await;
    let options = RuntimeOptions { orchestration_concurrency: 0, ..RuntimeOptions::default() };
    let activity_node =
        Node::on(&store, options, orchestrations(), cancellable_work(&started, &notified)).await;
    for (cause, _reason) in CAUSES {
        turn_node.start_instance(cause, cause, "").await;
        assert_eq!(started.next().await, cause);
        turn_node.wait_for_event(cause, "ExternalSubscribed").await;
        let start = Instant::now();
        trigger(&turn_node, cause, cause).await;
        within(notifications.recv()).await.unwrap();
        assert!(start.elapsed() < Duration::from_secs(5), "{cause}: {:?}", start.elapsed());
    }
    turn_node.stop().await;
    activity_node.stop().await;
}

/// Deleting an instance cancels its running activities.
#[tokio::test]
async fn deleting_an_instance_cancels_its_activity() {
    let started = Journal::default();
    let (notified, mut notifications) = mpsc::unbounded_channel();
    let options = RuntimeOptions::default();
    let node =
        Node::on(&memory().await, options, causes(), cancellable_work(&started, &notified)).await;
    node.start_instance("deleted", "Drop", "").await;
    assert_eq!(started.next().await, "deleted");
    node.wait_for_event("deleted", "ExternalSubscribed").await;
    let start = Instant::now();
    node.client.delete_instance("deleted", true).await.unwrap();
    within(notifications.recv()).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(5), "took {:?}", start.elapsed());
    node.stop().await;
}

/// Code may use its token to stop tasks of its own; that does not cancel the activity.
#[tokio::test]
async fn an_activity_that_fires_its_own_token_is_not_cancelled() {
    let handlers = activities().register("Work", |ctx: ActivityContext, _: String| async move {
        ctx.cancellation_token().cancel();
        tokio::task::yield_now().await;
        Ok(format!("stopped its own tasks: {}", ctx.is_cancelled()))
    });
    let registry = orchestrations()
        .register("Call", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("Work", "").await
        });
    let node = Node::on(&memory().await, RuntimeOptions::default(), registry, handlers).await;
    assert_eq!(node.run("own", "Call", "").await, "stopped its own tasks: true");
    node.stop().await;
}
