//! One soak from the first process to the verdict.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use duroxide::Client;

use crate::acks::Journal;
use crate::args::Plan;
use crate::audit::{Attempts, Counts, audit};
use crate::chaos::{Disturbances, disturb};
use crate::doubt::Doubt;
use crate::effects::Effects;
use crate::facts::{Leftovers, Tables};
use crate::kinds::KINDS;
use crate::load::{self, Conductor, Load, Started};
use crate::rng::Rng;
use crate::store::Store;
use crate::worker::{Worker, WorkerSetup};

/// Worker processes.
const WORKERS: usize = 3;
/// Dropped timers and idle sessions are gone within this time after the last workflow.
const SETTLE_MAX: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Workflows that are open at once.
pub(crate) const OPEN_MAX: usize = 60;
/// Pause between two polls of a status.
pub(crate) const STATUS_POLL: Duration = Duration::from_millis(100);

/// Runs the soak; the files are kept if it fails.
pub(crate) fn run(plan: &Plan) -> Result<(), String> {
    let temporary = tempfile::Builder::new().prefix("duroxide-soak-").tempdir();
    let temporary = temporary.map_err(|error| error.to_string())?;
    let folder = plan.folder.clone().unwrap_or_else(|| temporary.path().to_owned());
    println!(
        "soak: {:.1} minutes, seed {}, files in {}",
        plan.time.as_secs_f64() / 60.0,
        plan.seed,
        folder.display()
    );
    match soak(plan, &folder) {
        Ok(()) => Ok(()),
        Err(reason) => {
            let kept = temporary.keep();
            let folder = plan.folder.clone().unwrap_or(kept);
            Err(format!("{reason}\nseed {}; the files are in {}", plan.seed, folder.display()))
        }
    }
}

fn soak(plan: &Plan, folder: &Path) -> Result<(), String> {
    let started_at = Instant::now();
    let setup = worker_setup(plan, folder)?;
    let tokio = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    // Opened here, so that the tables exist when the processes start.
    let store = tokio.block_on(setup.store.open())?;
    let workers_under_chaos: Vec<WorkerChaos> =
        (0..WORKERS).map(|name| WorkerChaos::start(plan, &setup, name)).collect();
    let conductor = Conductor {
        client: Client::new(store),
        poll: STATUS_POLL,
        journal: Journal::Nowhere,
        doubt: Doubt::None,
    };
    let load = Load { seed: plan.seed, kinds: &KINDS, first: 0, open_max: OPEN_MAX };
    let began = Instant::now();
    let loaded = tokio.block_on(load::run(&conductor, &load, |_| began.elapsed() < plan.time));
    // From here on no process is killed or paused: the remaining work must complete by itself.
    let mut workers = Vec::new();
    let mut done = Disturbances::default();
    for worker_chaos in workers_under_chaos {
        let (worker, disturbed) = worker_chaos.stop()?;
        workers.push(worker);
        done.kills += disturbed.kills;
        done.pauses += disturbed.pauses;
    }
    let started = loaded?;
    let tables = Tables::open(&setup.store)?;
    settle(&tables, &mut workers)?;
    for worker in workers {
        worker.stop()?;
    }
    let effects = Effects::new(&setup.effects).read()?;
    let counts = audit(&tables.facts()?, &effects, Attempts::AreUnique)?;
    if plan.calm && counts.redeliveries > 0 {
        let again = counts.redeliveries;
        return Err(format!("{again} effects were repeated although nothing was killed or paused"));
    }
    report(&started, done, &counts, started_at.elapsed());
    tables.remove()
}

fn worker_setup(plan: &Plan, folder: &Path) -> Result<WorkerSetup, String> {
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let effects: PathBuf = folder.join("effects.txt");
    std::fs::write(&effects, "").map_err(|error| error.to_string())?;
    let file = || format!("sqlite:{}", folder.join("soak.db").display());
    // Of this soak only, because it is dropped at the end.
    let schema = format!("soak_{}_{}", plan.seed, std::process::id());
    let store = Store::new(&plan.store.clone().unwrap_or_else(file), &schema);
    Ok(WorkerSetup { store, effects, folder: folder.to_owned() })
}

/// A worker process with a thread that kills and pauses it.
struct WorkerChaos {
    stop: mpsc::Sender<()>,
    thread: JoinHandle<Result<(Worker, Disturbances), String>>,
}

impl WorkerChaos {
    fn start(plan: &Plan, setup: &WorkerSetup, name: usize) -> Self {
        let (stop, stopped) = mpsc::channel();
        let rng = Rng::new(plan.seed.wrapping_mul(31).wrapping_add(name as u64));
        let (setup, calm) = (setup.clone(), plan.calm);
        let thread = std::thread::spawn(move || {
            if calm {
                let worker = Worker::spawn(&setup, name)?;
                // Returns when the sender is dropped.
                stopped.recv().unwrap_or_default();
                return Ok((worker, Disturbances::default()));
            }
            disturb(&setup, name, rng, &stopped)
        });
        Self { stop, thread }
    }

    fn stop(self) -> Result<(Worker, Disturbances), String> {
        drop(self.stop);
        self.thread.join().map_err(|_panic| "a thread of the soak panicked".to_owned())?
    }
}

/// Waits until queues, leases and sessions are gone.
fn settle(tables: &Tables, workers: &mut [Worker]) -> Result<(), String> {
    let started_at = Instant::now();
    loop {
        let left = tables.leftovers()?;
        if left == Leftovers::default() {
            return Ok(());
        }
        if started_at.elapsed() > SETTLE_MAX {
            return Err(format!(
                "{SETTLE_MAX:?} after the last kill or pause, rows are left: {left:?}"
            ));
        }
        for worker in &mut *workers {
            worker.check()?;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn report(started: &Started, done: Disturbances, counts: &Counts, took: Duration) {
    let kinds: Vec<String> =
        started.iter().map(|(kind, count)| format!("{} {count}", kind.name())).collect();
    println!("workflows     {} ({})", started.values().sum::<u64>(), kinds.join(", "));
    println!("instances     {} in {} executions", counts.instances, counts.executions);
    println!("turns         {}", counts.turns);
    println!(
        "activities    {} completed, {} cancelled",
        counts.activities, counts.cancelled_activities
    );
    println!("effects       {}, of these {} repeated", counts.effects, counts.redeliveries);
    println!("kills         {}", done.kills);
    println!("pauses        {}", done.pauses);
    println!("audit         every workflow completed and every rule holds ({took:.1?})");
}
