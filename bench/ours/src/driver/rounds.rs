//! The engines run side by side, in another order each round.

use std::time::{Duration, Instant};

use bench_harness::{Case, Sample, Workload};

use super::arguments::Arguments;
use super::figures::Figures;
use super::plan::{ROWS, Row};
use super::programs::{Place, Programs};
use super::seeded::Seed;

const QUICK_ROUNDS: usize = 3;

/// Time for all rows. Every row gets one round and its share of the rest, so that a busy machine
/// gives fewer rounds and not a longer run.
const TIME: Duration = Duration::from_secs(11 * 60);
const TIME_QUICK: Duration = Duration::from_secs(2 * 60);

/// So many waiting instances are put into a store of ours instead of being started there.
const SEEDED_MIN: u64 = 10_000;

/// Keeps hardly any execution between turns.
const EVICTING: &str = "ours-evicting";
/// Counts statements: an engine of its own, because counting costs a little.
const COUNTING: &str = "ours-counting";
/// The peer in a setting that only the main rows need.
const LEGACY_TUNED: &str = "duroxide-0.1.32-10ms";

/// Rows that the floor is written for.
const FLOOR_ROWS: &[&str] = &["small-50", "chain-1000", "fan-out-1000"];
/// Rows whose statements are counted.
const COUNTED_ROWS: &[&str] = &["small-50", "chain-1000", "fan-out-1000", "idle-0", "idle-100000"];
/// Rows with targets against 0.1.32.
const MAIN_ROWS: &[&str] = &["small-50", "latency", "chain-1000", "fan-out-1000"];

/// Runs all rows that are wanted.
pub(crate) fn run(arguments: &Arguments, programs: &Programs, figures: &mut Figures) {
    let wanted =
        |row: &&Row| arguments.wants(row.name) && !(arguments.quick && row.quick.is_none());
    let rows: Vec<&Row> = ROWS.iter().filter(wanted).collect();
    let mut left = if arguments.quick { TIME_QUICK } else { TIME };
    for (at, row) in rows.iter().enumerate() {
        let begun = Instant::now();
        let share = left / u32::try_from(rows.len() - at).unwrap_or(1);
        for round in 0..rounds_of(row, arguments) {
            let late = begun.elapsed() >= share && arguments.rounds.is_none();
            if late && round > 0 {
                break;
            }
            eprintln!("bench: {} round {}", row.name, round + 1);
            one_round(row, round, arguments, programs, figures);
        }
        left = left.saturating_sub(begun.elapsed());
    }
}

fn one_round(
    row: &Row,
    round: usize,
    arguments: &Arguments,
    programs: &Programs,
    figures: &mut Figures,
) {
    let engines = engines_of(row, arguments, round);
    // What comes first may profit from a quiet disk: nobody always comes first.
    for turn in 0..engines.len() {
        let engine = &engines[(turn + round) % engines.len()];
        let Some(size) = row.size_for(engine, arguments.quick) else { continue };
        let case = Case { workload: row.workload, size };
        match run_case(programs, engine, case) {
            Ok(sample) => figures.add(row.name, sample),
            Err(reason) => figures.broken.push(format!("{} {engine}: {reason}", row.name)),
        }
    }
}

fn run_case(programs: &Programs, engine: &str, case: Case) -> Result<Sample, String> {
    let seeded = case.workload == Workload::Idle && case.size >= SEEDED_MIN;
    if !seeded {
        return programs.run(engine, case, &Place::default());
    }
    let seed = Seed::make(programs, "waiting", case.size)?;
    let place = Place { folder: Some(seed.folder().to_owned()), prefix: None };
    let sample = programs.run(engine, Case { size: 0, ..case }, &place)?;
    Ok(Sample { size: case.size, count: case.size, ..sample })
}

fn engines_of(row: &Row, arguments: &Arguments, round: usize) -> Vec<String> {
    let mut engines = arguments.engines.clone();
    if !MAIN_ROWS.contains(&row.name) {
        engines.retain(|engine| engine != LEGACY_TUNED);
    }
    if arguments.on_postgres() {
        if FLOOR_ROWS.contains(&row.name) {
            engines.push(crate::floor::POSTGRES.to_owned());
        }
        return engines;
    }
    if COUNTED_ROWS.contains(&row.name) && round == 0 {
        engines.push(COUNTING.to_owned());
    }
    if FLOOR_ROWS.contains(&row.name) {
        engines.push(crate::floor::SQLITE.to_owned());
    }
    if row.name == "memory-4000" {
        engines.push(EVICTING.to_owned());
    }
    engines
}

fn rounds_of(row: &Row, arguments: &Arguments) -> usize {
    let quick = if arguments.quick { QUICK_ROUNDS } else { usize::MAX };
    arguments.rounds.unwrap_or_else(|| row.rounds.min(quick))
}
