//! The reference and SQLite give the same answers and show the same state, whatever happens.
//!
//! Random operations are applied to both under one clock. After each of them the answers and all
//! that can be seen from outside must be equal; leases and attempts show in later fetches. A
//! failure shrinks to a short list of steps and names the first line that differs.

mod answer;
mod apply;
mod build;
mod op;
mod state;
mod waits;
mod world;

use proptest::prelude::*;

use crate::op::{Steps, steps, steps_with_corruption};
use crate::world::{Place, World};

/// How often a property is tried, unless the environment says otherwise.
const CASES: u32 = 96;
/// Set this to look longer.
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
    fn both_agree_about_histories_that_cannot_be_read(steps in steps_with_corruption()) {
        run(Place::File, steps)?;
    }
}
