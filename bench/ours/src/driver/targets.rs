//! The targets and whether the run meets them.

use serde::Serialize;

use super::figures::{Cell, Figures, Growth};
use super::growth::{BACKLOGS, FINISHED, Filled};
use super::plan::FLOOR_ROWS;
use super::rounds::COUNTING;
use super::stores::Store;
use super::table::readable;

/// One line of the target table.
#[derive(Debug, Serialize)]
pub(crate) struct Target {
    store: Store,
    name: String,
    bound: Bound,
    /// `None` if the run did not measure it.
    measured: Option<f64>,
}

/// A lower or upper limit.
#[derive(Debug, Clone, Copy, Serialize)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

/// The targets of ours against one peer in the main rows.
struct Peer {
    engine: &'static str,
    name: &'static str,
    small: f64,
    latency: f64,
    chain: f64,
    /// `None` without a target.
    fan_out: Option<f64>,
}

const SQLITE_PEERS: &[Peer] = &[
    Peer {
        engine: "duroxide-0.1.32",
        name: "0.1.32",
        small: 50.0,
        latency: 0.02,
        chain: 100.0,
        fan_out: Some(30.0),
    },
    Peer {
        engine: "durare",
        name: "durare FULL",
        small: 3.0,
        latency: 1.0,
        chain: 1.2,
        fan_out: Some(2.0),
    },
];

const POSTGRES_PEERS: &[Peer] = &[
    Peer {
        engine: "duroxide-0.1.32-pg",
        name: "0.1.32",
        small: 15.0,
        latency: 0.025,
        chain: 100.0,
        fan_out: Some(15.0),
    },
    Peer { engine: "dbos", name: "dbos", small: 1.5, latency: 1.0, chain: 1.0, fan_out: None },
];

/// A row whose targets compare ours with peers, its title, and its bound.
type Compared = (&'static str, &'static str, fn(&Peer) -> Option<Bound>);

const COMPARED: &[Compared] = &[
    ("small-50", "5-step, 50 at a time, ×", |peer| Some(Bound::AtLeast(peer.small))),
    ("latency", "latency of one step /", |peer| Some(Bound::AtMost(peer.latency))),
    ("chain-1000", "chain of 1,000, ×", |peer| Some(Bound::AtLeast(peer.chain))),
    ("fan-out-1000", "fan-out 1,000, ×", |peer| peer.fan_out.map(Bound::AtLeast)),
];

/// A second node on the same cores.
const TWO_NODES: &str = "ours-pg-2-nodes";

/// The target for the share of the floor.
const FLOOR_SHARE: f64 = 0.4;

/// Memory below this counts as none: it is less than an id.
const BYTES_NONE: f64 = 16.0;

/// The targets on a store.
pub(crate) fn targets(store: Store, figures: &Figures) -> Vec<Target> {
    let found = match store {
        Store::Sqlite => on_sqlite(figures),
        Store::Postgres => on_postgres(figures),
    };
    found
        .into_iter()
        .map(|(name, bound, measured)| Target { store, name, bound, measured })
        .collect()
}

/// Name, bound and measured value.
type Found = (String, Bound, Option<f64>);

fn on_sqlite(figures: &Figures) -> Vec<Found> {
    let mut all = against_peers(figures, Store::Sqlite, SQLITE_PEERS);
    let name = "5-step with 1,000,000 finished / with ten".to_owned();
    let finished = figures.growth(FINISHED, Store::Sqlite);
    all.push((name, Bound::AtMost(1.3), finished.and_then(Growth::factor)));
    all.extend(behind_backlogs(figures, Store::Sqlite));
    for row in ["idle-0", "idle-100000"] {
        all.extend(idle(figures, row));
    }
    let name = "bytes per waiting, evicted instance".to_owned();
    all.push((name, Bound::AtMost(BYTES_NONE), evicted(figures)));
    all
}

fn on_postgres(figures: &Figures) -> Vec<Found> {
    let mut all = against_peers(figures, Store::Postgres, POSTGRES_PEERS);
    // A second node adds throughput only where the first leaves cores idle.
    let never_less = FLOOR_ROWS.iter().map(|row| (*row, Bound::AtLeast(1.0)));
    for (row, bound) in never_less.chain([("waits-2000", Bound::AtLeast(1.2))]) {
        let one = figures.cell(row, Store::Postgres.ours());
        let two = figures.cell(row, TWO_NODES);
        let factor = one.zip(two).and_then(|(one, two)| quotient(two, one));
        all.push((format!("two nodes / one, {row}"), bound, factor));
    }
    all.extend(behind_backlogs(figures, Store::Postgres));
    all
}

fn behind_backlogs(figures: &Figures, store: Store) -> impl Iterator<Item = Found> {
    BACKLOGS.iter().map(move |Filled { against, counts: [.., most], .. }| {
        let name = format!("5-step behind {most} {against} / behind ten");
        let factor = figures.growth(against, store).and_then(Growth::factor);
        (name, Bound::AtMost(2.0), factor)
    })
}

