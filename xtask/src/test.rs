//! `cargo xtask test`: all set-up that the tests need, then all tests and a short soak.

use crate::soak;
use crate::step::{Step, announce};

/// Sets up and runs every test of the workspace, doc tests included, and a short soak.
pub(crate) fn run() -> Result<(), String> {
    announce("set-up: nothing but cargo is needed");
    let tests = Step { name: "tests", cargo: &["test", "--workspace", "--all-features"], env: &[] };
    tests.run()?;
    // Needs signals to pause processes.
    if cfg!(unix) { soak::short() } else { Ok(()) }
}
