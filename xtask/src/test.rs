//! `cargo xtask test`: all set-up that the tests need, then all tests.

use crate::step::{Step, announce};

/// Sets up and runs every test of the workspace, doc tests included.
pub(crate) fn run() -> Result<(), String> {
    announce("set-up: nothing but cargo is needed");
    let tests = Step { name: "tests", cargo: &["test", "--workspace", "--all-features"], env: &[] };
    tests.run()
}
