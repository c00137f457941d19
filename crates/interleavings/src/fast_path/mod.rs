//! Who takes the direct turns of an instance.

mod check;
mod sync;
mod two_steps;

#[expect(dead_code, reason = "the product uses all of it")]
#[path = "../../../core/src/runtime/fast_path/completions.rs"]
mod completions;

pub use check::{Gathering, Product, results_are_taken_once};
pub use two_steps::TwoSteps;
