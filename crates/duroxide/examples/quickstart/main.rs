//! An order that survives `kill -9`: run it, kill it at any moment, run it again.
//!
//! `cargo run --example quickstart -- help` lists what else it can do.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main(std::env::args().skip(1))
}
