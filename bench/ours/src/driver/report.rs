//! The whole run: measure, print, judge.

use std::process::ExitCode;
use std::time::Instant;

use super::arguments::Arguments;
use super::figures::Figures;
use super::programs::Programs;
use super::targets::{Target, postgres_targets, targets};
use super::{growth, json, rounds, table, targets as target_table};
use crate::floor;

/// Runs the driver.
pub(crate) fn main(arguments: Vec<String>) -> ExitCode {
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("bench: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Vec<String>) -> Result<(), String> {
    let begun = Instant::now();
    let arguments = Arguments::read(arguments)?;
    let programs = Programs::find(&arguments)?;
    let on_postgres = arguments.on_postgres();
    let names = if on_postgres { ("ours-pg", floor::POSTGRES) } else { ("ours", floor::SQLITE) };
    let mut figures = Figures::new(names.0, names.1);
    rounds::run(&arguments, &programs, &mut figures);
    growth::run(&arguments, &programs, &mut figures);
    let targets = if on_postgres { postgres_targets(&figures) } else { targets(&figures) };

    println!("{}", table::rows(&figures));
    println!("{}", table::details(&figures));
    if !figures.growth.is_empty() {
        println!("{}", table::growth(&figures));
    }
    println!("{}", target_table::table(&targets));
    json::write(&arguments.json, &figures, &targets)?;
    eprintln!(
        "bench: {:.0} s; figures in {}",
        begun.elapsed().as_secs_f64(),
        arguments.json.display()
    );
    judge(&arguments, &figures, &targets)
}

// A peer that fails is shown; that we fail is an error.
fn judge(arguments: &Arguments, figures: &Figures, targets: &[Target]) -> Result<(), String> {
    for broken in &figures.broken {
        eprintln!("bench: no figure: {broken}");
    }
    for cell in figures.cells.iter().filter(|cell| cell.failed() > 0) {
        let failure = cell.failure().unwrap_or_default();
        eprintln!("bench: {} {}: {} failed: {failure}", cell.row, cell.engine, cell.failed());
    }
    let is_ours = |engine: &str| engine.starts_with("ours");
    let failed = figures.cells.iter().any(|cell| is_ours(&cell.engine) && cell.failed() > 0);
    let broken =
        figures.broken.iter().any(|text| text.contains(" ours") || text.contains("growth"));
    if failed || broken {
        return Err("a workflow of ours failed or was lost".to_owned());
    }
    let missed = targets.iter().filter(|target| target.met() == Some(false)).count();
    if arguments.strict && missed > 0 {
        return Err(format!("{missed} targets missed"));
    }
    Ok(())
}
