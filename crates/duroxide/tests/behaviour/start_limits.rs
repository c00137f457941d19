//! Activities that must be started in time: work that nobody serves fails instead of waiting for
//! ever.

use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::{Provider, TagFilter};
use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::{ActivityRegistryBuilder, OrchestrationRegistryBuilder};
use duroxide::{
    ActivityContext, ActivityOptions, BackoffStrategy, Client, OrchestrationContext, RetryPolicy,
};
use tokio::sync::Semaphore;

use crate::doomed::Doomed;
use crate::support::{
    Diary, Mode, Node, USUAL, activities, count, in_every_mode, memory_with_clock, orchestrations,
};

const LIMIT: Duration = Duration::from_secs(30);

const NO_GPU: &str = "caught: activity `Resize` was not started within 30s of being scheduled: \
                      no worker that serves tag `gpu` took it";

/// Catches what becomes of a limited activity.
async fn resize(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let resized = ctx
        .schedule_activity("Resize", input)
        .with_tag("gpu")
        .with_schedule_to_start_limit(LIMIT)
        .await;
    Ok(resized.unwrap_or_else(|error| format!("caught: {error}")))
}

fn limited() -> OrchestrationRegistryBuilder {
    orchestrations().register("Resize", resize)
}

fn resizing() -> ActivityRegistryBuilder {
    activities().register("Resize", |ctx: ActivityContext, input: String| async move {
        Ok(format!("resized {input} at attempt {}", ctx.attempt()))
    })
}

/// Leases that outlast every limit of these tests.
fn options(mode: Mode, worker_tag_filter: TagFilter) -> RuntimeOptions {
    let worker_lock_timeout = Duration::from_secs(3600);
    let session_idle_timeout = Duration::from_secs(7200);
    RuntimeOptions {
        worker_tag_filter,
        worker_lock_timeout,
        session_idle_timeout,
        ..mode.options()
    }
}

fn gpu(mode: Mode) -> RuntimeOptions {
    options(mode, TagFilter::tags(["gpu"]))
}

async fn plain(store: &Arc<dyn Provider>, mode: Mode) -> Node {
    Node::on(store, options(mode, TagFilter::default_only()), limited(), resizing()).await
}

async fn work_for_a_tag_that_nobody_serves_fails_with_an_error_that_can_be_caught(mode: Mode) {
    let (store, clock) = memory_with_clock().await;
    let node = plain(&store, mode).await;
    node.begin("order", "Resize", "cat").await;
    node.until_kind("order", "ActivityScheduled").await;
    clock.advance(LIMIT);
    assert_eq!(node.output("order").await, NO_GPU);
    assert_eq!(node.client.get_queue_depths().await.unwrap().worker_queue, 0);
    node.stop().await;
}

async fn a_worker_that_comes_in_time_satisfies_the_limit_for_good(mode: Mode) {
    let (store, clock) = memory_with_clock().await;
    let (diary, permits) = (Diary::default(), Arc::new(Semaphore::new(0)));
    let node = plain(&store, mode).await;
    node.begin("order", "Resize", "cat").await;
    node.until_kind("order", "ActivityScheduled").await;
    clock.advance(LIMIT - Duration::from_millis(1));
    let held = activities().register("Resize", {
        let (diary, permits) = (diary.clone(), permits.clone());
        move |_: ActivityContext, _: String| {
            let (diary, permits) = (diary.clone(), permits.clone());
            async move {
                diary.write("began");
                permits.acquire().await.unwrap().forget();
                Ok("resized".to_owned())
            }
        }
    });
    let worker = Node::on(&store, gpu(mode), limited(), held).await;
    assert_eq!(diary.next().await, "began");
    clock.advance(LIMIT * 10);
    // Another activity whose limit ends now shows that the sweepers have looked.
    node.begin("other", "Resize", "dog").await;
    node.until_kind("other", "ActivityScheduled").await;
    permits.add_permits(2);
    assert_eq!(node.output("order").await, "resized");
    assert_eq!(node.output("other").await, "resized");
    worker.stop().await;
    node.stop().await;
}

