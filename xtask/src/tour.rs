//! `cargo xtask tour`: the tour of the command `duroxide` on both stores, which is also a test.

use crate::step::Step;

/// Runs the tour and compares what the command prints with the recorded tour.
pub(crate) fn run() -> Result<(), String> {
    let args = ["test", "--package", "duroxide-cli", "--test", "tour", "--", "--nocapture"];
    Step { name: "tour", cargo: &args, env: &[] }.run()
}
