//! What must be reached, and whether it is.

use serde::Serialize;

use super::figures::Figures;
use super::growth::FINISHED;
use super::table::readable;

/// One line of the target table.
#[derive(Debug, Serialize)]
pub(crate) struct Target {
    name: String,
    bound: Bound,
    /// `None` if the run did not measure it.
    measured: Option<f64>,
}

/// A limit from below or above.
#[derive(Debug, Clone, Copy, Serialize)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

const LEGACY: &str = "duroxide-0.1.32";
const DURARE: &str = "durare";
const LEGACY_PG: &str = "duroxide-0.1.32-pg";
const DBOS: &str = "dbos";

/// Memory below this is none: less than an id.
const BYTES_NONE: f64 = 16.0;

/// The table of targets on PostgreSQL.
pub(crate) fn postgres_targets(figures: &Figures) -> Vec<Target> {
    use Bound::{AtLeast, AtMost};
    let ratio = |row, engine| ratio(figures, row, engine);
    let target = |name: &str, bound, measured| Target { name: name.to_owned(), bound, measured };
    let mut all = vec![
        target("5-step, 50 at a time, × 0.1.32", AtLeast(15.0), ratio("small-50", LEGACY_PG)),
        target("5-step, 50 at a time, × dbos", AtLeast(1.5), ratio("small-50", DBOS)),
        target("latency of one step / 0.1.32", AtMost(0.025), ratio("latency", LEGACY_PG)),
        target("latency of one step / dbos", AtMost(1.0), ratio("latency", DBOS)),
        target("chain of 1,000, × 0.1.32", AtLeast(100.0), ratio("chain-1000", LEGACY_PG)),
        target("chain of 1,000, × dbos", AtLeast(1.0), ratio("chain-1000", DBOS)),
        target("fan-out 1,000, × 0.1.32", AtLeast(15.0), ratio("fan-out-1000", LEGACY_PG)),
        target("cost per step at 10,000 / at 100", AtMost(1.3), long_chain(figures)),
    ];
    for row in ["small-50", "chain-1000", "fan-out-1000"] {
        let share = ratio(row, figures.floor);
        all.push(target(&format!("share of the floor, {row}"), AtLeast(0.4), share));
    }
    all
}

/// The table of targets on SQLite.
pub(crate) fn targets(figures: &Figures) -> Vec<Target> {
    use Bound::{AtLeast, AtMost};
    let ratio = |row, engine| ratio(figures, row, engine);
    let target = |name: &str, bound, measured| Target { name: name.to_owned(), bound, measured };
    let mut all = vec![
        target("5-step, 50 at a time, × 0.1.32", AtLeast(50.0), ratio("small-50", LEGACY)),
        target("5-step, 50 at a time, × durare FULL", AtLeast(3.0), ratio("small-50", DURARE)),
        target("latency of one step / 0.1.32", AtMost(0.02), ratio("latency", LEGACY)),
        target("latency of one step / durare FULL", AtMost(1.0), ratio("latency", DURARE)),
        target("chain of 1,000, × 0.1.32", AtLeast(100.0), ratio("chain-1000", LEGACY)),
        target("chain of 1,000, × durare FULL", AtLeast(1.2), ratio("chain-1000", DURARE)),
        target("fan-out 1,000, × 0.1.32", AtLeast(30.0), ratio("fan-out-1000", LEGACY)),
        target("fan-out 1,000, × durare FULL", AtLeast(2.0), ratio("fan-out-1000", DURARE)),
        target("cost per step at 10,000 / at 100", AtMost(1.3), long_chain(figures)),
        target(
            "5-step with 1,000,000 finished / with ten",
            AtMost(1.3),
            figures.growth(FINISHED).and_then(super::figures::Growth::factor),
        ),
    ];
    for row in ["small-50", "chain-1000", "fan-out-1000"] {
        let share = ratio(row, figures.floor);
        all.push(target(&format!("share of the floor, {row}"), AtLeast(0.4), share));
    }
    for row in ["idle-0", "idle-100000"] {
        let figure = |engine, name| figures.cell(row, engine).and_then(|cell| cell.figure(name));
        let core = figure("ours", "core_percent");
        let statements = figure("ours-counting", "statements_per_second");
        all.push(target(&format!("{row}: percent of a core"), AtMost(0.5), core));
        all.push(target(&format!("{row}: statements/s"), AtMost(2.0), statements));
    }
    all.push(target("bytes per waiting, evicted instance", AtMost(BYTES_NONE), evicted(figures)));
    all
}

fn ratio(figures: &Figures, row: &str, engine: &str) -> Option<f64> {
    let ours = figures.cell(row, figures.ours)?.headline();
    let other = figures.cell(row, engine)?.headline();
    (other > 0.0).then(|| ours / other)
}

// Growth from 100,000 to 400,000: a page cache with a bound is full in both.
fn evicted(figures: &Figures) -> Option<f64> {
    let resident = |row| figures.cell(row, "ours").and_then(|cell| cell.figure("resident_bytes"));
    Some((resident("idle-400000")? - resident("idle-100000")?) / 300_000.0)
}

fn long_chain(figures: &Figures) -> Option<f64> {
    let long = figures.cell("chain-10000", figures.ours)?.rate();
    let short = figures.cell("chain-100", figures.ours)?.rate();
    (long > 0.0).then(|| short / long)
}

impl Target {
    /// Whether it is reached; `None` if it was not measured.
    pub(crate) fn met(&self) -> Option<bool> {
        let measured = self.measured?;
        Some(match self.bound {
            Bound::AtLeast(bound) => measured >= bound,
            Bound::AtMost(bound) => measured <= bound,
        })
    }
}

/// The targets as a table in Markdown.
pub(crate) fn table(targets: &[Target]) -> String {
    let mut text = String::from("| target | wanted | measured | |\n|---|---|---|---|\n");
    for target in targets {
        let wanted = match target.bound {
            Bound::AtLeast(bound) => format!("at least {bound}"),
            Bound::AtMost(bound) => format!("at most {bound}"),
        };
        let measured = target.measured.map_or_else(|| "–".to_owned(), readable);
        let met = match target.met() {
            Some(true) => "met",
            Some(false) => "missed",
            None => "not measured",
        };
        text.push_str(&format!("| {} | {wanted} | {measured} | {met} |\n", target.name));
    }
    text
}
