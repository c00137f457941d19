//! `cargo xtask conformance-teeth`: which validation catches which violation of the contract.

use crate::step::Step;

/// Prints the table; a violation that nothing catches fails the command.
pub(crate) fn run() -> Result<(), String> {
    let args = [
        "test",
        "--package",
        "duroxide-conformance",
        "--test",
        "teeth",
        "--",
        "--nocapture",
        "--ignored",
        "every_violation_with_all_that_catch_it",
    ];
    Step { name: "conformance-teeth", cargo: &args, env: &[] }.run()
}
