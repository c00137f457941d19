//! A short run of every target; `cargo xtask fuzz` makes long ones.

use std::time::Duration;

use duroxide_fuzz::{Runner, TARGETS};

/// Inputs of each target, the same on every machine.
const INPUTS: u64 = 1000;

/// Longer than they take anywhere.
const TIME_MAX: Duration = Duration::from_secs(300);

#[test]
fn every_reader_survives_changed_inputs() {
    for target in TARGETS {
        let mut runner = Runner::new(target).unwrap_or_else(|reason| panic!("{reason}"));
        let run = runner.run(1, INPUTS, TIME_MAX).unwrap_or_else(|failure| panic!("{failure}"));
        println!(
            "{}: {} inputs from {} of the corpus, {} different answers",
            target.name,
            run.inputs,
            runner.corpus_size(),
            run.answers
        );
        // A target that answers everything alike reads nothing.
        assert!(run.inputs >= INPUTS && run.answers > 2, "{}: {run:?}", target.name);
    }
}

#[test]
fn a_seed_always_gives_the_same_input() {
    for target in TARGETS {
        let runners = [(), ()].map(|()| Runner::new(target).unwrap());
        let [one, other] = runners.each_ref().map(|runner| (1..50).map(|seed| runner.input(seed)));
        assert!(one.eq(other), "{}", target.name);
    }
}
