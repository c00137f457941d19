//! Schedule-to-start limits: an activity that no worker starts in time fails instead of waiting for
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

use crate::crashing_node::CrashingNode;
use crate::support::{
    DEFAULT_MODE, Journal, Mode, Node, activities, count, in_every_mode, memory_with_clock,
    orchestrations,
};

const LIMIT: Duration = Duration::from_secs(30);

const NO_GPU: &str = "caught: activity `Resize` was not started within 30s of being scheduled: \
                      no worker that serves tag `gpu` took it";

/// Returns the result or the error of an activity with a limit.
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

async fn an_activity_with_an_unserved_tag_fails_with_an_error_the_code_can_catch(mode: Mode) {
    let (store, clock) = memory_with_clock().await;
    let node = plain(&store, mode).await;
    node.start_instance("order", "Resize", "cat").await;
    node.wait_for_event("order", "ActivityScheduled").await;
    clock.advance(LIMIT);
    assert_eq!(node.output("order").await, NO_GPU);
    assert_eq!(node.client.get_queue_depths().await.unwrap().worker_queue, 0);
    node.stop().await;
}

async fn a_worker_that_starts_the_activity_in_time_settles_its_limit(mode: Mode) {
    let (store, clock) = memory_with_clock().await;
    let (journal, permits) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let node = plain(&store, mode).await;
    node.start_instance("order", "Resize", "cat").await;
    node.wait_for_event("order", "ActivityScheduled").await;
    clock.advance(LIMIT - Duration::from_millis(1));
    let held = activities().register("Resize", {
        let (journal, permits) = (journal.clone(), permits.clone());
        move |_: ActivityContext, _: String| {
            let (journal, permits) = (journal.clone(), permits.clone());
            async move {
                journal.write("started");
                permits.acquire().await.unwrap().forget();
                Ok("resized".to_owned())
            }
        }
    });
    let worker = Node::on(&store, gpu(mode), limited(), held).await;
    assert_eq!(journal.next().await, "started");
    clock.advance(LIMIT * 10);
    // Another activity whose limit expires now proves that the sweepers have run.
    node.start_instance("other", "Resize", "dog").await;
    node.wait_for_event("other", "ActivityScheduled").await;
    permits.add_permits(2);
    assert_eq!(node.output("order").await, "resized");
    assert_eq!(node.output("other").await, "resized");
    worker.stop().await;
    node.stop().await;
}

async fn a_limit_is_not_part_of_history(mode: Mode) {
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
    node.start_instance("order", "Changing", "cat").await;
    node.wait_for_event("order", "ExternalSubscribed").await;
    node.client.raise_event("order", "Go", "").await.unwrap();
    assert_eq!(node.output("order").await, "resized cat at attempt 1");
    node.stop().await;
}

in_every_mode! {
    an_activity_with_an_unserved_tag_fails_with_an_error_the_code_can_catch,
    a_worker_that_starts_the_activity_in_time_settles_its_limit,
    a_limit_is_not_part_of_history,
}

/// All nodes are down when the limit expires. The worker that starts later could run the activity,
/// and must not.
#[tokio::test]
async fn a_limit_expires_while_all_nodes_are_down() {
    let (store, clock) = memory_with_clock().await;
    let node = plain(&store, DEFAULT_MODE).await;
    node.start_instance("order", "Resize", "cat").await;
    node.wait_for_event("order", "ActivityScheduled").await;
    node.stop().await;
    clock.advance(LIMIT);
    let node =
        Node::on(&store, options(DEFAULT_MODE, TagFilter::any()), limited(), resizing()).await;
    assert_eq!(node.output("order").await, NO_GPU);
    node.stop().await;
}

/// A node without workers sweeps limits, too, because all workers may be down.
#[tokio::test]
async fn a_node_without_workers_sweeps_limits() {
    let (store, clock) = memory_with_clock().await;
    let untagged = RuntimeOptions { worker_concurrency: 0, ..DEFAULT_MODE.options() };
    let node = Node::on(&store, untagged, limited(), activities()).await;
    node.start_instance("order", "Resize", "cat").await;
    node.wait_for_event("order", "ActivityScheduled").await;
    clock.advance(LIMIT);
    assert_eq!(node.output("order").await, NO_GPU);
    node.stop().await;
}

