//! The engines run side by side, in another order each round.

use bench_harness::Case;

use super::arguments::Arguments;
use super::figures::Figures;
use super::plan::{ROWS, Row};
use super::programs::{Place, Programs};

const QUICK_ROUNDS: usize = 3;

/// Keeps hardly any execution between turns.
const EVICTING: &str = "ours-evicting";

/// Rows that the floor is written for.
const FLOOR_ROWS: &[&str] = &["small-50", "chain-1000", "fan-out-1000"];

/// Rows whose statements are counted, by an engine of its own: counting costs a little.
const COUNTED_ROWS: &[&str] = &["small-50", "chain-1000", "fan-out-1000", "idle-0", "idle-100000"];

/// Runs all rows that are wanted.
pub(crate) fn run(arguments: &Arguments, programs: &Programs, figures: &mut Figures) {
    for row in ROWS.iter().filter(|row| arguments.wants(row.name)) {
        if arguments.quick && row.quick.is_none() {
            continue;
        }
        for round in 0..rounds_of(row, arguments) {
            eprintln!("bench: {} round {}", row.name, round + 1);
            let engines = engines_of(row, arguments, round);
            // What comes first may profit from a quiet disk: nobody always comes first.
            for turn in 0..engines.len() {
                let engine = &engines[(turn + round) % engines.len()];
                let size = row.size_for(engine, arguments.quick);
                let Some(size) = size else { continue };
                let case = Case { workload: row.workload, size };
                match programs.run(engine, case, &Place::default()) {
                    Ok(sample) => figures.add(row.name, sample),
                    Err(reason) => {
                        figures.broken.push(format!("{} {engine}: {reason}", row.name));
                    }
                }
            }
        }
    }
}

fn engines_of(row: &Row, arguments: &Arguments, round: usize) -> Vec<String> {
    let mut engines = arguments.engines.clone();
    if arguments.on_postgres() {
        if FLOOR_ROWS.contains(&row.name) {
            engines.push(crate::floor_postgres::NAME.to_owned());
        }
        return engines;
    }
    if COUNTED_ROWS.contains(&row.name) && round == 0 {
        engines.push("ours-counting".to_owned());
    }
    if FLOOR_ROWS.contains(&row.name) {
        engines.push(crate::floor::NAME.to_owned());
    }
    match row.name {
        "memory-4000" => engines.push(EVICTING.to_owned()),
        "memory-60000" => engines = vec![EVICTING.to_owned()],
        _ => (),
    }
    engines
}

fn rounds_of(row: &Row, arguments: &Arguments) -> usize {
    let quick = if arguments.quick { QUICK_ROUNDS } else { usize::MAX };
    arguments.rounds.unwrap_or_else(|| row.rounds.min(quick))
}
