//! Everything that cancels an activity, and how soon it knows (19.1 to 19.3, decision 10).

use std::sync::Arc;
use std::time::{Duration, Instant};

use duroxide::providers::Provider;
use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::{ActivityRegistryBuilder, OrchestrationRegistryBuilder};
use duroxide::{ActivityContext, OrchestrationContext};
use tokio::sync::mpsc;

use crate::faulty::Faulty;
use crate::support::{
    Diary, Mode, Node, activities, cancellations, has, in_every_mode, memory, orchestrations,
    within,
};

/// From the answer of the store to the signal.
const TOLD_WITHIN: Duration = Duration::from_millis(100);
/// The machine may be busy with something else; the runtime must manage it in one of these.
const TRIES: usize = 5;

/// What cancels an activity, and the reason that history gives.
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
            // A future that is dropped with the code counts as dropped.
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

/// An activity that says when it begins and when it was told; its result is of no use.
fn told_work(begun: &Diary, told: &mpsc::UnboundedSender<Instant>) -> ActivityRegistryBuilder {
    let (begun, told) = (begun.clone(), told.clone());
    activities().register("Work", move |ctx: ActivityContext, _: String| {
        let (begun, told) = (begun.clone(), told.clone());
        async move {
            begun.write(ctx.instance_id());
            ctx.cancelled().await;
            told.send(Instant::now()).unwrap();
            Ok("unwanted".to_owned())
        }
    })
}

/// Makes the orchestration give the activity up.
async fn trigger(node: &Node, instance: &str, cause: &str) {
    match cause {
        "Cancel" => node.client.cancel_instance(instance, "enough").await.unwrap(),
        _signal => node.client.raise_event(instance, "Enough", "").await.unwrap(),
    }
}

async fn a_running_activity_is_told_at_once_whatever_cancels_it(mode: Mode) {
    let begun = Diary::default();
    let (told, mut tells) = mpsc::unbounded_channel();
    let faulty = Faulty::new(memory().await);
    let store: Arc<dyn Provider> = faulty.clone();
    let node = Node::on(&store, mode.options(), causes(), told_work(&begun, &told)).await;
    for (cause, reason) in CAUSES {
        let mut took = Vec::new();
        while took.iter().all(|took| *took >= TOLD_WITHIN) {
            assert!(took.len() < TRIES, "{cause}: {took:?}");
            let instance = format!("{cause}-{}", took.len());
            node.begin(&instance, cause, "").await;
            // With a single slot this also says that the slot of the one before is free.
            assert_eq!(begun.next().await, instance);
            node.until_kind(&instance, "ExternalSubscribed").await;
            trigger(&node, &instance, cause).await;
            let told = within(tells.recv()).await.unwrap();
            let committed = faulty.cancelled_at().unwrap();
            took.push(told.saturating_duration_since(committed));
            let history = node.client.read_execution_history(&instance, 1).await.unwrap();
            assert_eq!(cancellations(&history).last(), Some(&(2, reason)), "{cause}");
            assert!(!has(&history, "ActivityCompleted") && !has(&history, "ActivityFailed"));
        }
        println!("{cause}: told {took:?} after the commit");
    }
    let counted = node.stop_and_count().await;
    assert_eq!((counted.activity_success, counted.activity_infra_errors), (0, 0));
    assert!(begun.unread().is_empty(), "none ran twice");
}

async fn a_queued_activity_never_begins_whatever_cancels_it(mode: Mode) {
    let begun = Diary::default();
    let (told, _tells) = mpsc::unbounded_channel();
    let store = memory().await;
    let options = RuntimeOptions { worker_concurrency: 0, ..mode.options() };
    let decides = Node::on(&store, options, causes(), activities()).await;
    for (cause, reason) in CAUSES {
        decides.begin(cause, cause, "").await;
        decides.until_kind(cause, "ExternalSubscribed").await;
        trigger(&decides, cause, cause).await;
        within(async {
            loop {
                let history = decides.client.read_execution_history(cause, 1).await.unwrap();
                if cancellations(&history).last() == Some(&(2, reason)) {
                    return;
                }
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
    assert_eq!(decides.client.get_queue_depths().await.unwrap().worker_queue, 0);
    let options = RuntimeOptions { orchestration_concurrency: 0, ..mode.options() };
    let acts = Node::on(&store, options, causes(), told_work(&begun, &told)).await;
    decides.begin("canary", "Drop", "").await;
    assert_eq!(begun.next().await, "canary", "only what is still wanted begins");
    trigger(&decides, "canary", "Drop").await;
    decides.until_kind("canary", "ActivityCancelRequested").await;
    acts.stop().await;
    decides.stop().await;
    assert!(begun.unread().is_empty());
}

in_every_mode! {
    a_running_activity_is_told_at_once_whatever_cancels_it,
    a_queued_activity_never_begins_whatever_cancels_it,
}

/// Two nodes on one store: the one that acts is told by the store, long before it renews.
#[tokio::test]
async fn an_activity_of_another_node_is_told_at_once_as_well() {
    let begun = Diary::default();
    let (told, mut tells) = mpsc::unbounded_channel();
    let store = memory().await;
    let options = RuntimeOptions { worker_concurrency: 0, ..RuntimeOptions::default() };
    let decides = Node::on(&store, options, causes(), activities()).await;
    let options = RuntimeOptions { orchestration_concurrency: 0, ..RuntimeOptions::default() };
    let acts = Node::on(&store, options, orchestrations(), told_work(&begun, &told)).await;
    for (cause, _reason) in CAUSES {
        decides.begin(cause, cause, "").await;
        assert_eq!(begun.next().await, cause);
        decides.until_kind(cause, "ExternalSubscribed").await;
        let asked = Instant::now();
        trigger(&decides, cause, cause).await;
        within(tells.recv()).await.unwrap();
        assert!(asked.elapsed() < Duration::from_secs(5), "{cause}: {:?}", asked.elapsed());
    }
    decides.stop().await;
    acts.stop().await;
}

/// A deleted instance takes its running activities along.
#[tokio::test]
async fn an_activity_of_a_deleted_instance_is_told() {
    let begun = Diary::default();
    let (told, mut tells) = mpsc::unbounded_channel();
    let options = RuntimeOptions::default();
    let node = Node::on(&memory().await, options, causes(), told_work(&begun, &told)).await;
    node.begin("gone", "Drop", "").await;
    assert_eq!(begun.next().await, "gone");
    node.until_kind("gone", "ExternalSubscribed").await;
    let asked = Instant::now();
    node.client.delete_instance("gone", true).await.unwrap();
    within(tells.recv()).await.unwrap();
    assert!(asked.elapsed() < Duration::from_secs(5), "took {:?}", asked.elapsed());
    node.stop().await;
}

/// Code may use its token to stop tasks of its own; nobody else has cancelled it by that.
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
