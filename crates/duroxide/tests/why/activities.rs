//! Waiting for activities.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use duroxide::client::why::{ActivityState, Cause};
use duroxide::providers::{AnnouncedTurns, WorkerAnnouncement};
use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::ActivityRegistryBuilder;
use duroxide::{
    ActivityContext, BackoffStrategy, OrchestrationContext, OrchestrationRegistryBuilder,
    RetryPolicy, current_build_version,
};

use crate::world::{World, activities, only_turns, orchestrations};

on_every_store!(
    an_activity_is_queued,
    an_activity_runs,
    an_activity_runs_in_a_session,
    an_activity_is_retried,
    a_schedule_to_start_limit_is_reached,
    a_long_list_is_shown_in_part,
);

/// Code that charges once.
fn order() -> OrchestrationRegistryBuilder {
    orchestrations().register("Order", |ctx: OrchestrationContext, _: String| async move {
        ctx.schedule_activity("Charge", "7 EUR").await
    })
}

/// An activity that reports and never ends.
fn endless() -> ActivityRegistryBuilder {
    activities().register("Charge", |ctx: ActivityContext, _: String| async move {
        ctx.report_progress("asked the bank").await.map_err(|error| error.to_string())?;
        ctx.cancelled().await;
        Ok(String::new())
    })
}

/// An activity that fails twice and then never ends.
fn fails_twice() -> ActivityRegistryBuilder {
    let calls = Arc::new(AtomicU32::new(0));
    activities().register("Charge", move |ctx: ActivityContext, _: String| {
        let call = calls.fetch_add(1, Ordering::SeqCst) + 1;
        async move {
            if call > 2 {
                ctx.cancelled().await;
            }
            Err(format!("the bank does not respond (call {call})"))
        }
    })
}

/// A worker that is live and claims nothing.
async fn busy_worker(world: &World, name: &str) {
    let worker = WorkerAnnouncement::new(name, Duration::from_secs(3600))
        .with_turns(AnnouncedTurns::none(current_build_version()))
        .with_activities(vec!["Charge".to_owned()]);
    world.store.announce_worker(&worker).await.unwrap();
}

async fn an_activity_is_queued(world: World) {
    busy_worker(&world, "busy").await;
    let node = world.node(only_turns(), order(), activities()).await;
    world.start("order-7", "Order").await;
    let why = world
        .expect(
            "order-7",
            r"
order-7 waits for activity `Charge`, which no worker has claimed for 0ms
  try: wait for a free slot of a worker, or start another worker that serves it
  try: duroxide nodes  (lists the live nodes and what they run)

orchestration `Order 1.0.0`, execution 1, 2 events
last changed 2023-11-14 22:13:20Z (now)
activities (1):
  #2 `Charge` queued since 2023-11-14 22:13:20Z (now)
",
        )
        .await;
    assert_eq!(why.cause, Cause::Activity { activity_id: 2 });
    // Announcements last for longer.
    world.clock.advance(Duration::from_secs(60));
    world
        .expect(
            "order-7",
            r"
order-7 waits for activity `Charge`, which no worker has claimed for 1m 0s
  try: wait for a free slot of a worker, or start another worker that serves it
  try: duroxide nodes  (lists the live nodes and what they run)

orchestration `Order 1.0.0`, execution 1, 2 events
last changed 2023-11-14 22:13:20Z (1m 0s ago)
activities (1):
  #2 `Charge` queued since 2023-11-14 22:13:20Z (1m 0s ago)
",
        )
        .await;
    node.shutdown(None).await;
}

async fn an_activity_runs(world: World) {
    let node = world.node(RuntimeOptions::default(), order(), endless()).await;
    world.start("order-7", "Order").await;
    let why = world
        .expect(
            "order-7",
            r"
order-7 waits for activity `Charge`, which a worker runs
  try: wait for the worker; the lease expires if it died

orchestration `Order 1.0.0`, execution 1, 2 events
last changed 2023-11-14 22:13:20Z (now)
activities (1):
  #2 `Charge` leased until 2023-11-14 22:13:50Z (in 30s), attempt 1, reported now: asked the bank
",
        )
        .await;
    let state = &why.activities.items[0].state;
    assert_eq!(*state, ActivityState::Leased { until_ms: 1_700_000_030_000, node: None });
    node.shutdown(None).await;
}

async fn an_activity_runs_in_a_session(world: World) {
    let code =
        orchestrations().register("Order", |ctx: OrchestrationContext, _: String| async move {
            let first = ctx.schedule_activity_on_session("Charge", "7 EUR", "till-1");
            let second = ctx.schedule_activity_on_session("Charge", "8 EUR", "till-1");
            let (first, second) = ctx.join2(first, second).await;
            first.and(second)
        });
    let options = RuntimeOptions {
        worker_node_id: Some("worker-1".to_owned()),
        worker_concurrency: 1,
        ..RuntimeOptions::default()
    };
    let node = world.node(options, code, endless()).await;
    world.start("order-7", "Order").await;
    world
        .expect(
            "order-7",
            r"
order-7 waits for activity `Charge`, which only the owner of its session may claim: `worker-1`
  try: wait for worker `worker-1`, which owns the session, or stop it

orchestration `Order 1.0.0`, execution 1, 3 events
last changed 2023-11-14 22:13:20Z (now)
activities (2):
  #3 `Charge` queued for worker `worker-1`, which owns its session until 2023-11-14 22:13:50Z (in
    30s), session `till-1`
  #2 `Charge` leased by `worker-1` until 2023-11-14 22:13:50Z (in 30s), attempt 1, session `till-1`,
    reported now: asked the bank
",
        )
        .await;
    node.shutdown(None).await;
}

