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

/// What is asked of ours beside one peer, in the main rows.
struct Peer {
    engine: &'static str,
    name: &'static str,
    small: f64,
    latency: f64,
    chain: f64,
    /// `None` where nothing is asked.
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

/// A row with targets beside the peers, its title, and what is asked of it.
type MainRow = (&'static str, &'static str, fn(&Peer) -> Option<Bound>);

const MAIN_ROWS: &[MainRow] = &[
    ("small-50", "5-step, 50 at a time, ×", |peer| Some(Bound::AtLeast(peer.small))),
    ("latency", "latency of one step /", |peer| Some(Bound::AtMost(peer.latency))),
    ("chain-1000", "chain of 1,000, ×", |peer| Some(Bound::AtLeast(peer.chain))),
    ("fan-out-1000", "fan-out 1,000, ×", |peer| peer.fan_out.map(Bound::AtLeast)),
];

/// What of the floor is asked.
const FLOOR_SHARE: f64 = 0.4;

/// Memory below this is none: less than an id.
const BYTES_NONE: f64 = 16.0;

/// The table of targets on PostgreSQL.
pub(crate) fn postgres_targets(figures: &Figures) -> Vec<Target> {
    let mut all = beside(figures, POSTGRES_PEERS);
    all.push(long_chain(figures));
    all.extend(floor_shares(figures));
    all
}

/// The table of targets on SQLite.
pub(crate) fn targets(figures: &Figures) -> Vec<Target> {
    let mut all = beside(figures, SQLITE_PEERS);
    all.push(long_chain(figures));
    let finished = figures.growth(FINISHED).and_then(super::figures::Growth::factor);
    let name = "5-step with 1,000,000 finished / with ten";
    all.push(Target::new(name, Bound::AtMost(1.3), finished));
    all.extend(floor_shares(figures));
    for row in ["idle-0", "idle-100000"] {
        all.extend(idle(figures, row));
    }
    let name = "bytes per waiting, evicted instance";
    all.push(Target::new(name, Bound::AtMost(BYTES_NONE), evicted(figures)));
    all
}

fn beside(figures: &Figures, peers: &[Peer]) -> Vec<Target> {
    let mut all = Vec::new();
    for (row, title, bound) in MAIN_ROWS {
        for peer in peers {
            let Some(bound) = bound(peer) else { continue };
            let name = format!("{title} {}", peer.name);
            all.push(Target::new(&name, bound, ratio(figures, row, peer.engine)));
        }
    }
    all
}

fn floor_shares(figures: &Figures) -> impl Iterator<Item = Target> {
    ["small-50", "chain-1000", "fan-out-1000"].into_iter().map(|row| {
        let share = ratio(figures, row, figures.floor);
        Target::new(&format!("share of the floor, {row}"), Bound::AtLeast(FLOOR_SHARE), share)
    })
}

fn idle(figures: &Figures, row: &str) -> [Target; 2] {
    let figure = |engine, name| figures.cell(row, engine).and_then(|cell| cell.figure(name));
    let core = figure("ours", "core_percent");
    let statements = figure("ours-counting", "statements_per_second");
    [
        Target::new(&format!("{row}: percent of a core"), Bound::AtMost(0.5), core),
        Target::new(&format!("{row}: statements/s"), Bound::AtMost(2.0), statements),
    ]
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

fn long_chain(figures: &Figures) -> Target {
    let rate = |row| figures.cell(row, figures.ours).map(|cell| cell.rate());
    let long = rate("chain-10000").filter(|rate| *rate > 0.0);
    let factor = rate("chain-100").zip(long).map(|(short, long)| short / long);
    Target::new("cost per step at 10,000 / at 100", Bound::AtMost(1.3), factor)
}

impl Target {
    fn new(name: &str, bound: Bound, measured: Option<f64>) -> Self {
        Self { name: name.to_owned(), bound, measured }
    }

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
