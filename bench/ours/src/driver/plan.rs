//! Which cases are run, how large, and how often.

use bench_harness::Workload;

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Row {
    /// Name of the row.
    pub(crate) name: &'static str,
    /// The workload.
    pub(crate) workload: Workload,
    /// Size for this project and for peers of its kind.
    pub(crate) size: u64,
    /// Size for durare; `None` where it would take too long or cannot.
    pub(crate) durare: Option<u64>,
    /// Size for 0.1.32, which runs about ten steps in a second.
    pub(crate) legacy: Option<u64>,
    /// Rounds in a full run.
    pub(crate) rounds: usize,
    /// Size in a quick run; `None` leaves the row out.
    pub(crate) quick: Option<u64>,
}

/// All rows.
pub(crate) const ROWS: &[Row] = &[
    row("small-50", Workload::Small50, 500).legacy(60).rounds(5).quick(500),
    row("small-500", Workload::Small500, 1000).legacy(60).rounds(3),
    row("latency", Workload::Latency, 300).legacy(20).rounds(5).quick(200),
    row("chain-100", Workload::Chain, 100).legacy(30).rounds(5).quick(100),
    row("chain-1000", Workload::Chain, 1000).legacy(40).rounds(5).quick(1000),
    row("chain-10000", Workload::Chain, 10_000).durare(10_000).rounds(3).quick(2000),
    row("fan-out-100", Workload::FanOut, 100).legacy(100).rounds(3),
    row("fan-out-1000", Workload::FanOut, 1000).legacy(200).rounds(5).quick(1000),
    row("fan-out-10000", Workload::FanOut, 10_000).durare(10_000).rounds(2),
    row("tree-30", Workload::Tree, 30).legacy(5).rounds(3),
    row("timers-10000", Workload::Timers, 10_000).durare(500).legacy(300).rounds(2),
    row("events-10000", Workload::Events, 10_000).durare(2_000).legacy(300).rounds(2),
    row("loop-1000", Workload::Loop, 1000).without_durare().legacy(20).rounds(3),
    row("payload-100k", Workload::Payload100k, 50).legacy(10).rounds(3),
    row("payload-1m", Workload::Payload1m, 20).legacy(5).rounds(3),
    row("burst-10000", Workload::Burst, 10_000).durare(500).legacy(300).rounds(2),
    row("cold-replay-10000", Workload::ColdReplay, 10_000).durare(10_000).legacy(60).rounds(2),
    row("idle-0", Workload::Idle, 0).legacy(0).rounds(1).quick(0),
    row("idle-100000", Workload::Idle, 100_000).durare(100).legacy(100).rounds(1),
    row("idle-400000", Workload::Idle, 400_000).without_durare().rounds(1),
    row("memory-4000", Workload::Memory, 4_000).durare(400).rounds(1),
];

/// Rows that are run on PostgreSQL.
pub(crate) const POSTGRES_ROWS: &[&str] =
    &["small-50", "latency", "chain-100", "chain-1000", "chain-10000", "fan-out-1000"];

const fn row(name: &'static str, workload: Workload, size: u64) -> Row {
    let durare = Some(size);
    Row { name, workload, size, durare, legacy: None, rounds: 3, quick: None }
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

    /// Size for an engine; `None` if the engine does not take part.
    pub(crate) fn size_for(&self, engine: &str, quick: bool) -> Option<u64> {
        let size = match engine {
            _ if engine.starts_with("durare") => self.durare?,
            _ if engine.starts_with("duroxide-0.1") => self.legacy?,
            // Its chain is as long as the comparison needs; only ours goes further.
            "dbos" if self.size > 1000 => return None,
            _ => self.size,
        };
        if !quick {
            return Some(size);
        }
        // The slowest of all, at its slowest setting, says nothing that the other does not.
        if engine.ends_with("-10ms") {
            return None;
        }
        Some(size.min(self.quick?))
    }
}
