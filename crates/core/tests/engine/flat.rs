//! A warm step costs the same however long the history is.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::cpu_time::cpu_time;
use super::harness::{Harness, counted};

const SHORT: u64 = 100;
const LONG: u64 = 10_000;
const MEASURED: u64 = 500;

/// Events of one step: completion, subscriptions and breadcrumbs, message, activity, key, status.
const EVENTS_PER_STEP: u64 = 9;

/// An endless orchestration that uses a little of everything in each step.
fn endless(polls: &Arc<AtomicUsize>) -> Harness {
    let polls = Arc::clone(polls);
    Harness::new(move |ctx, _input| {
        let polls = Arc::clone(&polls);
        async move {
            let mut step: u64 = 0;
            loop {
                let activity = counted(ctx.schedule_activity("A", ""), Arc::clone(&polls));
                // Every step waits for a name of its own and drops the wait.
                let reply = ctx.schedule_wait(format!("reply-{step}"));
                let _winner = ctx.select2(activity, reply).await;
                ctx.dequeue_event("q").await;
                ctx.set_kv_value("step", step.to_string());
                ctx.set_custom_status(step.to_string());
                step += 1;
            }
        }
    })
}

/// Runs `count` steps; each completes the activity that was scheduled last.
fn run_steps(harness: &mut Harness, count: u64) {
    for _step in 0..count {
        let scheduled =
            harness.history.iter().rev().take(8).find(|event| {
                matches!(event.kind, duroxide_core::EventKind::ActivityScheduled { .. })
            });
        let id = scheduled.expect("one activity is always open").event_id;
        assert_eq!(harness.turn(&["message q x", &format!("done {id} x")]), "waiting");
    }
}

fn time_of_steps(harness: &mut Harness) -> Duration {
    let best = (0..4).map(|_try| cpu_time(|| run_steps(harness, MEASURED / 4)).0);
    best.min().unwrap_or_default()
}

#[test]
fn a_warm_step_costs_the_same_after_ten_thousand_steps() {
    let polls = Arc::new(AtomicUsize::new(0));
    let mut harness = endless(&polls);
    harness.turn(&["start"]);
    run_steps(&mut harness, SHORT);
    let (bytes_short, events_short) = (harness.bytes(), harness.history.len() as u64);
    assert!(events_short / SHORT <= EVENTS_PER_STEP);
    let short = time_of_steps(&mut harness);

    let steps_left = LONG - SHORT - MEASURED;
    run_steps(&mut harness, steps_left);
    let before = polls.load(Ordering::SeqCst);
    let long = time_of_steps(&mut harness);
    let polled = polls.load(Ordering::SeqCst) - before;

    // An activity is polled when it is scheduled, for the message and for its completion.
    assert!(polled as u64 <= 3 * MEASURED, "{polled} polls in {MEASURED} steps");
    // The margin allows for other load on the machine; a cost that grows with history would be a
    // hundred times as high.
    assert!(long < short * 5 + Duration::from_millis(20), "{short:?} became {long:?}");
    let grown = harness.bytes() - bytes_short;
    let per_step = grown as u64 / LONG;
    assert!(per_step <= 8 * EVENTS_PER_STEP, "each step keeps {per_step} bytes");
}

#[test]
fn a_cold_replay_costs_in_proportion_to_its_history() {
    const FEW: u64 = 500;
    const TIMES: u32 = 8;
    let polls = Arc::new(AtomicUsize::new(0));
    let mut harness = endless(&polls);
    harness.turn(&["start"]);
    run_steps(&mut harness, FEW * u64::from(TIMES));
    let end_of_few = harness.history.len() / TIMES as usize;
    let replay = |end: usize| {
        let best = (0..3).map(|_try| {
            let (cost, opened) = cpu_time(|| harness.open(&harness.history[..end]));
            assert!(opened.is_ok());
            cost
        });
        best.min().unwrap_or_default()
    };
    let (few, all) = (replay(end_of_few), replay(harness.history.len()));
    // A quadratic cost would be sixty-four times as high.
    assert!(all < few * TIMES * 3 + Duration::from_millis(20), "{few:?} became {all:?}");
}
