//! The cases, their sizes and their rounds.

use bench_harness::Workload;

use super::stores::Store;

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Row {
    /// Name of the row.
    pub(crate) name: &'static str,
    /// The workload.
    pub(crate) workload: Workload,
    /// Size for this project and for peers without a size of their own.
    pub(crate) size: u64,
    /// Size for durare; `None` where it would take too long or lacks the feature.
    pub(crate) durare: Option<u64>,
    /// Size for 0.1.32, which runs about ten steps in a second.
    pub(crate) legacy: Option<u64>,
    /// Rounds in a full run.
    pub(crate) rounds: usize,
    /// Size in a quick run; `None` leaves the row out.
    pub(crate) quick: Option<u64>,
    /// Whether a quick run leaves the peers out, because no target compares them in this row.
    quick_alone: bool,
}

/// All rows.
pub(crate) const ROWS: &[Row] = &[
    row("small-50", Workload::Small50, 500).legacy(60).rounds(5).quick(500),
    row("small-500", Workload::Small500, 1000).legacy(60).rounds(3),
    row("latency", Workload::Latency, 300).legacy(20).rounds(5).quick(200),
    row("chain-100", Workload::Chain, 100).legacy(30).rounds(5).quick(100).quick_alone(),
    row("chain-1000", Workload::Chain, 1000).legacy(40).rounds(5).quick(1000),
    row("chain-10000", Workload::Chain, 10_000).rounds(3).quick(10_000).quick_alone(),
    row("fan-out-100", Workload::FanOut, 100).legacy(100).rounds(3),
    row("fan-out-1000", Workload::FanOut, 1000).legacy(200).rounds(5).quick(1000),
    row("fan-out-10000", Workload::FanOut, 10_000).durare(10_000).rounds(2),
    row("waits-2000", Workload::Waits, 2000).without_durare().rounds(3),
    row("tree-30", Workload::Tree, 30).legacy(5).rounds(3),
    row("timers-10000", Workload::Timers, 10_000).durare(500).legacy(300).rounds(2),
    row("events-10000", Workload::Events, 10_000).durare(2_000).legacy(300).rounds(2),
    row("loop-1000", Workload::Loop, 1000).without_durare().legacy(20).rounds(3),
    row("payload-100k", Workload::Payload100k, 50).legacy(10).rounds(3),
    row("payload-1m", Workload::Payload1m, 20).legacy(5).rounds(3),
    row("burst-10000", Workload::Burst, 10_000).durare(500).legacy(300).rounds(2),
    row("cold-replay-10000", Workload::ColdReplay, 10_000).durare(10_000).legacy(60).rounds(2),
    row("idle-0", Workload::Idle, 0).legacy(0).rounds(1).quick(0).quick_alone(),
    row("idle-100000", Workload::Idle, 100_000).durare(100).legacy(100).rounds(1),
    row("idle-400000", Workload::Idle, 400_000).without_durare().rounds(1),
    row("memory-4000", Workload::Memory, 4_000).durare(400).rounds(1),
];

/// Rows whose targets compare this project with peers.
const MAIN_ROWS: &[&str] = &["small-50", "latency", "chain-1000", "fan-out-1000"];

/// Rows that the floor implements.
pub(crate) const FLOOR_ROWS: &[&str] = &["small-50", "chain-1000", "fan-out-1000"];

/// Rows that run on every store, not only on SQLite.
pub(crate) const STORE_ROWS: &[&str] = &[
    "small-50",
    "latency",
    "chain-100",
    "chain-1000",
    "chain-10000",
    "fan-out-1000",
    "waits-2000",
];

const fn row(name: &'static str, workload: Workload, size: u64) -> Row {
    let durare = Some(size);
    Row { name, workload, size, durare, legacy: None, rounds: 3, quick: None, quick_alone: false }
}

impl Row {
    const fn durare(mut self, size: u64) -> Self {
        self.durare = Some(size);
        self
    }

    const fn without_durare(mut self) -> Self {
        self.durare = None;
        self
    }

    const fn legacy(mut self, size: u64) -> Self {
        self.legacy = Some(size);
        self
    }

    const fn rounds(mut self, rounds: usize) -> Self {
        self.rounds = rounds;
        self
    }

    const fn quick(mut self, size: u64) -> Self {
        self.quick = Some(size);
        self
    }

    const fn quick_alone(mut self) -> Self {
        self.quick_alone = true;
        self
    }

    /// Size for an engine; `None` if the row leaves the engine out.
    pub(crate) fn size_for(&self, engine: &str, quick: bool) -> Option<u64> {
        let size = match engine {
            _ if engine.starts_with("durare") => self.durare?,
            _ if engine.starts_with("duroxide-0.1") => self.legacy?,
            // The comparison ends at this size; only ours runs larger ones.
            "dbos" if self.size > 1000 => return None,
            _ => self.size,
        };
        if !quick {
            return Some(size);
        }
        // A quick run measures 0.1.32 with its defaults only.
        if engine.ends_with("-10ms") || self.quick_alone && !is_one_node_of_ours(engine) {
            return None;
        }
        Some(size.min(self.quick?))
    }

    /// Whether targets of the row compare this project with peers.
    pub(crate) fn is_main(&self) -> bool {
        MAIN_ROWS.contains(&self.name)
    }

    /// Whether the row runs on a store.
    pub(crate) fn is_on(&self, store: Store) -> bool {
        match store {
            Store::Sqlite => true,
            Store::Postgres => STORE_ROWS.contains(&self.name),
        }
    }
}

fn is_one_node_of_ours(engine: &str) -> bool {
    engine.starts_with("ours") && !engine.ends_with("-nodes")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> &'static Row {
        ROWS.iter().find(|row| row.name == name).unwrap()
    }

    #[test]
    fn a_quick_run_has_every_engine_in_the_main_rows() {
        for name in MAIN_ROWS {
            for engine in ["ours", "durare", "duroxide-0.1.32", "ours-pg-2-nodes", "dbos", "floor"]
            {
                assert!(named(name).size_for(engine, true).is_some(), "{name} {engine}");
            }
            assert_eq!(named(name).size_for("duroxide-0.1.32-10ms", true), None);
        }
    }

    #[test]
    fn a_quick_run_has_only_ours_where_no_target_compares_peers() {
        let size = |engine| named("chain-10000").size_for(engine, true);
        assert_eq!((size("ours"), size("ours-pg")), (Some(10_000), Some(10_000)));
        assert_eq!((size("durare"), size("ours-pg-2-nodes")), (None, None));
    }
}
