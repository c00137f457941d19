//! `cargo xtask gate [--bless]`: counts instructions and allocations of the hot paths and compares
//! them with the stored figures. Counts do not depend on how busy the machine is.

mod compare;
mod count;
mod figures;
mod valgrind;

use crate::bench::{self, BUILT};
use crate::step::{Step, announce, root};
use figures::Figures;

/// The profile of bench/Cargo.toml whose code does not depend on the path of the checkout.
const PROFILE: &str = "gate";
/// The stored figures.
const STORED: &str = "bench/gate/figures.txt";

/// Compares the counts with the stored figures, or stores them with `--bless`.
pub(crate) fn run() -> Result<(), String> {
    let bless = std::env::args().skip(2).any(|argument| argument == "--bless");
    valgrind::require()?;
    Step { name: "gate", cargo: &bench::cargo("build", "gate", PROFILE), env: &[] }.run()?;
    let path = root().join(STORED);
    let found = count::all(&root().join(BUILT).join(PROFILE))?;
    if bless {
        announce(&format!("gate: storing {STORED}"));
        return std::fs::write(&path, found.text()).map_err(|error| format!("{STORED}: {error}"));
    }
    let stored = std::fs::read_to_string(&path).map_err(|error| format!("{STORED}: {error}"))?;
    compare::all(&Figures::read(&stored)?, &found)
}
