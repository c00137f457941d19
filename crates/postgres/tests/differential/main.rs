//! The reference and PostgreSQL give the same answers and show the same state, whatever happens.
//!
//! The steps are those that SQLite is compared by. Random operations are applied to both under one
//! clock. After each of them the answers and all that can be seen from outside must be equal.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test names the variants that it expects")]

#[path = "../../../conformance/tests/differential/apply.rs"]
mod apply;
#[path = "../../../conformance/tests/differential/as_text.rs"]
mod as_text;
#[path = "../../../conformance/tests/differential/build.rs"]
mod build;
#[path = "../../../conformance/tests/differential/fixed.rs"]
mod fixed;
#[path = "../../../conformance/tests/differential/move_instance.rs"]
mod move_instance;
#[path = "../../../conformance/tests/differential/op.rs"]
mod op;
#[path = "../../../conformance/tests/differential/random_ops.rs"]
mod random_ops;
#[path = "../../../conformance/tests/differential/reopen.rs"]
mod reopen;
#[path = "../../../conformance/tests/differential/state.rs"]
mod state;
#[path = "../../../conformance/tests/differential/steps.rs"]
mod steps;
mod world;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::steps::{Steps, steps, steps_with_corruption};
use crate::world::World;

/// How often the property is tried, unless the environment says otherwise. A step asks the server
/// a hundred times.
const CASES: u32 = 16;
/// Set this to look longer.
const CASES_VARIABLE: &str = "DUROXIDE_DIFFERENTIAL_CASES";

fn config(divided_by: u32) -> ProptestConfig {
    let wanted = std::env::var(CASES_VARIABLE).ok();
    let cases = wanted.map_or(CASES, |text| text.parse().expect("a number of cases"));
    ProptestConfig {
        cases: cases.div_ceil(divided_by),
        failure_persistence: None,
        max_shrink_iters: 100,
        ..ProptestConfig::default()
    }
}

async fn run(world: &mut World, steps: Steps) -> Result<(), TestCaseError> {
    world.begin_anew().await;
    for (number, step) in steps.0.into_iter().enumerate() {
        let text = format!("step {number}, {step:?}");
        if let Some(difference) = world.step(step).await {
            return Err(TestCaseError::fail(format!("{text}\n{difference}")));
        }
    }
    Ok(())
}

fn agree(strategy: &BoxedStrategy<Steps>, config: ProptestConfig) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let world = std::cell::RefCell::new(runtime.block_on(World::open()));
    let agreed = TestRunner::new(config)
        .run(strategy, |steps| runtime.block_on(run(&mut world.borrow_mut(), steps)));
    if let Err(difference) = agreed {
        panic!("{difference}");
    }
}

#[test]
fn both_agree_after_every_step() {
    agree(&steps(), config(1));
}

#[test]
fn both_agree_about_histories_that_cannot_be_read() {
    agree(&steps_with_corruption(), config(4));
}

#[test]
fn both_agree_about_cases_that_were_mended() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut world = World::open().await;
        for (name, steps) in fixed::cases() {
            let agreed = run(&mut world, steps).await;
            agreed.unwrap_or_else(|difference| panic!("{name}: {difference}"));
        }
    });
}
