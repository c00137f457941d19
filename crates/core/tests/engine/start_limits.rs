//! A turn reports schedule-to-start limits once, when it schedules; history does not record them.

use std::time::Duration;

use super::harness::Harness;
use super::notation;

const LIMIT: Duration = Duration::from_secs(30);

#[test]
fn only_the_scheduling_turn_reports_a_start_limit() {
    let mut harness = Harness::new(|ctx, _input| async move {
        let first = ctx.schedule_activity("A", "").with_schedule_to_start_limit(LIMIT);
        let plain = ctx.schedule_activity("B", "");
        let last = ctx.schedule_activity("C", "").with_schedule_to_start_limit(LIMIT * 2);
        let _results = ctx.join(vec![first, plain]).await;
        last.await
    });
    assert_eq!(harness.advance(Vec::new()).start_limits, [(2, LIMIT), (4, LIMIT * 2)]);
    assert_eq!(harness.advance(vec![notation::message("done 2 x", 1)]).start_limits, []);
    harness.evict();
    let replayed = harness.advance(vec![notation::message("done 3 x", 1)]);
    assert_eq!(replayed.start_limits, [], "the store already has the limit");
}

#[test]
fn a_terminal_turn_reports_no_start_limits() {
    let mut harness = Harness::new(|ctx, _input| async move {
        drop(ctx.schedule_activity("A", "").with_schedule_to_start_limit(LIMIT));
        Ok(String::new())
    });
    let turn = harness.advance(Vec::new());
    assert!(turn.result.is_terminal() && turn.worker_items.is_empty());
    assert_eq!(turn.start_limits, []);
}

#[test]
fn only_a_newly_scheduled_activity_accepts_a_start_limit() {
    let mut timer = Harness::new(|ctx, _input| async move {
        ctx.schedule_timer(LIMIT).with_schedule_to_start_limit(LIMIT).await;
        Ok(String::new())
    });
    let result = timer.turn(&["start"]);
    let text = "with_schedule_to_start_limit() can only be called on activity futures, got Timer";
    assert_eq!(result, format!("failed panic: orchestration panicked: {text}"));

    let mut late = Harness::new(|ctx, _input| async move {
        let activity = ctx.schedule_activity("A", "");
        ctx.schedule_activity("B", "").await?;
        activity.with_schedule_to_start_limit(LIMIT).await
    });
    late.turn(&["start"]);
    let result = late.turn(&["done 3 x"]);
    assert!(result.contains("must be called right after the activity is scheduled"), "{result}");
}