async fn a_limit_is_no_part_of_history(mode: Mode) {
    async fn changing(ctx: OrchestrationContext, input: String) -> Result<String, String> {
        // The limit differs between the first run and a replay, as after a new deployment.
        let limit = if ctx.is_replaying() { LIMIT * 2 } else { LIMIT };
        let first = ctx.schedule_activity("Resize", input).with_schedule_to_start_limit(limit);
        let first = first.await?;
        ctx.schedule_wait("Go").await;
        Ok(first)
    }
    let (store, _clock) = memory_with_clock().await;
    let registry = orchestrations().register("Changing", changing);
    let node =
        Node::on(&store, options(mode, TagFilter::default_only()), registry, resizing()).await;
    node.begin("order", "Changing", "cat").await;
    node.until_kind("order", "ExternalSubscribed").await;
    node.client.raise_event("order", "Go", "").await.unwrap();
    assert_eq!(node.output("order").await, "resized cat at attempt 1");
    node.stop().await;
}

in_every_mode! {
    work_for_a_tag_that_nobody_serves_fails_with_an_error_that_can_be_caught,
    a_worker_that_comes_in_time_satisfies_the_limit_for_good,
    a_limit_is_no_part_of_history,
}

/// All nodes are down when the limit ends. The worker that comes back could run the activity, and
/// must not.
#[tokio::test]
async fn a_limit_that_ends_while_all_nodes_are_down_counts() {
    let (store, clock) = memory_with_clock().await;
    let node = plain(&store, USUAL).await;
    node.begin("order", "Resize", "cat").await;
    node.until_kind("order", "ActivityScheduled").await;
    node.stop().await;
    clock.advance(LIMIT);
    let node = Node::on(&store, options(USUAL, TagFilter::any()), limited(), resizing()).await;
    assert_eq!(node.output("order").await, NO_GPU);
    node.stop().await;
}

/// A node without workers looks after limits, too: somebody must, when all workers are gone.
#[tokio::test]
async fn a_node_that_only_takes_turns_looks_after_limits() {
    let (store, clock) = memory_with_clock().await;
    let alone = RuntimeOptions { worker_concurrency: 0, ..USUAL.options() };
    let node = Node::on(&store, alone, limited(), activities()).await;
    node.begin("order", "Resize", "cat").await;
    node.until_kind("order", "ActivityScheduled").await;
    clock.advance(LIMIT);
    assert_eq!(node.output("order").await, NO_GPU);
    node.stop().await;
}

/// The session's slot is busy with another activity of the session.
#[tokio::test]
async fn an_activity_that_its_session_keeps_waiting_fails_in_time() {
    async fn two(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        let held = ctx.schedule_activity_on_session("Held", "", "s");
        let options = ActivityOptions::new().with_session("s").with_schedule_to_start_limit(LIMIT);
        let late: Result<String, String> =
            ctx.schedule_activity_with_options_typed("Held", &"", options).await;
        drop(held);
        Ok(late.unwrap_err())
    }
    let (store, clock) = memory_with_clock().await;
    let diary = Diary::default();
    let registry = activities().register("Held", {
        let diary = diary.clone();
        move |ctx: ActivityContext, _: String| {
            diary.write("began");
            async move {
                ctx.cancelled().await;
                Ok(String::new())
            }
        }
    });
    let node = Node::on(
        &store,
        options(USUAL, TagFilter::default_only()),
        orchestrations().register("Two", two),
        registry,
    )
    .await;
    node.begin("order", "Two", "").await;
    assert_eq!(diary.next().await, "began");
    clock.advance(LIMIT);
    let text = node.output("order").await;
    assert!(text.ends_with("no worker that may run session `s` took it"), "{text}");
    assert_eq!(diary.unread(), Vec::<String>::new(), "it never began");
    node.stop().await;
}

/// Giving back what it has no handler for is no start, so the limit still ends the wait.
#[tokio::test]
async fn a_node_without_the_handler_does_not_satisfy_the_limit() {
    let (store, clock) = memory_with_clock().await;
    let any = options(USUAL, TagFilter::any());
    let node = Node::on(&store, any, limited(), activities()).await;
    node.begin("order", "Resize", "cat").await;
    node.until_kind("order", "ActivityScheduled").await;
    clock.advance(LIMIT);
    assert_eq!(node.output("order").await, NO_GPU);
    node.stop().await;
}

