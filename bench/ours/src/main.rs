//! Measures this project and runs the measurements of its peers.

mod backlog;
mod driver;
#[path = "../../shared/duroxide_engine.rs"]
mod duroxide_engine;
mod engines;
mod floor;
mod heavy;
mod many;
mod postgres;
mod seed;
mod template;
#[path = "../../shared/duroxide_workflows.rs"]
mod workflows;

use std::process::ExitCode;

use bench_harness::Workload;
use bench_harness::child::{Run, line};

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help") {
        arguments = vec!["help".to_owned()];
    }
    let command = arguments.first().filter(|first| !first.starts_with('-')).cloned();
    let Some(command) = command else { return driver::main(arguments) };
    arguments.remove(0);
    let outcome = match command.as_str() {
        "run" => run(arguments),
        "seed" => seed::main(arguments),
        "heavy" => heavy::main(arguments),
        "many" => many::main(arguments),
        "list" => Ok(list()),
        "help" => Ok(driver::HELP.to_owned()),
        unknown => Err(format!("unknown command {unknown}; try help")),
    };
    match outcome {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("bench: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Vec<String>) -> Result<String, String> {
    let run = Run::read(arguments)?;
    match floor::ALL.iter().find(|floor| floor.name == run.engine) {
        Some(floor) => line(&(floor.sample)(run.case)?),
        None => line(&run.sample(engines::ALL)?),
    }
}

fn list() -> String {
    let engines = engines::ALL.iter().map(|opener| opener.name());
    let workloads = Workload::ALL.iter().map(|workload| workload.name());
    let floors = floor::ALL.iter().map(|floor| floor.name);
    let names: Vec<&str> = engines.chain(floors).chain(workloads).collect();
    names.join("\n")
}
