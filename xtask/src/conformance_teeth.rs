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
        "every_violation_is_caught",
    ];
    Step { name: "conformance-teeth", cargo: &args, env: &[("DUROXIDE_TEETH_ALL", "1")] }.run()
}
