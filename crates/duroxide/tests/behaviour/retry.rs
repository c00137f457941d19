//! Retried activities (5.1 to 5.5).

use std::time::Duration;

use duroxide::{ActivityContext, BackoffStrategy, EventKind, OrchestrationContext, RetryPolicy};

use crate::support::{
    Diary, Mode, NOW_MS, Node, USUAL, activities, cancellations, count, in_every_mode, kinds,
    memory_with_clock, orchestrations,
};

/// Fails until it was called as often as its input says.
fn flaky(diary: &Diary) -> duroxide::runtime::registry::ActivityRegistryBuilder {
    let diary = diary.clone();
    let calls = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    activities().register("Flaky", move |ctx: ActivityContext, good: String| {
        let call = calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
        diary.write(format!("{:?}", ctx.session_id()));
        async move {
            match call >= good.parse::<u32>().unwrap() {
                true => Ok(format!("call {call}")),
                false => Err(format!("failure {call}")),
            }
        }
    })
}

fn policy(attempts: u32, backoff: BackoffStrategy) -> RetryPolicy {
    RetryPolicy::new(attempts).with_backoff(backoff)
}

async fn at_once(ctx: OrchestrationContext, good: String) -> Result<String, String> {
    ctx.schedule_activity_with_retry("Flaky", good, policy(3, BackoffStrategy::None)).await
}

async fn linear(ctx: OrchestrationContext, good: String) -> Result<String, String> {
    let backoff =
        BackoffStrategy::Linear { base: Duration::from_secs(2), max: Duration::from_secs(5) };
    ctx.schedule_activity_with_retry("Flaky", good, policy(5, backoff)).await
}

async fn limited(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let policy = RetryPolicy::new(3).with_timeout(Duration::from_secs(10));
    ctx.schedule_activity_with_retry("Slow", "", policy).await
}

async fn failures_are_retried_and_the_last_one_is_told(mode: Mode) {
    let registry = || orchestrations().register("Retry", at_once);
    let node = Node::start(mode, registry(), flaky(&Diary::default())).await;
    assert_eq!(node.run("good", "Retry", "3").await, "call 3");
    let history = node.history("good").await;
    assert_eq!(count(&history, "ActivityScheduled"), 3);
    assert_eq!(count(&history, "TimerCreated"), 0, "no delay, no timer");
    node.stop().await;
    let node = Node::start(mode, registry(), flaky(&Diary::default())).await;
    node.begin("bad", "Retry", "9").await;
    assert_eq!(node.failure_text("bad").await, "failure 3");
    node.stop().await;
}

async fn delays_are_durable_timers(mode: Mode) {
    let (store, clock) = memory_with_clock().await;
    let registry = orchestrations().register("Retry", linear);
    let node = Node::on(&store, mode.options(), registry, flaky(&Diary::default())).await;
    node.begin("retry", "Retry", "4").await;
    for (timers, delay) in [(1, 2), (2, 4), (3, 5)] {
        node.until("retry", |history| count(history, "TimerCreated") == timers).await;
        clock.advance(Duration::from_secs(delay));
    }
    assert_eq!(node.output("retry").await, "call 4");
    let due: Vec<u64> = node
        .history("retry")
        .await
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::TimerCreated { fire_at_ms } => Some((fire_at_ms - NOW_MS) / 1000),
            _ => None,
        })
        .collect();
    assert_eq!(due, [2, 6, 11]);
    node.stop().await;
}

async fn an_attempt_that_takes_too_long_ends_the_call(mode: Mode) {
    let diary = Diary::default();
    let (store, clock) = memory_with_clock().await;
    let written = diary.clone();
    let slow = activities().register("Slow", move |ctx: ActivityContext, _: String| {
        let written = written.clone();
        async move {
            written.write("began");
            ctx.cancelled().await;
            written.write("cancelled");
            Err("cancelled".to_owned())
        }
    });
    let registry = orchestrations().register("Limit", limited);
    let node = Node::on(&store, mode.options(), registry, slow).await;
    node.begin("limit", "Limit", "").await;
    assert_eq!(diary.next().await, "began");
    clock.advance(Duration::from_secs(10));
    assert_eq!(node.failure_text("limit").await, "timeout: activity timed out");
    assert_eq!(diary.next().await, "cancelled");
    let history = node.history("limit").await;
    assert_eq!(kinds(&history)[1..3], ["ActivityScheduled", "TimerCreated"]);
    assert_eq!(count(&history, "ActivityScheduled"), 1, "no further attempt");
    assert_eq!(cancellations(&history), [(2, "dropped_future")]);
    node.stop().await;
}

in_every_mode! {
    failures_are_retried_and_the_last_one_is_told,
    delays_are_durable_timers,
    an_attempt_that_takes_too_long_ends_the_call,
}

#[tokio::test]
async fn all_attempts_of_a_session_run_in_it() {
    async fn on_session(ctx: OrchestrationContext, good: u32) -> Result<String, String> {
        let none = policy(3, BackoffStrategy::None);
        ctx.schedule_activity_with_retry_on_session_typed("Flaky", &good, none, "s").await
    }
    let diary = Diary::default();
    let registry = orchestrations().register_typed("Retry", on_session);
    let node = Node::start(USUAL, registry, flaky(&diary)).await;
    assert_eq!(node.run("retry", "Retry", "3").await, "call 3");
    assert_eq!(diary.unread(), ["Some(\"s\")"; 3]);
    node.stop().await;
}

/// A failure that is not the application's ends the orchestration; it is not retried.
#[tokio::test]
async fn only_application_errors_are_retried() {
    let options = duroxide::RuntimeOptions {
        max_attempts: 1,
        unregistered_backoff: crate::support::short_backoff(),
        ..USUAL.options()
    };
    let store = crate::support::memory().await;
    let registry = orchestrations().register("Retry", at_once);
    let node = Node::on(&store, options, registry, activities()).await;
    node.begin("retry", "Retry", "1").await;
    let text = node.failure_text("retry").await;
    assert_eq!(text, "poison: activity Flaky#2 exceeded 2 attempts (max 1)");
    assert_eq!(count(&node.history("retry").await, "ActivityScheduled"), 1);
    node.stop().await;
}
