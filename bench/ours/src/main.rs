//! Measures this project and runs the measurements of its peers.

#[path = "../../shared/duroxide_engine.rs"]
mod duroxide_engine;
mod engines;
#[path = "../../shared/duroxide_workflows.rs"]
mod workflows;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "run") {
        arguments.remove(0);
    }
    bench_harness::child::main(engines::ALL, arguments)
}
