//! `cargo xtask ci`: everything that must pass before a change is merged. This list is the only
//! one; `.ci/run` and the hosted CI call this command.

use std::time::Instant;

use crate::step::{Step, announce};
use crate::{deps, gate, linking, package, test, tidy};

/// What a step of the list runs.
enum Work {
    Cargo(Step<'static>),
    Xtask(&'static str, fn() -> Result<(), String>),
}

use Work::{Cargo, Xtask};

const BENCH: &str = "bench/Cargo.toml";

const STEPS: &[Work] = &[
    Cargo(Step { name: "format", cargo: &["fmt", "--all", "--check"], env: &[] }),
    Cargo(Step {
        name: "format of bench",
        cargo: &["fmt", "--all", "--check", "--manifest-path", BENCH],
        env: &[],
    }),
    Xtask("tidy", tidy::run),
    Xtask("deps", deps::run),
    Cargo(Step {
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
    }),
    Cargo(Step {
        name: "lints of bench",
        // The project's target directory already holds most of what it needs.
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
    }),
    Cargo(Step {
        name: "documentation",
        cargo: &["doc", "--workspace", "--no-deps", "--all-features"],
        env: &[("RUSTDOCFLAGS", "-D warnings")],
    }),
    Xtask("gate", gate::run),
    Xtask("tests", test::run_everything),
    Cargo(Step {
        name: "tests of bench",
        cargo: &["test", "--manifest-path", BENCH, "--target-dir", "target"],
        env: &[],
    }),
    Xtask("package", package::run),
    Xtask("linking", linking::run),
];

/// Runs the steps in order and stops at the first that fails.
pub(crate) fn run() -> Result<(), String> {
    let started = Instant::now();
    for (index, step) in STEPS.iter().enumerate() {
        let name = match step {
            Cargo(step) => step.name,
            Xtask(name, _) => name,
        };
        announce(&format!("ci: step {} of {}: {name}", index + 1, STEPS.len()));
        match step {
            Cargo(step) => step.run()?,
            Xtask(_, run) => run()?,
        }
    }
    announce(&format!("ci: all steps passed in {:.0} s", started.elapsed().as_secs_f64()));
    Ok(())
}