// The targets that every store has.
fn against_peers(figures: &Figures, store: Store, peers: &[Peer]) -> Vec<Found> {
    let ours = |row, engine| quotient(figures.cell(row, store.ours())?, figures.cell(row, engine)?);
    let mut all = Vec::new();
    for (row, title, bound) in COMPARED {
        for peer in peers {
            let Some(bound) = bound(peer) else { continue };
            all.push((format!("{title} {}", peer.name), bound, ours(row, peer.engine)));
        }
    }
    let name = "cost per step at 10,000 / at 100".to_owned();
    all.push((name, Bound::AtMost(1.3), long_chain(figures, store)));
    for row in FLOOR_ROWS {
        let name = format!("share of the floor, {row}");
        all.push((name, Bound::AtLeast(FLOOR_SHARE), ours(row, store.floor())));
    }
    all
}

fn idle(figures: &Figures, row: &str) -> [Found; 2] {
    let figure = |engine, name| figures.cell(row, engine).and_then(|cell| cell.figure(name));
    let core = figure("ours", "core_percent");
    let statements = figure(COUNTING, "statements_per_second");
    [
        (format!("{row}: percent of a core"), Bound::AtMost(0.5), core),
        (format!("{row}: statements/s"), Bound::AtMost(2.0), statements),
    ]
}

fn quotient(one: &Cell, other: &Cell) -> Option<f64> {
    let (one, other) = (one.headline(), other.headline());
    (one > 0.0 && other > 0.0).then(|| one / other)
}

// Growth from 100,000 to 400,000 instances: the bounded page cache is full in both.
fn evicted(figures: &Figures) -> Option<f64> {
    let resident = |row| figures.cell(row, "ours").and_then(|cell| cell.figure("resident_bytes"));
    Some((resident("idle-400000")? - resident("idle-100000")?) / 300_000.0)
}

fn long_chain(figures: &Figures, store: Store) -> Option<f64> {
    let chain = |row| figures.cell(row, store.ours());
    quotient(chain("chain-100")?, chain("chain-10000")?)
}

impl Target {
    /// Whether the target is met; `None` if the run did not measure it.
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
    let mut text =
        String::from("| target | store | wanted | measured | |\n|---|---|---|---|---|\n");
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
        text.push_str(&format!(
            "| {} | {} | {wanted} | {measured} | {met} |\n",
            target.name,
            target.store.title()
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use bench_harness::{Sample, Workload};

    use super::*;

    fn figures(cells: &[(&str, Workload, &str, f64)]) -> Figures {
        let mut figures = Figures::default();
        for (row, workload, engine, value) in cells {
            let sample = Sample {
                engine: (*engine).to_owned(),
                workload: workload.name().to_owned(),
                count: 1000,
                seconds: 1000.0 / value,
                ..Sample::default()
            };
            figures.add(row, sample.with("p50_ms", *value));
        }
        figures
    }

    fn verdicts(store: Store, figures: &Figures) -> Vec<(String, bool)> {
        let targets = targets(store, figures).into_iter();
        targets.filter_map(|target| target.met().map(|met| (target.name, met))).collect()
    }

    #[test]
    fn more_is_better_except_for_latency() {
        let figures = figures(&[
            ("small-50", Workload::Small50, "ours-pg", 900.0),
            ("small-50", Workload::Small50, "dbos", 600.0),
            ("small-50", Workload::Small50, "floor-pg", 2400.0),
            ("small-50", Workload::Small50, "ours-pg-2-nodes", 890.0),
            ("latency", Workload::Latency, "ours-pg", 4.0),
            ("latency", Workload::Latency, "dbos", 3.0),
            ("latency", Workload::Latency, "duroxide-0.1.32-pg", 160.0),
        ]);
        let expected = [
            ("5-step, 50 at a time, × dbos", true),
            ("latency of one step / 0.1.32", true),
            ("latency of one step / dbos", false),
            ("share of the floor, small-50", false),
            ("two nodes / one, small-50", false),
        ];
        let expected = expected.map(|(name, met)| (name.to_owned(), met));
        assert_eq!(verdicts(Store::Postgres, &figures), expected);
        assert_eq!(verdicts(Store::Sqlite, &figures), []);
    }

    #[test]
    fn a_step_of_a_long_chain_may_cost_a_little_more() {
        for (long, met) in [(1000.0, true), (800.0, true), (700.0, false)] {
            let chains = [
                ("chain-100", Workload::Chain, "ours", 1000.0),
                ("chain-10000", Workload::Chain, "ours", long),
            ];
            let expected = [("cost per step at 10,000 / at 100".to_owned(), met)];
            assert_eq!(verdicts(Store::Sqlite, &figures(&chains)), expected, "{long}");
        }
    }
}
