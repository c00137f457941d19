//! How the cost of a unit of work grows with the size of something else.

use std::time::{Duration, Instant};

use bench_harness::{Case, Workload, stats};

use super::arguments::Arguments;
use super::figures::{Figures, Growth};
use super::programs::{Programs, RunOptions};
use super::seeded::Seed;
use super::stores::Store;

/// What grows.
const HISTORY: &str = "history length";
const WAITING: &str = "waiting instances";
pub(crate) const FINISHED: &str = "finished instances";
const NODES: &str = "nodes on one store";
/// Backlogs that the node may not claim: the kind of the store, what grows, and how far.
pub(crate) const BACKLOGS: [(&str, &str, &[u64]); 4] = [
    ("foreign-pins", "instances pinned to another version", &[10, 1_000, 100_000]),
    ("leased-instance", "messages of an instance leased elsewhere", &[10, 1_000, 100_000]),
    ("foreign-session", "activities of a session owned elsewhere", &[10, 400, 4_000]),
    ("parked", "parked messages", &[10, 1_000, 10_000]),
];

/// Workflows of five steps in one measurement, and measurements of each point.
const WORKFLOWS: u64 = 500;
const ROUNDS: usize = 3;

/// Time limit of all measurements. Filling the stores and the first round are not limited.
const TIME: Duration = Duration::from_secs(2 * 60);

/// How many of what grows, and the row and the engine that measure it.
type Point = (f64, &'static str, &'static str);

/// Derives growth from the rows of a store and measures the rest.
pub(crate) fn run(store: Store, arguments: &Arguments, programs: &Programs, figures: &mut Figures) {
    let ours = store.ours();
    let chains =
        [(100.0, "chain-100", ours), (1e3, "chain-1000", ours), (1e4, "chain-10000", ours)];
    figures.growth.extend(from_rows(HISTORY, store, &chains, figures));
    match store {
        Store::Sqlite if arguments.quick || !arguments.selects_case("growth") => {}
        // Filling the stores takes longer than a quick run allows.
        Store::Sqlite => measure(programs, figures),
        Store::Postgres => {
            let nodes = [(1.0, "small-50", ours), (2.0, "small-50", "ours-pg-2-nodes")];
            figures.growth.extend(from_rows(NODES, store, &nodes, figures));
        }
    }
}

fn from_rows(
    against: &'static str,
    store: Store,
    points: &[Point],
    figures: &Figures,
) -> Option<Growth> {
    let cost = |row, engine| figures.cell(row, engine).map(|cell| 1e3 / cell.rate());
    let points = points.iter().map(|(count, row, engine)| Some((*count, cost(row, engine)?)));
    Some(Growth::new(against, store, points.collect::<Option<_>>()?))
}

fn measure(programs: &Programs, figures: &mut Figures) {
    let until = Instant::now() + TIME;
    let mut parts = vec![
        seeded(programs, "finished", FINISHED, &[10, 10_000, 1_000_000], until),
        seeded(programs, "waiting", WAITING, &[10, 1_000, 100_000], until),
        nodes(programs, until),
    ];
    let backlogs = BACKLOGS.iter();
    parts.extend(
        backlogs.map(|(kind, against, counts)| seeded(programs, kind, against, counts, until)),
    );
    for part in parts {
        match part {
            Ok(growth) => figures.growth.push(growth),
            Err(reason) => figures.broken.push(format!("growth: {reason}")),
        }
    }
}

// All rounds use the same store: a round adds few rows to it.
fn seeded(
    programs: &Programs,
    kind: &str,
    against: &'static str,
    counts: &[u64],
    until: Instant,
) -> Result<Growth, String> {
    let mut stores = Vec::new();
    for count in counts {
        eprintln!("bench: growth against {against}: a store with {count}");
        stores.push((*count as f64, Seed::make(programs, kind, *count)?));
    }
    let points = medians(&stores, until, |seed, round| {
        let prefix = Some(format!("r{round}"));
        let options = RunOptions { folder: Some(seed.folder().to_owned()), prefix };
        once(programs, Store::Sqlite.ours(), &options)
    });
    Ok(Growth::new(against, Store::Sqlite, points?))
}

fn nodes(programs: &Programs, until: Instant) -> Result<Growth, String> {
    eprintln!("bench: growth against {NODES}");
    let engines = [(1.0, "ours"), (2.0, "ours-2-nodes"), (4.0, "ours-4-nodes")];
    let points =
        medians(&engines, until, |engine, _round| once(programs, engine, &RunOptions::default()));
    Ok(Growth::new(NODES, Store::Sqlite, points?))
}

// Measures the points in turn, so that a busy moment of the machine affects all points alike.
fn medians<T>(
    points: &[(f64, T)],
    until: Instant,
    measure: impl Fn(&T, usize) -> Result<f64, String>,
) -> Result<Vec<(f64, f64)>, String> {
    let mut times = vec![Vec::new(); points.len()];
    for round in 0..ROUNDS {
        if round > 0 && Instant::now() >= until {
            break;
        }
        for ((_, point), times) in points.iter().zip(&mut times) {
            times.push(measure(point, round)?);
        }
    }
    let points = points.iter().zip(&times);
    Ok(points.map(|((count, _), times)| (*count, stats::median(times))).collect())
}

/// Milliseconds for one workflow.
fn once(programs: &Programs, engine: &str, options: &RunOptions) -> Result<f64, String> {
    let case = Case { workload: Workload::Small50, size: WORKFLOWS };
    let sample = programs.run(engine, case, options)?;
    if let Some(failure) = sample.failure {
        return Err(failure);
    }
    Ok(1e3 / sample.rate())
}
