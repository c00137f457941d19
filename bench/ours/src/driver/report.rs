//! The whole run: measures, prints and checks the targets.

use std::process::ExitCode;
use std::time::Instant;

use super::arguments::Arguments;
use super::figures::Figures;
use super::programs::Programs;
use super::rounds::{Rounds, rows_on};
use super::stores::Store;
use super::targets::{Target, targets};
use super::{growth, json, table, targets as target_table};

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
    let arguments = Arguments::read(arguments)?;
    let stores: Vec<Store> =
        Store::ALL.iter().copied().filter(|store| is_measured(*store, &arguments)).collect();
    let started = Instant::now();
    let mut programs = Programs::find(&arguments, &stores)?;
    eprintln!("bench: everything is built after {:.0} s", started.elapsed().as_secs_f64());

    let started = Instant::now();
    let mut figures = Figures::default();
    for store in &stores {
        measure(*store, &arguments, &mut programs, &mut figures);
    }
    let targets: Vec<Target> = stores.iter().flat_map(|store| targets(*store, &figures)).collect();
    let seconds = started.elapsed().as_secs_f64();

    println!("{}", table::rows(&figures));
    println!("{}", table::details(&figures));
    if !figures.growth.is_empty() {
        println!("{}", table::growth(&figures));
    }
    println!("{}", table::columns(&figures));
    println!("{}", target_table::table(&targets));
    json::write(&arguments.json, &figures, &targets)?;
    eprintln!("bench: measured in {seconds:.0} s; figures in {}", arguments.json.display());
    judge(&arguments, &figures, &targets)
}

fn is_measured(store: Store, arguments: &Arguments) -> bool {
    if let Some(selected) = arguments.selects(store) {
        return selected;
    }
    let why = match store {
        Store::Sqlite => return true,
        Store::Postgres if arguments.quick => "a quick run has no time for it",
        Store::Postgres if duroxide_pg_server::find().is_none() => "its server is not installed",
        Store::Postgres => return true,
    };
    eprintln!("bench: {} is left out: {why}; --store {} includes it", store.title(), store.name());
    false
}

fn measure(store: Store, arguments: &Arguments, programs: &mut Programs, figures: &mut Figures) {
    let has_work = !rows_on(store, arguments).is_empty() || growth::is_measured(arguments);
    if store == Store::Postgres && has_work {
        // Started last: a running server would disturb the measurements on another store.
        if let Err(reason) = programs.start_server() {
            figures.broken.push(format!("{} of ours: {reason}", store.title()));
            return;
        }
    }
    Rounds { store, arguments, programs }.run(figures);
    growth::run(store, arguments, programs, figures);
}

// A failing peer is reported; a failure of this project is an error.
fn judge(arguments: &Arguments, figures: &Figures, targets: &[Target]) -> Result<(), String> {
    for row in &figures.left_out {
        eprintln!("bench: no time was left for {row}");
    }
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
