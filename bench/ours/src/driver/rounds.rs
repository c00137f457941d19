//! Runs the engines in turn, in a different order each round.

use std::time::{Duration, Instant};

use bench_harness::{Case, Sample, Workload};

use super::arguments::Arguments;
use super::budget::Budget;
use super::figures::Figures;
use super::plan::{FLOOR_ROWS, ROWS, Row};
use super::programs::{Programs, RunOptions};
use super::seeded::Seed;
use super::stores::Store;

/// From this many waiting instances on, the store is seeded instead of starting them.
const SEEDED_MIN: u64 = 10_000;

/// Keeps few executions in memory between turns.
const EVICTING: &str = "ours-evicting";
/// Counts statements; a separate engine, because counting costs a little time.
pub(crate) const COUNTING: &str = "ours-counting";
/// The peer with settings that only the main rows measure.
const LEGACY_TUNED: &str = "duroxide-0.1.32-10ms";

/// Rows whose statements are counted.
const COUNTED_ROWS: &[&str] = &["small-50", "chain-1000", "fan-out-1000", "idle-0", "idle-100000"];

/// The rounds on one store.
pub(crate) struct Rounds<'a> {
    /// The store.
    pub(crate) store: Store,
    /// The choices of the user.
    pub(crate) arguments: &'a Arguments,
    /// The programs of the engines.
    pub(crate) programs: &'a Programs,
}

impl Rounds<'_> {
    /// Runs all selected rows.
    pub(crate) fn run(&self, figures: &mut Figures) {
        let rows = rows_on(self.store, self.arguments);
        let budget = Budget::of(self.store, self.arguments.quick, self.arguments.rounds);
        let left_out = budget.spend(&rows, |row, round| self.run_round(row, round, figures));
        let left_out = left_out.iter().map(|row| format!("{row} on {}", self.store.title()));
        figures.left_out.extend(left_out);
    }

    // Returns the duration.
    fn run_round(&self, row: &Row, round: usize, figures: &mut Figures) -> Duration {
        let started = Instant::now();
        let mut times = Vec::new();
        let engines = self.engines_of(row, round);
        // The first engine may profit from an idle disk, so each round starts with another engine.
        for turn in 0..engines.len() {
            let engine = &engines[(turn + round) % engines.len()];
            let Some(size) = row.size_for(engine, self.arguments.quick) else { continue };
            let case = Case { workload: row.workload, size };
            let started = Instant::now();
            match self.run_case(engine, case) {
                Ok(sample) => figures.add(row.name, sample),
                Err(reason) => figures.broken.push(format!("{} {engine}: {reason}", row.name)),
            }
            times.push(format!("{engine} {:.1}", started.elapsed().as_secs_f64()));
        }
        let elapsed = started.elapsed();
        let (seconds, times) = (elapsed.as_secs_f64(), times.join(", "));
        eprintln!("bench: {} round {}: {seconds:.1} s ({times})", row.name, round + 1);
        elapsed
    }

    fn run_case(&self, engine: &str, case: Case) -> Result<Sample, String> {
        let seeded = case.workload == Workload::Idle && case.size >= SEEDED_MIN;
        if !seeded {
            return self.programs.run(engine, case, &RunOptions::default());
        }
        let seed = Seed::make(self.programs, self.store, "waiting", case.size)?;
        let options = RunOptions { folder: Some(seed.folder().to_owned()), prefix: None };
        let sample = self.programs.run(engine, Case { size: 0, ..case }, &options)?;
        Ok(Sample { size: case.size, count: case.size, ..sample })
    }

    fn engines_of(&self, row: &Row, round: usize) -> Vec<String> {
        let mut engines = self.arguments.engines_on(self.store);
        if !row.is_main() {
            engines.retain(|engine| engine != LEGACY_TUNED);
        }
        if FLOOR_ROWS.contains(&row.name) {
            engines.push(self.store.floor().to_owned());
        }
        if self.store == Store::Sqlite && COUNTED_ROWS.contains(&row.name) && round == 0 {
            engines.push(COUNTING.to_owned());
        }
        if row.name == "memory-4000" {
            engines.push(EVICTING.to_owned());
        }
        engines
    }
}

/// The selected rows of a store.
pub(crate) fn rows_on(store: Store, arguments: &Arguments) -> Vec<&'static Row> {
    let is_in_time = |row: &Row| !arguments.quick || row.quick.is_some();
    let is_selected =
        |row: &&Row| row.is_on(store) && arguments.selects_case(row.name) && is_in_time(row);
    ROWS.iter().filter(is_selected).collect()
}
