//! `power --store postgres`: all processes of a PostgreSQL server are killed under load, again and
//! again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use duroxide::Client;
use duroxide::providers::Provider;
use duroxide::runtime::Runtime;
use duroxide_pg_server::{Server, Setup};
use tokio::sync::Notify;

use crate::acks::{Ack, Journal};
use crate::audit::{Attempts, Counts, audit};
use crate::doubt::{Doubt, held_when_up};
use crate::effects::Effects;
use crate::facts::{Leftovers, Tables};
use crate::kinds::{KINDS, Workflow};
use crate::load::{self, Conductor, Load};
use crate::power::args::ServerKillPlan;
use crate::power::held::LOST;
use crate::power::recorded_node::GRACE_MS;
use crate::rng::Rng;
use crate::run::STATUS_POLL;
use crate::store::Store;
use crate::{node, workflows};

const SCHEMA: &str = "power";
/// Nodes that share the server.
const NODES: usize = 2;
/// Workflows that are open at once.
const OPEN_MAX: usize = 32;
/// Shortest and longest time from a start of the server to its kill.
const LIFE: (Duration, Duration) = (Duration::from_millis(300), Duration::from_millis(1_500));
/// Leases, sessions and messages are gone within this time after the last workflow.
const SETTLE_MAX: Duration = Duration::from_secs(60);

/// Settings of the planted defect: a commit does not wait for its log.
const EARLY: [&str; 2] = ["synchronous_commit=off", "wal_writer_delay=10s"];
/// Length of a printed reason.
const SHOWN_MAX: usize = 200;

/// Acknowledgements in the order in which clients received them.
type Acks = Arc<Mutex<Vec<Ack>>>;

/// Kills the server under load. Without a planted defect no kill may lose or repeat anything, with
/// one an acknowledged change must be lost.
pub(crate) fn run(plan: &ServerKillPlan) -> Result<(), String> {
    let outcome = under_kills(plan);
    if !plan.answers_early {
        return outcome;
    }
    match outcome {
        Err(reason) if reason.contains(LOST) => {
            let shown: String = reason.chars().take(SHOWN_MAX).collect();
            println!("defect        found by {shown}");
            Ok(())
        }
        Err(reason) => Err(reason),
        Ok(()) => Err(format!("{} kills did not find the planted defect", plan.kills)),
    }
}

fn under_kills(plan: &ServerKillPlan) -> Result<(), String> {
    let began = Instant::now();
    let early = plan.answers_early.then(|| EARLY.map(str::to_owned));
    let settings = early.map(Vec::from).unwrap_or_default();
    let mut server = Server::start(&Setup { durable: true, settings, ..Setup::default() })?;
    let store = Store::Postgres { url: server.url(), schema: SCHEMA.to_owned() };
    let folder = tempfile::Builder::new().prefix("duroxide-kills-").tempdir();
    let folder = folder.map_err(|error| error.to_string())?;
    let effects = folder.path().join("effects.txt");
    std::fs::write(&effects, "").map_err(|error| error.to_string())?;
    let effects = Effects::new(&effects);
    let acks = Acks::default();
    let tokio = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let nodes = tokio.block_on(start_nodes(&store, &effects))?;
    let client = nodes.first().map(|(provider, _)| Client::new(provider.clone()));
    let conductor = Conductor {
        client: client.ok_or("there is no node")?,
        poll: STATUS_POLL,
        journal: Journal::Memory(acks.clone()),
        doubt: Doubt::Server { url: server.url(), schema: SCHEMA.to_owned() },
    };
    let is_over = AtomicBool::new(false);
    let load = Load { seed: plan.seed, kinds: &KINDS, first: 0, open_max: OPEN_MAX };
    let goes_on = |_number| !is_over.load(Ordering::Relaxed);
    let given_up = Notify::new();
    let work = async {
        tokio::select! {
            loaded = load::run(&conductor, &load, goes_on) => loaded.map(drop),
            () = given_up.notified() => Ok(()),
        }
    };
    std::thread::scope(|scope| {
        let load = scope.spawn(|| tokio.block_on(work));
        let killed = kill(plan, &mut server, &tokio, &acks);
        is_over.store(true, Ordering::Relaxed);
        if killed.is_err() {
            given_up.notify_one();
        }
        let loaded = load.join().map_err(|_panic| "the load panicked".to_owned())?;
        killed.and(loaded)
    })?;
    require(&server, &tokio, &all(&acks))?;
    let counts = settle_and_audit(&store, &effects)?;
    tokio.block_on(async {
        for (_, runtime) in nodes {
            runtime.shutdown(Some(GRACE_MS)).await;
        }
    });
    println!("kills         {} of all processes of the server", plan.kills);
    println!("acknowledged  {} changes, all found", all(&acks).len());
    println!("instances     {} in {} executions", counts.instances, counts.executions);
    println!("effects       {}, of these {} repeated", counts.effects, counts.redeliveries);
    println!("verdict       every rule holds ({:.0?})", began.elapsed());
    Ok(())
}

type Node = (Arc<dyn Provider>, Arc<Runtime>);

async fn start_nodes(store: &Store, effects: &Effects) -> Result<Vec<Node>, String> {
    let mut nodes = Vec::new();
    for name in 0..NODES {
        let provider = store.open().await?;
        let runtime = Runtime::start_with_options(
            provider.clone(),
            workflows::activities(effects),
            workflows::orchestrations(),
            node::options(&name.to_string()),
        )
        .await;
        nodes.push((provider, runtime));
    }
    Ok(nodes)
}

/// Kills the server; checks after each kill what was acknowledged since the one before.
fn kill(
    plan: &ServerKillPlan,
    server: &mut Server,
    tokio: &tokio::runtime::Runtime,
    acks: &Acks,
) -> Result<(), String> {
    let mut rng = Rng::new(plan.seed);
    let (mut checked, mut before) = (0, 0);
    for number in 1..=plan.kills {
        std::thread::sleep(rng.between(LIFE.0, LIFE.1));
        let known = all(acks).len();
        server.kill_all()?;
        let noted = all(acks);
        require(server, tokio, &noted[checked..])
            .map_err(|reason| format!("kill {number}: {reason}"))?;
        (checked, before) = (before, known);
        if number % 10 == 0 {
            println!("power: {number} of {} kills, {} changes", plan.kills, noted.len());
        }
    }
    Ok(())
}

fn all(acks: &Acks) -> Vec<Ack> {
    acks.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn require(server: &Server, tokio: &tokio::runtime::Runtime, acks: &[Ack]) -> Result<(), String> {
    let mut instances: Vec<String> = acks.iter().map(|ack| workflow(ack).id()).collect();
    instances.sort_unstable();
    instances.dedup();
    let held = tokio.block_on(held_when_up(&server.url(), SCHEMA, &instances))?;
    held.require(acks)
}

fn workflow(ack: &Ack) -> Workflow {
    match ack {
        Ack::Started(workflow) | Ack::Sent(workflow, _) | Ack::Finished(workflow) => *workflow,
    }
}

/// Waits until queues, leases and sessions are gone, and checks every rule.
fn settle_and_audit(store: &Store, effects: &Effects) -> Result<Counts, String> {
    let tables = Tables::open(store)?;
    let since = Instant::now();
    loop {
        let left = tables.leftovers()?;
        if left == Leftovers::default() {
            return audit(&tables.facts()?, &effects.read()?, Attempts::AreUnique);
        }
        if since.elapsed() > SETTLE_MAX {
            return Err(format!("{SETTLE_MAX:?} after the last workflow, rows are left: {left:?}"));
        }
        std::thread::sleep(STATUS_POLL);
    }
}