async fn an_activity_is_retried(world: World) {
    let code =
        orchestrations().register("Order", |ctx: OrchestrationContext, _: String| async move {
            let backoff = BackoffStrategy::Fixed { delay: Duration::from_secs(10) };
            let policy = RetryPolicy::new(5).with_backoff(backoff);
            ctx.schedule_activity_with_retry("Charge", "7 EUR", policy).await
        });
    let node = world.node(RuntimeOptions::default(), code, fails_twice()).await;
    world.start("order-7", "Order").await;
    let why = world
        .expect(
            "order-7",
            r"
order-7 waits for the retry of activity `Charge` in 10s: it failed once
  try: wait for the retry, or mend what the activity needs
  try: duroxide history order-7  (shows what it has done)

orchestration `Order 1.0.0`, execution 1, 4 events
last changed 2023-11-14 22:13:20Z (now)
timers (1):
  #4 due 2023-11-14 22:13:30Z (in 10s), retry of `Charge`, which failed once before: the bank does
    not respond (call 1)
next turn:
  message TimerFired: 1 delayed, next 2023-11-14 22:13:30Z (in 10s)
",
        )
        .await;
    assert_eq!(why.cause, Cause::ActivityRetry { timer_id: 4 });
    world.clock.advance(Duration::from_secs(10));
    world
        .expect(
            "order-7",
            r"
order-7 waits for the retry of activity `Charge` in 10s: it failed 2 times
  try: wait for the retry, or mend what the activity needs
  try: duroxide history order-7  (shows what it has done)

orchestration `Order 1.0.0`, execution 1, 8 events
last changed 2023-11-14 22:13:30Z (now)
timers (1):
  #8 due 2023-11-14 22:13:40Z (in 10s), retry of `Charge`, which failed 2 times before: the bank
    does not respond (call 2)
next turn:
  message TimerFired: 1 delayed, next 2023-11-14 22:13:40Z (in 10s)
",
        )
        .await;
    world.clock.advance(Duration::from_secs(10));
    world
        .expect(
            "order-7",
            r"
order-7 waits for activity `Charge`, which a worker runs
  try: wait for the worker; the lease expires if it died

orchestration `Order 1.0.0`, execution 1, 10 events
last changed 2023-11-14 22:13:40Z (now)
activities (1):
  #10 `Charge` leased until 2023-11-14 22:14:10Z (in 30s), attempt 1, failed 2 times before: the
    bank does not respond (call 2)
",
        )
        .await;
    node.shutdown(None).await;
}

async fn a_schedule_to_start_limit_is_reached(world: World) {
    use duroxide::ActivityOptions;
    let code =
        orchestrations().register("Order", |ctx: OrchestrationContext, _: String| async move {
            let options =
                ActivityOptions::new().with_schedule_to_start_limit(Duration::from_secs(60));
            ctx.schedule_activity_with_options("Charge", "7 EUR", options).await
        });
    let node = world.node(only_turns(), code, activities()).await;
    world.start("order-7", "Order").await;
    world.until("order-7", |why| why.activities.total > 0).await;
    node.shutdown(None).await;
    busy_worker(&world, "busy").await;
    world
        .expect(
            "order-7",
            r"
order-7 waits for activity `Charge`, which no worker has claimed for 0ms
  try: wait for a free slot of a worker, or start another worker that serves it
  try: duroxide nodes  (lists the live nodes and what they run)

orchestration `Order 1.0.0`, execution 1, 2 events
last changed 2023-11-14 22:13:20Z (now)
activities (1):
  #2 `Charge` queued since 2023-11-14 22:13:20Z (now), fails unless it starts by 2023-11-14
    22:14:20Z (in 1m 0s)
next turn:
  no live node runs such work
",
        )
        .await;
    world.clock.advance(Duration::from_secs(61));
    world
        .expect(
            "order-7",
            r"
order-7 waits for activity `Charge`, which no worker has claimed for 1m 1s
  try: wait for a free slot of a worker, or start another worker that serves it
  try: duroxide nodes  (lists the live nodes and what they run)

orchestration `Order 1.0.0`, execution 1, 2 events
last changed 2023-11-14 22:13:20Z (1m 1s ago)
limits reached:
  no worker started activity #2 by 2023-11-14 22:14:20Z (1s ago); a node fails it
activities (1):
  #2 `Charge` queued since 2023-11-14 22:13:20Z (1m 1s ago), had to start by 2023-11-14 22:14:20Z
    (1s ago)
next turn:
  no live node runs such work
",
        )
        .await;
}

async fn a_long_list_is_shown_in_part(world: World) {
    let code =
        orchestrations().register("Many", |ctx: OrchestrationContext, _: String| async move {
            let calls = (0..30).map(|n| ctx.schedule_activity("Charge", n.to_string())).collect();
            ctx.join(calls).await.into_iter().collect::<Result<Vec<_>, _>>().map(|all| all.concat())
        });
    busy_worker(&world, "busy").await;
    let node = world.node(only_turns(), code, activities()).await;
    world.start("many", "Many").await;
    let why = world.until("many", |why| why.activities.total == 30).await;
    assert_eq!((why.activities.total, why.activities.items.len()), (30, 20));
    let text = why.to_string();
    assert!(text.contains("activities (30, the first 20):"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    node.shutdown(None).await;
}
