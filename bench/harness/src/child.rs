//! The program that runs one workload once: `run --engine E --workload W --size N`.

use std::process::ExitCode;

use crate::options::Options;
use crate::{Case, Opener, Sample, Workload, workloads};

/// Runs what the arguments say and prints the sample as one line of JSON.
///
/// # Errors
/// When the arguments make no sense or the engine cannot be started.
pub fn main(openers: &[&dyn Opener], arguments: Vec<String>) -> ExitCode {
    match run(openers, arguments) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("bench: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn run(openers: &[&dyn Opener], arguments: Vec<String>) -> Result<String, String> {
    let mut options = Options::new(arguments);
    let name = options.required("--engine")?;
    let workload = Workload::named(&options.required("--workload")?)?;
    let size = options.number("--size")?.ok_or("--size is missing")?;
    options.done()?;
    let found = openers.iter().find(|opener| opener.name() == name);
    let opener = *found.ok_or_else(|| format!("no engine {name}"))?;
    let sample = sample(opener, Case { workload, size })?;
    serde_json::to_string(&sample).map_err(|error| error.to_string())
}

/// Runs one case on a store in a folder of its own.
///
/// # Errors
/// When the engine cannot be started.
pub fn sample(opener: &dyn Opener, case: Case) -> Result<Sample, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.enable_all().build().map_err(|error| error.to_string())?;
    let sample = runtime.block_on(workloads::run(opener, folder.path(), case));
    runtime.shutdown_timeout(std::time::Duration::from_secs(5));
    sample
}
