//! Measures published engines with the same workloads.

mod dbos_engine;
mod dbos_workflows;
mod durare_engine;
mod durare_workflows;
#[path = "../../shared/duroxide_engine.rs"]
mod duroxide_engine;
mod engines;
mod postgres;
#[path = "../../shared/duroxide_workflows.rs"]
mod workflows;

use std::process::ExitCode;

use bench_harness::child::{Run, line};

fn main() -> ExitCode {
    let arguments = std::env::args().skip(1).filter(|argument| argument != "run").collect();
    let run = Run::read(arguments).and_then(|run| run.sample(engines::ALL));
    match run.and_then(|sample| line(&sample)) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("bench-peers: {reason}");
            ExitCode::FAILURE
        }
    }
}
