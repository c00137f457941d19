//! The list of programs.

use super::{engine, sqlite};

/// A hot path.
#[derive(Debug)]
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// The smaller of the counts that are compared.
    pub few: u64,
    /// The larger.
    pub many: u64,
    /// How often each is counted; the smallest count is used.
    pub rounds: u64,
    /// Prepares, calls the function, and repeats the operation this often.
    pub run: Run,
}

type Run = fn(u64, &mut dyn FnMut()) -> Result<(), String>;

/// All of them.
pub const PROGRAMS: &[Program] = &[
    engine("engine-warm-step", 500, 1500, engine::warm_step),
    engine("engine-cold-replay-1000", 2, 12, engine::cold_replay),
    engine("engine-fan-out-1000", 2, 12, engine::fan_out),
    store("sqlite-commit-turn", sqlite::commit),
    store("sqlite-fetch-turn", sqlite::fetch),
    store("sqlite-activity", sqlite::activity),
];

// One thread and no randomness: every run counts the same.
const fn engine(name: &'static str, few: u64, many: u64, run: Run) -> Program {
    Program { name, few, many, rounds: 1, run }
}

// Random tokens and thread switches change a count by one or two percent.
const fn store(name: &'static str, run: Run) -> Program {
    Program { name, few: 50, many: sqlite::PREPARED, rounds: 3, run }
}
