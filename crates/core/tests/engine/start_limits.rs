//! Schedule-to-start limits are told once, with the turn that schedules, and never recorded.

use std::time::Duration;

use super::harness::Harness;
use super::notation;

const LIMIT: Duration = Duration::from_secs(30);

#[test]
fn a_limit_goes_with_the_turn_that_schedules_and_with_no_other() {
    let mut harness = Harness::new(|ctx, _input| async move {
        let first = ctx.schedule_activity("A", "").with_schedule_to_start_limit(LIMIT);
        let plain = ctx.schedule_activity("B", "");
        let last = ctx.schedule_activity("C", "").with_schedule_to_start_limit(LIMIT * 2);
        let _answers = ctx.join(vec![first, plain]).await;
        last.await
    });
    assert_eq!(harness.advance(Vec::new()).start_limits, [(2, LIMIT), (4, LIMIT * 2)]);
    assert_eq!(harness.advance(vec![notation::message("done 2 x", 1)]).start_limits, []);
    harness.evict();
    let replayed = harness.advance(vec![notation::message("done 3 x", 1)]);
    assert_eq!(replayed.start_limits, [], "the store has it already");
}

#[test]
fn a_turn_that_ends_the_execution_has_no_limits() {
    let mut harness = Harness::new(|ctx, _input| async move {
        drop(ctx.schedule_activity("A", "").with_schedule_to_start_limit(LIMIT));
        Ok(String::new())
    });
    let turn = harness.advance(Vec::new());
    assert!(turn.result.is_terminal() && turn.worker_items.is_empty());
    assert_eq!(turn.start_limits, []);
}

#[test]
fn only_an_activity_that_was_just_scheduled_takes_a_limit() {
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
