//! Retried activities.

use std::time::Duration;

use duroxide::{ActivityContext, BackoffStrategy, EventKind, OrchestrationContext, RetryPolicy};

use crate::support::{
    DEFAULT_MODE, Journal, Mode, NOW_MS, Node, activities, cancellations, count, in_every_mode,
    kinds, memory_with_clock, orchestrations,
};

/// Fails until the number of calls reaches its input.
fn flaky(journal: &Journal) -> duroxide::runtime::registry::ActivityRegistryBuilder {
    let journal = journal.clone();
    let calls = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    activities().register("Flaky", move |ctx: ActivityContext, good: String| {
        let call = calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
        journal.write(format!("{:?}", ctx.session_id()));
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

async fn failures_are_retried_and_the_last_error_is_returned(mode: Mode) {
    let registry = || orchestrations().register("Retry", at_once);
    let node = Node::start(mode, registry(), flaky(&Journal::default())).await;
    assert_eq!(node.run("good", "Retry", "3").await, "call 3");
    let history = node.history("good").await;
    assert_eq!(count(&history, "ActivityScheduled"), 3);
    assert_eq!(count(&history, "TimerCreated"), 0, "no delay, no timer");
    node.stop().await;
    let node = Node::start(mode, registry(), flaky(&Journal::default())).await;
    node.start_instance("bad", "Retry", "9").await;
    assert_eq!(node.failure_text("bad").await, "failure 3");
    node.stop().await;
}

async fn delays_are_durable_timers(mode: Mode) {
    let (store, clock) = memory_with_clock().await;
    let registry = orchestrations().register("Retry", linear);
    let node = Node::on(&store, mode.options(), registry, flaky(&Journal::default())).await;
    node.start_instance("retry", "Retry", "4").await;
    for (timers, delay) in [(1, 2), (2, 4), (3, 5)] {
        node.wait_for_history("retry", |history| count(history, "TimerCreated") == timers).await;
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

async fn an_attempt_that_times_out_fails_the_call(mode: Mode) {
    let journal = Journal::default();
    let (store, clock) = memory_with_clock().await;
    let written = journal.clone();
    let slow = activities().register("Slow", move |ctx: ActivityContext, _: String| {
        let written = written.clone();
        async move {
            written.write("started");
            ctx.cancelled().await;
            written.write("cancelled");
            Err("cancelled".to_owned())
        }
    });
    let registry = orchestrations().register("Limit", limited);
    let node = Node::on(&store, mode.options(), registry, slow).await;
    node.start_instance("limit", "Limit", "").await;
    assert_eq!(journal.next().await, "started");
    clock.advance(Duration::from_secs(10));
    assert_eq!(node.failure_text("limit").await, "timeout: activity timed out");
    assert_eq!(journal.next().await, "cancelled");
    let history = node.history("limit").await;
    assert_eq!(kinds(&history)[1..3], ["ActivityScheduled", "TimerCreated"]);
    assert_eq!(count(&history, "ActivityScheduled"), 1, "no further attempt");
    assert_eq!(cancellations(&history), [(2, "dropped_future")]);
    node.stop().await;
}

in_every_mode! {
    failures_are_retried_and_the_last_error_is_returned,
    delays_are_durable_timers,
    an_attempt_that_times_out_fails_the_call,
}

#[tokio::test]
async fn all_attempts_run_on_the_same_session() {
    async fn on_session(ctx: OrchestrationContext, good: u32) -> Result<String, String> {
        let none = policy(3, BackoffStrategy::None);
        ctx.schedule_activity_with_retry_on_session_typed("Flaky", &good, none, "s").await
    }
    let journal = Journal::default();
    let registry = orchestrations().register_typed("Retry", on_session);
    let node = Node::start(DEFAULT_MODE, registry, flaky(&journal)).await;
    assert_eq!(node.run("retry", "Retry", "3").await, "call 3");
    assert_eq!(journal.unread(), ["Some(\"s\")"; 3]);
    node.stop().await;
}

/// A system failure fails the orchestration; it is not retried.
#[tokio::test]
async fn only_application_errors_are_retried() {
    let options = duroxide::RuntimeOptions {
        max_attempts: 1,
        unregistered_backoff: crate::support::short_backoff(),
        ..DEFAULT_MODE.options()
    };
    let store = crate::support::memory().await;
    let registry = orchestrations().register("Retry", at_once);
    let node = Node::on(&store, options, registry, activities()).await;
    node.start_instance("retry", "Retry", "1").await;
    let text = node.failure_text("retry").await;
    let expected = "poison: activity Flaky#2 exceeded 2 attempts (max 1): ";
    assert!(text.starts_with(expected), "{text}");
    assert_eq!(count(&node.history("retry").await, "ActivityScheduled"), 1);
    node.stop().await;
}