/// The session's slot is busy with another activity of the session.
#[tokio::test]
async fn an_activity_that_waits_for_a_busy_session_fails_at_its_limit() {
    async fn two(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        let held = ctx.schedule_activity_on_session("Held", "", "s");
        let options = ActivityOptions::new().with_session("s").with_schedule_to_start_limit(LIMIT);
        let late: Result<String, String> =
            ctx.schedule_activity_with_options_typed("Held", &"", options).await;
        drop(held);
        Ok(late.unwrap_err())
    }
    let (store, clock) = memory_with_clock().await;
    let journal = Journal::default();
    let registry = activities().register("Held", {
        let journal = journal.clone();
        move |ctx: ActivityContext, _: String| {
            journal.write("started");
            async move {
                ctx.cancelled().await;
                Ok(String::new())
            }
        }
    });
    let node = Node::on(
        &store,
        options(DEFAULT_MODE, TagFilter::default_only()),
        orchestrations().register("Two", two),
        registry,
    )
    .await;
    node.start_instance("order", "Two", "").await;
    assert_eq!(journal.next().await, "started");
    clock.advance(LIMIT);
    let text = node.output("order").await;
    assert!(text.ends_with("no worker that may run session `s` took it"), "{text}");
    assert_eq!(journal.unread(), Vec::<String>::new(), "it never started");
    node.stop().await;
}

/// Abandoning an activity without a handler is not a start, so the limit still applies.
#[tokio::test]
async fn a_node_without_the_handler_does_not_satisfy_the_limit() {
    let (store, clock) = memory_with_clock().await;
    let any = options(DEFAULT_MODE, TagFilter::any());
    let node = Node::on(&store, any, limited(), activities()).await;
    node.start_instance("order", "Resize", "cat").await;
    node.wait_for_event("order", "ActivityScheduled").await;
    clock.advance(LIMIT);
    assert_eq!(node.output("order").await, NO_GPU);
    node.stop().await;
}

/// The worker starts the activity and crashes. It is redelivered long after its limit, and runs.
#[tokio::test]
async fn a_limit_does_not_apply_to_a_redelivery_after_a_crash() {
    let (store, clock) = memory_with_clock().await;
    let journal = Journal::default();
    let hangs = activities().register("Resize", {
        let journal = journal.clone();
        move |_: ActivityContext, _: String| {
            journal.write("started");
            std::future::pending()
        }
    });
    let crashing = CrashingNode::on(&store, gpu(DEFAULT_MODE), limited(), hangs).await;
    let client = Client::new(Arc::clone(&store));
    client.start_orchestration("order", "Resize", "cat").await.unwrap();
    assert_eq!(journal.next().await, "started");
    crashing.crash().await;
    clock.advance(Duration::from_secs(7200));
    let node = Node::on(&store, gpu(DEFAULT_MODE), limited(), resizing()).await;
    assert_eq!(node.output("order").await, "resized cat at attempt 2");
    node.stop().await;
}

/// Each attempt of a retried activity has the whole limit.
#[tokio::test]
async fn each_retry_has_the_whole_limit() {
    async fn stubborn(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        let policy = RetryPolicy::new(3).with_backoff(BackoffStrategy::None);
        let options = ActivityOptions::new().with_tag("gpu").with_schedule_to_start_limit(LIMIT);
        let result =
            ctx.schedule_activity_with_retry_and_options("Resize", "cat", policy, options).await;
        Ok(result.unwrap_or_else(|error| format!("caught: {error}")))
    }
    let (store, clock) = memory_with_clock().await;
    let registry = orchestrations().register("Stubborn", stubborn);
    let untagged = options(DEFAULT_MODE, TagFilter::default_only());
    let node = Node::on(&store, untagged, registry, activities()).await;
    node.start_instance("order", "Stubborn", "").await;
    for attempt in 1..=3 {
        let scheduled = |history: &[_]| count(history, "ActivityScheduled") == attempt;
        node.wait_for_history("order", scheduled).await;
        clock.advance(LIMIT);
    }
    assert_eq!(node.output("order").await, NO_GPU);
    assert_eq!(count(&node.history("order").await, "ActivityFailed"), 3);
    node.stop().await;
}

/// Cancelling an activity removes its limit.
#[tokio::test]
async fn a_cancelled_activity_does_not_fail_at_its_limit() {
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
    let untagged = options(DEFAULT_MODE, TagFilter::default_only());
    let node = Node::on(&store, untagged, registry, resizing()).await;
    node.start_instance("order", "Moves", "").await;
    node.wait_for_event("order", "ExternalSubscribed").await;
    clock.advance(LIMIT * 2);
    node.client.raise_event("order", "Go", "").await.unwrap();
    assert_eq!(node.output("order").await, "resized dog at attempt 1");
    assert_eq!(count(&node.history("order").await, "ActivityFailed"), 0);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_activities_fail_at_the_same_limit() {
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
    let untagged = options(DEFAULT_MODE, TagFilter::default_only());
    let node = Node::on(&store, untagged, registry, resizing()).await;
    node.start_instance("order", "Fan", "").await;
    node.wait_for_event("order", "ActivityScheduled").await;
    clock.advance(LIMIT);
    assert_eq!(node.output("order").await, "300");
    node.stop().await;
}
