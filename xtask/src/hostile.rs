//! `cargo xtask hostile`: the tests of a hostile database with all their cases.

use crate::step::Step;

/// Runs every fault at every request; prints how many cases there were.
pub(crate) fn run() -> Result<(), String> {
    let args = ["test", "--package", "duroxide-pg", "--test", "suite", "hostile", "--"];
    let args = [&args[..], &["--nocapture", "--test-threads=1"]].concat();
    Step { name: "hostile", cargo: &args, env: &[("DUROXIDE_HOSTILE_FULL", "1")] }.run()
}
