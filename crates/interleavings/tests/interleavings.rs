//! Interleavings of the concurrent parts, at random and with few switches of threads.

use std::panic::catch_unwind;

use duroxide_interleavings::fast_path::{Product, TwoSteps, results_are_taken_once};

/// Runs of each scheduler.
const RUNS: usize = 5000;

/// Most switches that the second scheduler makes where no thread waits.
const SWITCHES: usize = 3;

#[test]
fn results_of_activities_are_part_of_one_turn() {
    shuttle::check_random(results_are_taken_once::<Product>, RUNS);
    shuttle::check_pct(results_are_taken_once::<Product>, RUNS, SWITCHES);
}

#[test]
fn a_lead_that_ends_in_two_steps_loses_results() {
    let found = catch_unwind(|| shuttle::check_random(results_are_taken_once::<TwoSteps>, RUNS));
    let text = found.unwrap_err();
    let text = text.downcast_ref::<String>().map_or("", String::as_str);
    assert!(text.contains("lost or taken twice"), "{text}");
}
