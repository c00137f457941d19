//! `cargo xtask ci`: everything that must pass before a change is merged.

use crate::step::Step;
use crate::{gate, test, tidy};

const DENIED: &[(&str, &str)] = &[("RUSTDOCFLAGS", "-D warnings")];

const BENCH: &str = "bench/Cargo.toml";

const STEPS: &[Step<'static>] = &[
    Step { name: "format", cargo: &["fmt", "--all", "--check"], env: &[] },
    Step {
        name: "format of bench",
        cargo: &["fmt", "--all", "--check", "--manifest-path", BENCH],
        env: &[],
    },
    Step {
        name: "lints",
        cargo: &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--all-features",
            "--",
            "-D",
            "warnings",
        ],
        env: &[],
    },
    Step {
        name: "lints of bench",
        // In the folder of the project, where most of what it needs is built already.
        cargo: &[
            "clippy",
            "--all-targets",
            "--manifest-path",
            BENCH,
            "--target-dir",
            "target",
            "--",
            "-D",
            "warnings",
        ],
        env: &[],
    },
    Step {
        name: "documentation",
        cargo: &["doc", "--workspace", "--no-deps", "--all-features"],
        env: DENIED,
    },
];

/// Runs the steps in order and stops at the first that fails.
pub(crate) fn run() -> Result<(), String> {
    STEPS.iter().try_for_each(Step::run)?;
    tidy::run()?;
    gate::run()?;
    test::run_everything()
}
