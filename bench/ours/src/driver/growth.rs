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

/// What grows in stores that are filled for it.
pub(crate) struct Filled {
    /// Kind of the store.
    kind: &'static str,
    /// Name in tables.
    pub(crate) against: &'static str,
    /// How far it grows.
    pub(crate) counts: [u64; 3],
}

const fn filled(kind: &'static str, against: &'static str, counts: [u64; 3]) -> Filled {
    Filled { kind, against, counts }
}

const INSTANCES: [Filled; 2] = [
    filled("finished", FINISHED, [10, 10_000, 1_000_000]),
    filled("waiting", WAITING, [10, 1_000, 100_000]),
];

/// Backlogs that the node may not claim.
pub(crate) const BACKLOGS: [Filled; 4] = [
    filled("foreign-pins", "instances pinned to another version", [10, 1_000, 100_000]),
    filled("leased-instance", "messages of an instance leased elsewhere", [10, 1_000, 100_000]),
    filled("foreign-session", "activities of a session owned elsewhere", [10, 400, 4_000]),
    filled("parked", "parked messages", [10, 1_000, 10_000]),
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
    if store == Store::Postgres {
        let nodes = [(1.0, "small-50", ours), (2.0, "small-50", "ours-pg-2-nodes")];
        figures.growth.extend(from_rows(NODES, store, &nodes, figures));
    }
    if is_measured(arguments) {
        measure(store, programs, figures);
    }
}

/// Whether stores are filled for it, which takes longer than a quick run allows.
pub(crate) fn is_measured(arguments: &Arguments) -> bool {
    !arguments.quick && arguments.selects_case("growth")
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

fn measure(store: Store, programs: &Programs, figures: &mut Figures) {
    let until = Instant::now() + TIME;
    let growth = |filled| growth_of(filled, store, programs, until);
    let mut parts = Vec::new();
    if store == Store::Sqlite {
        parts.extend(INSTANCES.iter().map(growth));
        parts.push(nodes(programs, until));
    }
    parts.extend(BACKLOGS.iter().map(growth));
    for part in parts {
        match part {
            Ok(growth) => figures.growth.push(growth),
            Err(reason) => figures.broken.push(format!("growth: {reason}")),
        }
    }
}

// All rounds use the same store: a round adds few rows to it.
fn growth_of(
    filled: &Filled,
    store: Store,
    programs: &Programs,
    until: Instant,
) -> Result<Growth, String> {
    let Filled { kind, against, counts } = filled;
    let mut stores = Vec::new();
    for count in counts {
        eprintln!("bench: growth against {against} on {}: {count}", store.title());
        stores.push((*count as f64, Seed::make(programs, store, kind, *count)?));
    }
    let points = medians(&stores, until, |seed, round| {
        let prefix = Some(format!("r{round}"));
        let options = RunOptions { folder: Some(seed.folder().to_owned()), prefix };
        once(programs, store.ours(), &options)
    });
    Ok(Growth::new(against, store, points?))
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
