//! The reference provider and SQLite return the same results and expose the same state.
//!
//! The test applies random operations to both under one clock. After each operation the results and
//! the visible state must be equal; leases and attempts are visible in later fetches. A failure
//! shrinks to a short list of steps and names the first line that differs.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test names the variants that it expects")]

mod apply;
mod as_text;
mod build;
mod op;
mod state;
mod waits;
mod world;

use proptest::prelude::*;

use crate::op::{Fact, Filter, Known, Message, Op, Steps, Turn, steps, steps_with_corruption};
use crate::world::{Place, World};

/// The default number of cases for each property.
const CASES: u32 = 96;
/// The environment variable that sets another number of cases.
const CASES_VARIABLE: &str = "DUROXIDE_DIFFERENTIAL_CASES";

fn config(divided_by: u32) -> ProptestConfig {
    let wanted = std::env::var(CASES_VARIABLE).ok();
    let cases = wanted.map_or(CASES, |text| text.parse().expect("a number of cases"));
    ProptestConfig {
        cases: cases.div_ceil(divided_by),
        failure_persistence: None,
        max_shrink_iters: 4000,
        ..ProptestConfig::default()
    }
}

fn run(place: Place, steps: Steps) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let mut world = World::open(place).await;
        for (number, step) in steps.0.into_iter().enumerate() {
            let text = format!("step {number}, {step:?}");
            if let Some(difference) = world.step(step).await {
                return Err(TestCaseError::fail(format!("{text}\n{difference}")));
            }
        }
        Ok(())
    })
}

proptest! {
    #![proptest_config(config(1))]
    #[test]
    fn both_agree_after_every_step(steps in steps()) {
        run(Place::Memory, steps)?;
    }
}

proptest! {
    #![proptest_config(config(8))]
    #[test]
    fn both_agree_about_corrupt_histories(steps in steps_with_corruption()) {
        run(Place::File, steps)?;
    }
}

const LEASE: u64 = 5_000;

fn start_of_the_first() -> Op {
    Op::Send { message: Message::Start { instance: 0, version: false }, delay: None }
}

fn fetched_and_committed(turn: Turn) -> [Op; 2] {
    let fetch = Op::FetchTurn { lease: LEASE, filter: Filter::Off };
    [fetch, Op::Commit { back: 0, turn, plain_ack: false }]
}

// A turn without a name does not store the instance, so that its pin holds no node off.
#[test]
fn both_agree_about_a_pin_of_an_instance_that_is_not_stored() {
    let turn =
        Turn { pin: Some(0), messages: vec![Message::Signal(0)], is_named: false, ..Turn::named() };
    let mut steps = vec![start_of_the_first()];
    steps.extend(fetched_and_committed(turn));
    steps.push(Op::FetchTurn { lease: LEASE, filter: Filter::Ranges(vec![(1, 1)]) });
    run(Place::Memory, Steps(steps)).unwrap();
}

#[test]
fn both_agree_about_the_values_of_an_execution_that_the_caller_holds() {
    let turn = Turn {
        events: vec![Fact::Set { key: 0, value: 0 }],
        messages: vec![Message::Signal(0)],
        status: Some("Completed"),
        ..Turn::named()
    };
    let mut steps = vec![start_of_the_first()];
    steps.extend(fetched_and_committed(turn));
    let (turns_max, filter, code, known) = (1, Filter::Off, None, Known::Newest);
    steps.push(Op::FetchTurns { turns_max, lease: LEASE, filter, code, known });
    run(Place::Memory, Steps(steps)).unwrap();
}
