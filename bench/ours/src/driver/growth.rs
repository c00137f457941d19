//! What a unit of work costs as something else grows.

use bench_harness::{Case, Workload, stats};

use super::arguments::Arguments;
use super::figures::{Figures, Growth};
use super::programs::{Place, Programs};
use super::seeded::Seed;

/// Names of what the cost is held against.
pub(crate) const HISTORY: &str = "history length";
pub(crate) const WAITING: &str = "waiting instances";
pub(crate) const FINISHED: &str = "finished instances";
pub(crate) const NODES: &str = "nodes on one store";

/// Workflows of five steps in one measurement, and measurements of each point.
const WORKFLOWS: u64 = 500;
const ROUNDS: usize = 3;

/// Measures all of them.
pub(crate) fn run(arguments: &Arguments, programs: &Programs, figures: &mut Figures) {
    if !arguments.wants("growth") {
        return;
    }
    let mut parts = vec![history(programs, arguments.quick)];
    // Stores have to be filled first, which takes longer than a quick run may.
    if !arguments.quick {
        parts.push(seeded(programs, "finished", FINISHED, &[10, 10_000, 1_000_000]));
        parts.push(seeded(programs, "waiting", WAITING, &[10, 1_000, 100_000]));
        parts.push(nodes(programs));
    }
    for part in parts {
        match part {
            Ok(growth) => figures.growth.push(growth),
            Err(reason) => figures.broken.push(format!("growth: {reason}")),
        }
    }
}

fn history(programs: &Programs, quick: bool) -> Result<Growth, String> {
    eprintln!("bench: growth against {HISTORY}");
    let sizes: &[u64] = if quick { &[100, 1_000, 3_000] } else { &[100, 1_000, 10_000] };
    let mut points = Vec::new();
    for size in sizes {
        let case = Case { workload: Workload::Chain, size: *size };
        points.push((*size as f64, cost(programs, "ours", case, |_round| Place::default())?));
    }
    Ok(Growth::new(HISTORY, points))
}

// The store is made once and used for all rounds: a round adds little to what it holds.
fn seeded(
    programs: &Programs,
    kind: &str,
    against: &str,
    counts: &[u64],
) -> Result<Growth, String> {
    let case = Case { workload: Workload::Small50, size: WORKFLOWS };
    let mut stores = Vec::new();
    for count in counts {
        eprintln!("bench: growth against {against}: a store with {count}");
        stores.push((*count, Seed::make(programs, kind, *count)?));
    }
    // In turn, so that a busy moment of the machine meets all sizes alike.
    let mut times = vec![Vec::new(); stores.len()];
    for round in 0..ROUNDS {
        for (at, (_, seed)) in stores.iter().enumerate() {
            let prefix = Some(format!("r{round}"));
            let place = Place { folder: Some(seed.folder().to_owned()), prefix };
            times[at].push(once(programs, "ours", case, &place)?);
        }
    }
    let points = stores.iter().zip(&times);
    let points = points.map(|((count, _), times)| (*count as f64, stats::median(times)));
    Ok(Growth::new(against, points.collect()))
}

fn nodes(programs: &Programs) -> Result<Growth, String> {
    eprintln!("bench: growth against {NODES}");
    let case = Case { workload: Workload::Small50, size: WORKFLOWS };
    let mut points = Vec::new();
    for (nodes, engine) in [(1.0, "ours"), (2.0, "ours-2-nodes"), (4.0, "ours-4-nodes")] {
        points.push((nodes, cost(programs, engine, case, |_round| Place::default())?));
    }
    Ok(Growth::new(NODES, points))
}

fn cost(
    programs: &Programs,
    engine: &str,
    case: Case,
    place: impl Fn(usize) -> Place,
) -> Result<f64, String> {
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        times.push(once(programs, engine, case, &place(round))?);
    }
    Ok(stats::median(&times))
}

/// Milliseconds for one unit.
fn once(programs: &Programs, engine: &str, case: Case, place: &Place) -> Result<f64, String> {
    let sample = programs.run(engine, case, place)?;
    if let Some(failure) = sample.failure {
        return Err(failure);
    }
    Ok(1e3 / sample.rate())
}
