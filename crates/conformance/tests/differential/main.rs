//! The reference provider and SQLite return the same results and expose the same state.
//!
//! The test applies random operations to both under one clock. After each operation the results and
//! the visible state must be equal; leases and attempts are visible in later fetches. A failure
//! shrinks to a short list of steps and names the first line that differs.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test names the variants that it expects")]

mod apply;
mod as_text;
mod build;
mod fixed;
mod move_instance;
mod op;
mod random_ops;
mod reopen;
mod state;
mod steps;
mod waits;
mod world;

use proptest::prelude::*;

use crate::steps::{Steps, steps, steps_with_corruption};
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

#[test]
fn both_agree_about_cases_that_were_mended() {
    for (name, steps) in fixed::cases() {
        run(Place::Memory, steps).unwrap_or_else(|difference| panic!("{name}: {difference}"));
    }
}
