//! Measures published engines by the same workloads.

mod durare_engine;
mod durare_workflows;
#[path = "../../shared/duroxide_engine.rs"]
mod duroxide_engine;
mod engines;
#[path = "../../shared/duroxide_workflows.rs"]
mod workflows;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = std::env::args().skip(1).filter(|argument| argument != "run").collect();
    bench_harness::child::main(engines::ALL, arguments)
}
