//! `cargo xtask soak [--minutes N]`: workflows under kills and pauses of their worker processes.

use crate::step::Step;

const SOAK: &[&str] =
    &["run", "--package", "duroxide", "--features", "sqlite", "--example", "soak", "--"];

/// Minutes of the short form that is part of the tests.
const SHORT: &str = "0.3";

/// Runs the soak with the arguments of the command line.
pub(crate) fn run() -> Result<(), String> {
    let given: Vec<String> = std::env::args().skip(2).collect();
    soak(&given.iter().map(String::as_str).collect::<Vec<_>>())
}

/// A soak of less than half a minute.
pub(crate) fn short() -> Result<(), String> {
    soak(&["--minutes", SHORT])
}

fn soak(given: &[&str]) -> Result<(), String> {
    let args: Vec<&str> = SOAK.iter().chain(given).copied().collect();
    Step { name: "soak", cargo: &args, env: &[] }.run()
}