/// The worker that began died. The activity is redelivered long after its limit, and runs.
#[tokio::test]
async fn a_redelivery_after_a_crash_is_not_late() {
    let (store, clock) = memory_with_clock().await;
    let diary = Diary::default();
    let hangs = activities().register("Resize", {
        let diary = diary.clone();
        move |_: ActivityContext, _: String| {
            diary.write("began");
            std::future::pending()
        }
    });
    let doomed = Doomed::on(&store, gpu(USUAL), limited(), hangs).await;
    let client = Client::new(Arc::clone(&store));
    client.start_orchestration("order", "Resize", "cat").await.unwrap();
    assert_eq!(diary.next().await, "began");
    doomed.die().await;
    clock.advance(Duration::from_secs(7200));
    let node = Node::on(&store, gpu(USUAL), limited(), resizing()).await;
    assert_eq!(node.output("order").await, "resized cat at attempt 2");
    node.stop().await;
}

/// Each attempt of a retried activity has the whole limit.
#[tokio::test]
async fn the_limit_counts_anew_for_each_retry() {
    async fn stubborn(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        let policy = RetryPolicy::new(3).with_backoff(BackoffStrategy::None);
        let options = ActivityOptions::new().with_tag("gpu").with_schedule_to_start_limit(LIMIT);
        let result =
            ctx.schedule_activity_with_retry_and_options("Resize", "cat", policy, options).await;
        Ok(result.unwrap_or_else(|error| format!("caught: {error}")))
    }
    let (store, clock) = memory_with_clock().await;
    let registry = orchestrations().register("Stubborn", stubborn);
    let alone = options(USUAL, TagFilter::default_only());
    let node = Node::on(&store, alone, registry, activities()).await;
    node.begin("order", "Stubborn", "").await;
    for attempt in 1..=3 {
        let scheduled = |history: &[_]| count(history, "ActivityScheduled") == attempt;
        node.until("order", scheduled).await;
        clock.advance(LIMIT);
    }
    assert_eq!(node.output("order").await, NO_GPU);
    assert_eq!(count(&node.history("order").await, "ActivityFailed"), 3);
    node.stop().await;
}

/// A cancelled activity is gone, and with it its limit.
#[tokio::test]
async fn a_cancelled_activity_is_not_failed_later() {
    async fn moves_on(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        let waiting = ctx
            .schedule_activity("Resize", "cat")
            .with_tag("gpu")
            .with_schedule_to_start_limit(LIMIT);
        let other = ctx.schedule_activity("Resize", "dog");
        drop(waiting);
        let done = other.await?;
        ctx.schedule_wait("Go").await;
        Ok(done)
    }
    let (store, clock) = memory_with_clock().await;
    let registry = orchestrations().register("Moves", moves_on);
    let alone = options(USUAL, TagFilter::default_only());
    let node = Node::on(&store, alone, registry, resizing()).await;
    node.begin("order", "Moves", "").await;
    node.until_kind("order", "ExternalSubscribed").await;
    clock.advance(LIMIT * 2);
    node.client.raise_event("order", "Go", "").await.unwrap();
    assert_eq!(node.output("order").await, "resized dog at attempt 1");
    assert_eq!(count(&node.history("order").await, "ActivityFailed"), 0);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_limits_that_end_at_once_all_fail() {
    async fn fan_out(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        let calls = (0..300).map(|number: u32| {
            let call = ctx.schedule_activity("Resize", number.to_string());
            call.with_tag("gpu").with_schedule_to_start_limit(LIMIT)
        });
        let results = ctx.join(calls.collect()).await;
        Ok(results.iter().filter(|result| result.is_err()).count().to_string())
    }
    let (store, clock) = memory_with_clock().await;
    let registry = orchestrations().register("Fan", fan_out);
    let alone = options(USUAL, TagFilter::default_only());
    let node = Node::on(&store, alone, registry, resizing()).await;
    node.begin("order", "Fan", "").await;
    node.until_kind("order", "ActivityScheduled").await;
    clock.advance(LIMIT);
    assert_eq!(node.output("order").await, "300");
    node.stop().await;
}
