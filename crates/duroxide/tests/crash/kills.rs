//! Kills at random moments.
//!
//! Several lanes run side by side, each with orders of one kind: most of the time passes in waiting
//! for the lease of a step that was cut off.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::child::{Ended, kill_after, spawn};
use crate::ledger::{self, Ledger};
use crate::rng::Rng;

const KILLS_PER_LANE: usize = 14;
/// The longest life of a child that is killed: the lease of a cut-off step, and a few steps.
const LIFE_MAX: Duration = Duration::from_millis(2_600);
/// A child that nobody kills finishes its order long before this.
const PATIENCE: Duration = Duration::from_secs(60);

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
        output: "a chair cancelled: nobody approved it in time",
        steps: &["ReserveStock", "ChargeCard", "RefundCard", "ReleaseStock"],
    },
    Lane {
        name: "no carrier",
        args: &["--to", "Atlantis"],
        output: "a chair cancelled: no carrier goes to Atlantis",
        steps: &["ReserveStock", "ChargeCard", "RefundCard", "ReleaseStock"],
    },
];

#[test]
fn orders_killed_at_any_moment_finish_and_no_finished_step_runs_again() {
    let seed = seed();
    println!("seed {seed} (set DUROXIDE_CRASH_SEED to run it again)");
    let began = Instant::now();
    let lanes: Vec<_> = LANES
        .iter()
        .enumerate()
        .map(|(index, lane)| {
            let rng = Rng::new(seed.wrapping_add(index as u64));
            std::thread::spawn(move || Run::new(lane, rng).until_finished())
        })
        .collect();
    let kills: usize = lanes.into_iter().map(|lane| lane.join().unwrap()).sum();
    println!("{kills} kills in {:?}", began.elapsed());
    assert!(kills >= 50, "only {kills} kills");
}

fn seed() -> u64 {
    let given = std::env::var("DUROXIDE_CRASH_SEED").ok().and_then(|seed| seed.parse().ok());
    given.unwrap_or_else(|| u64::from(std::process::id()).wrapping_mul(7_919))
}

/// One lane at work.
struct Run {
    lane: &'static Lane,
    rng: Rng,
    folder: tempfile::TempDir,
    before: Ledger,
    /// Kills that each step was unfinished at: the effect may be there and its record not.
    kills_during: BTreeMap<String, usize>,
}

impl Run {
    fn new(lane: &'static Lane, rng: Rng) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { lane, rng, folder, before: Ledger::default(), kills_during: BTreeMap::new() }
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("orders.db")
    }

    /// Number of kills.
    fn until_finished(mut self) -> usize {
        let mut kills = 0;
        while kills < KILLS_PER_LANE {
            let life = self.rng.duration(LIFE_MAX);
            match self.live(life) {
                Ended::Killed => kills += 1,
                Ended::ByItself(status) => assert!(status.success(), "{}", self.lane.name),
            }
            self.check();
        }
        // What is open now is finished without a kill.
        while !self.before.all_finished || self.before.outputs.is_empty() {
            let ended = self.live(PATIENCE);
            assert!(matches!(ended, Ended::ByItself(status) if status.success()), "{ended:?}");
            self.check();
        }
        self.check_finished();
        println!(
            "{}: {} orders, {kills} kills, {} effects of {} steps",
            self.lane.name,
            self.before.outputs.len(),
            self.before.effects.values().sum::<usize>(),
            self.before.scheduled.len()
        );
        kills
    }

    fn live(&self, span: Duration) -> Ended {
        let store = self.store();
        let mut args = vec!["run", "--pace-ms", "60", "--store", store.to_str().unwrap()];
        args.extend(self.lane.args);
        kill_after(spawn(&args, Stdio::null()), span)
    }

    /// Compares what is on disk with what was there before the child lived.
    fn check(&mut self) {
        let now = ledger::read(&self.store(), &self.folder.path().join("orders.db.effects"));
        for (step, count) in &now.completions {
            assert_eq!(*count, 1, "{step} is recorded {count} times");
        }
        for step in self.before.completions.keys() {
            assert!(now.completions.contains_key(step), "the record of {step} is lost");
            assert_eq!(
                now.effects.get(step),
                self.before.effects.get(step),
                "{step} was recorded as finished and ran again"
            );
        }
        for (step, effects) in &now.effects {
            // The kill may have come before the record of a step that had its effect.
            let kills = self.kills_during.get(step).copied().unwrap_or(0);
            assert!(*effects <= 1 + kills, "{step}: {effects} effects, {kills} kills during it");
        }
        for step in now.unfinished() {
            *self.kills_during.entry(step).or_default() += 1;
        }
        assert_sound(&self.store());
        self.before = now;
    }

    fn check_finished(&self) {
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

fn assert_sound(store: &Path) {
    if !store.exists() {
        return;
    }
    let file = rusqlite::Connection::open(store).unwrap();
    let verdict: String = file.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
}
