//! Workflows under kills and pauses: `cargo xtask soak --minutes 5`.
//!
//! Three worker processes share one store. The soak kills and pauses them at random while thousands
//! of workflows run, and then audits the store: every workflow completed, and no rule is broken.
//! Needs signals, so it runs on Unix only.

#[cfg(unix)]
mod acks;
#[cfg(unix)]
mod args;
#[cfg(unix)]
mod audit;
#[cfg(unix)]
mod chaos;
#[cfg(unix)]
mod doubt;
#[cfg(unix)]
mod effects;
#[cfg(unix)]
mod facts;
#[cfg(unix)]
mod facts_postgres;
#[cfg(unix)]
mod facts_sqlite;
#[cfg(unix)]
mod kinds;
#[cfg(unix)]
mod load;
#[cfg(unix)]
mod node;
#[cfg(unix)]
mod power;
#[cfg(unix)]
mod rng;
#[cfg(unix)]
mod run;
#[cfg(unix)]
mod store;
#[cfg(unix)]
mod worker;
#[cfg(unix)]
mod workflows;

use std::process::ExitCode;

#[cfg(unix)]
fn main() -> ExitCode {
    let outcome = dispatch(std::env::args().skip(1).collect());
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("soak: {reason}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(unix)]
fn dispatch(given: Vec<String>) -> Result<(), String> {
    let rest = || given.iter().skip(1).cloned();
    match given.first().map(String::as_str) {
        Some("power") => power::run(&power::parse(rest())?),
        Some("scenario") => power::run_scenario(&power::parse_scenario(rest())?),
        Some("recorded-node") => power::run_recorded_node(&power::parse_recorded(rest())?),
        _soak => match args::parse(given.iter().cloned()) {
            Ok(args::Command::Soak(plan)) => run::run(&plan),
            Ok(args::Command::Node(node)) => node::run(&node),
            Err(mistake) => Err(format!("{mistake}\n{}", args::USAGE)),
        },
    }
}

#[cfg(not(unix))]
fn main() -> ExitCode {
    eprintln!("soak: processes are paused by signals, which this system does not have");
    ExitCode::FAILURE
}
