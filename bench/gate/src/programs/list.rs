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
    /// Prepares, calls the function, and does the operation this often.
    pub run: fn(u64, &mut dyn FnMut()) -> Result<(), String>,
}

/// All of them.
pub const PROGRAMS: &[Program] = &[
    Program { name: "engine-warm-step", few: 500, many: 1500, run: engine::warm_step },
    Program { name: "engine-cold-replay-1000", few: 2, many: 12, run: engine::cold_replay },
    Program { name: "engine-fan-out-1000", few: 2, many: 12, run: engine::fan_out },
    Program { name: "sqlite-commit-turn", few: 100, many: sqlite::PREPARED, run: sqlite::commit },
    Program { name: "sqlite-fetch-turn", few: 100, many: sqlite::PREPARED, run: sqlite::fetch },
    Program { name: "sqlite-activity", few: 100, many: sqlite::PREPARED, run: sqlite::activity },
];
