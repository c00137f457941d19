//! Durable timers.

use std::time::Duration;

use duroxide::{Either2, EventKind, OrchestrationContext};

use crate::support::{
    DEFAULT_MODE, Mode, NOW_MS, Node, activities, count, in_every_mode, kinds, memory_with_clock,
    orchestrations,
};

const HOUR: Duration = Duration::from_secs(3600);

async fn sleeper(ctx: OrchestrationContext, seconds: String) -> Result<String, String> {
    let seconds = seconds.parse().map_err(|error| format!("{error}"))?;
    ctx.schedule_timer(Duration::from_secs(seconds)).await;
    Ok("awake".to_owned())
}

async fn race(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let short = ctx.schedule_timer(Duration::from_secs(1));
    let long = ctx.schedule_timer(Duration::from_secs(2));
    let won = matches!(ctx.select2(short, long).await, Either2::First(()));
    ctx.schedule_timer(Duration::from_secs(2)).await;
    Ok(format!("short won: {won}"))
}

async fn twice(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ctx.schedule_timer(Duration::from_secs(10)).await;
    ctx.schedule_timer(Duration::from_secs(10)).await;
    Ok("done".to_owned())
}

async fn a_timer_fires_when_it_is_due_and_not_before(mode: Mode) {
    let (store, clock) = memory_with_clock().await;
    let node =
        Node::on(&store, mode.options(), orchestrations().register("Sleep", sleeper), activities())
            .await;
    node.start_instance("sleep", "Sleep", "3600").await;
    node.wait_for_event("sleep", "TimerCreated").await;
    clock.advance(HOUR - Duration::from_millis(1));
    // The node runs new work now and does not fire the timer, so the timer is not due.
    assert_eq!(node.run("other", "Sleep", "0").await, "awake");
    assert_eq!(count(&node.history("sleep").await, "TimerFired"), 0);
    clock.advance(Duration::from_millis(1));
    assert_eq!(node.output("sleep").await, "awake");
    let history = node.history("sleep").await;
    let due = NOW_MS + 3_600_000;
    assert_eq!(history[1].kind, EventKind::TimerCreated { fire_at_ms: due });
    assert_eq!(history[2].kind, EventKind::TimerFired { fire_at_ms: due });
    node.stop().await;
}

async fn a_zero_timer_costs_a_turn(mode: Mode) {
    let node = Node::start(mode, orchestrations().register("Sleep", sleeper), activities()).await;
    assert_eq!(node.run("zero", "Sleep", "0").await, "awake");
    let history = node.history("zero").await;
    assert_eq!(
        kinds(&history),
        ["OrchestrationStarted", "TimerCreated", "TimerFired", "OrchestrationCompleted"]
    );
    node.stop().await;
}

in_every_mode! {
    a_timer_fires_when_it_is_due_and_not_before,
    a_zero_timer_costs_a_turn,
}

#[tokio::test]
async fn a_timer_survives_a_restart() {
    let (store, clock) = memory_with_clock().await;
    let sleep = || orchestrations().register("Sleep", sleeper);
    let node = Node::on(&store, DEFAULT_MODE.options(), sleep(), activities()).await;
    node.start_instance("sleep", "Sleep", "3600").await;
    node.wait_for_event("sleep", "TimerCreated").await;
    node.stop().await;
    clock.advance(HOUR);
    let node = Node::on(&store, DEFAULT_MODE.options(), sleep(), activities()).await;
    assert_eq!(node.output("sleep").await, "awake");
    node.stop().await;
}

#[tokio::test]
async fn a_dropped_timer_records_nothing_and_still_fires() {
    let (store, clock) = memory_with_clock().await;
    let registry = orchestrations().register("Race", race);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry, activities()).await;
    node.start_instance("race", "Race", "").await;
    node.wait_for_event("race", "TimerCreated").await;
    clock.advance(Duration::from_secs(1));
    node.wait_for_history("race", |history| count(history, "TimerCreated") == 3).await;
    clock.advance(Duration::from_secs(1));
    node.wait_for_history("race", |history| count(history, "TimerFired") == 2).await;
    clock.advance(Duration::from_secs(1));
    assert_eq!(node.output("race").await, "short won: true");
    assert_eq!(
        kinds(&node.history("race").await),
        [
            "OrchestrationStarted",
            "TimerCreated",
            "TimerCreated",
            "TimerFired",
            "TimerCreated",
            "TimerFired",
            "TimerFired",
            "OrchestrationCompleted",
        ]
    );
    node.stop().await;
}

#[tokio::test]
async fn the_due_time_of_a_timer_comes_from_its_first_turn_and_not_from_replay() {
    let (store, clock) = memory_with_clock().await;
    let cold = Mode { warm: false, ..DEFAULT_MODE };
    let registry = orchestrations().register("Twice", twice);
    let node = Node::on(&store, cold.options(), registry, activities()).await;
    node.start_instance("twice", "Twice", "").await;
    node.wait_for_event("twice", "TimerCreated").await;
    // Five seconds late: the second timer starts now.
    clock.advance(Duration::from_secs(15));
    node.wait_for_history("twice", |history| count(history, "TimerCreated") == 2).await;
    clock.advance(Duration::from_secs(10));
    assert_eq!(node.output("twice").await, "done");
    let due: Vec<u64> = node
        .history("twice")
        .await
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::TimerFired { fire_at_ms } => Some(fire_at_ms - NOW_MS),
            _ => None,
        })
        .collect();
    assert_eq!(due, [10_000, 25_000]);
    node.stop().await;
}
