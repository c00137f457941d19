//! `cargo xtask stress [seconds]`: puts the bundled stores under load and prints their throughput.

use crate::step::Step;

/// Runs the load; an instance that does not complete fails the command.
pub(crate) fn run() -> Result<(), String> {
    let seconds = std::env::args().nth(2);
    let mut args = vec!["run", "--release", "--package", "duroxide-soak", "--bin", "stress", "--"];
    args.extend(seconds.as_deref());
    Step { name: "stress", cargo: &args, env: &[] }.run()
}
