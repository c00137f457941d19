//! Kills the quickstart at random moments.
//!
//! Several lanes run in parallel, each with orders of one kind: a lane mostly waits until the lease
//! of an interrupted step expires.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::child::{Exit, kill_after, spawn};
use crate::ledger::{self, Ledger};
use crate::rng::Rng;

const KILLS_PER_LANE: usize = 14;
/// A child is killed by this time: the lease of an interrupted step, and a few steps.
const LIFETIME_MAX: Duration = Duration::from_millis(2_600);
/// A child that is not killed completes its order long before this.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Orders of one kind.
struct Lane {
    name: &'static str,
    args: &'static [&'static str],
    output: &'static str,
    steps: &'static [&'static str],
}

const LANES: [Lane; 4] = [
    Lane {
        name: "shipped",
        args: &["--to", "Lisbon"],
        output: "a chair shipped to Lisbon",
        steps: &["ReserveStock", "ChargeCard", "ShipParcel", "SendReceipt"],
    },
    Lane {
        name: "rejected",
        args: &["--answer", "reject"],
        output: "a chair cancelled: it was rejected",
        steps: &["ReserveStock", "ChargeCard", "RefundCard", "ReleaseStock"],
    },
    Lane {
        name: "unanswered",
        args: &["--answer", "none", "--patience-ms", "200"],
        output: "a chair cancelled: it was not approved in time",
        steps: &["ReserveStock", "ChargeCard", "RefundCard", "ReleaseStock"],
    },
    Lane {
        name: "no carrier",
        args: &["--to", "Atlantis"],
        output: "a chair cancelled: no carrier ships to Atlantis",
        steps: &["ReserveStock", "ChargeCard", "RefundCard", "ReleaseStock"],
    },
];

#[test]
fn killed_orders_complete_and_no_completed_step_runs_again() {
    let seed = seed();
    println!("seed {seed} (set DUROXIDE_CRASH_SEED to reproduce the run)");
    let start = Instant::now();
    let lanes: Vec<_> = LANES
        .iter()
        .enumerate()
        .map(|(index, lane)| {
            let rng = Rng::new(seed.wrapping_add(index as u64));
            std::thread::spawn(move || LaneRun::new(lane, rng).run_until_complete())
        })
        .collect();
    let kills: usize = lanes.into_iter().map(|lane| lane.join().unwrap()).sum();
    println!("{kills} kills in {:?}", start.elapsed());
    assert!(kills >= 50, "only {kills} kills");
}

fn seed() -> u64 {
    let given = std::env::var("DUROXIDE_CRASH_SEED").ok().and_then(|seed| seed.parse().ok());
    given.unwrap_or_else(|| u64::from(std::process::id()).wrapping_mul(7_919))
}

/// The state of one lane.
struct LaneRun {
    lane: &'static Lane,
    rng: Rng,
    folder: tempfile::TempDir,
    before: Ledger,
    /// Kills while each step was incomplete: its effect may exist without a recorded completion.
    kills_while_incomplete: BTreeMap<String, usize>,
}

impl LaneRun {
    fn new(lane: &'static Lane, rng: Rng) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            lane,
            rng,
            folder,
            before: Ledger::default(),
            kills_while_incomplete: BTreeMap::new(),
        }
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("orders.db")
    }

    /// Returns the number of kills.
    fn run_until_complete(mut self) -> usize {
        let mut kills = 0;
        while kills < KILLS_PER_LANE {
            let lifetime = self.rng.duration(LIFETIME_MAX);
            match self.run_child(lifetime) {
                Exit::Killed => kills += 1,
                Exit::OnItsOwn(status) => assert!(status.success(), "{}", self.lane.name),
            }
            self.check();
        }
        // Open orders complete without further kills.
        while !self.before.all_complete || self.before.outputs.is_empty() {
            let exit = self.run_child(TIMEOUT);
            assert!(matches!(exit, Exit::OnItsOwn(status) if status.success()), "{exit:?}");
            self.check();
        }
        self.check_complete();
        println!(
            "{}: {} orders, {kills} kills, {} effects of {} steps",
            self.lane.name,
            self.before.outputs.len(),
            self.before.effects.values().sum::<usize>(),
            self.before.scheduled.len()
        );
        kills
    }

    fn run_child(&self, span: Duration) -> Exit {
        let store = self.store();
        let mut args = vec!["run", "--pace-ms", "60", "--store", store.to_str().unwrap()];
        args.extend(self.lane.args);
        kill_after(spawn(&args, Stdio::null()), span)
    }

    /// Compares the files with their state before the last child.
    fn check(&mut self) {
        let now = ledger::read(&self.store(), &self.folder.path().join("orders.db.effects"));
        for (step, count) in &now.completions {
            assert_eq!(*count, 1, "{step} is recorded {count} times");
        }
        for step in self.before.completions.keys() {
            assert!(now.completions.contains_key(step), "the completion of {step} is lost");
            assert_eq!(
                now.effects.get(step),
                self.before.effects.get(step),
                "{step} was recorded as completed and ran again"
            );
        }
        for (step, effects) in &now.effects {
            // A kill may come between the effect of a step and the record of its completion.
            let kills = self.kills_while_incomplete.get(step).copied().unwrap_or(0);
            assert!(
                *effects <= 1 + kills,
                "{step}: {effects} effects, {kills} kills while it was incomplete"
            );
        }
        for step in now.incomplete() {
            *self.kills_while_incomplete.entry(step).or_default() += 1;
        }
        assert_intact(&self.store());
        self.before = now;
    }

    fn check_complete(&self) {
        let orders = self.before.outputs.len();
        for output in &self.before.outputs {
            assert_eq!(output.trim_matches('"'), self.lane.output, "{}", self.lane.name);
        }
        for order in 1..=orders {
            for step in self.lane.steps {
                let step = format!("order-{order}/{step}");
                assert_eq!(self.before.completions.get(&step), Some(&1), "{step}");
                assert!(self.before.effects.contains_key(&step), "{step} has no effect");
            }
        }
        let shipped = self.lane.name == "no carrier";
        let recorded = self.lane.steps.len() + usize::from(shipped);
        assert_eq!(self.before.completions.len(), orders * recorded, "{:?}", self.before);
    }
}

fn assert_intact(store: &Path) {
    if !store.exists() {
        return;
    }
    let file = rusqlite::Connection::open(store).unwrap();
    let verdict: String = file.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
}
