//! Opens a store after a power cut or a kill: what was acknowledged is there, and the work
//! completes.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use duroxide::Client;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::Runtime;
use tokio::task::JoinSet;

use crate::acks::{Ack, Journal};
use crate::audit::{self, Attempts};
use crate::doubt::Doubt;
use crate::effects::Effects;
use crate::facts::Leftovers;
use crate::facts_sqlite::SqliteTables;
use crate::kinds::Workflow;
use crate::load::Conductor;
use crate::power::disk_log::EFFECTS;
use crate::power::held::Held;
use crate::power::recorded_node::{GRACE_MS, POLL, STORE};
use crate::{node, workflows};

/// Leases and messages are gone within this time after the last workflow.
const SETTLE_MAX: Duration = Duration::from_secs(60);

/// What is known about a store whose node is gone.
pub(crate) struct Remains<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) acks: &'a [Ack],
    /// Workflows that are started if the store does not have them.
    pub(crate) scenario: &'a [Workflow],
    pub(crate) attempts: Attempts,
}

/// What was found and done.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Recovered {
    pub(crate) completed: usize,
    pub(crate) acknowledged: usize,
}

/// Opens the store and completes its work; an error says what is missing or wrong.
pub(crate) async fn recover(remains: &Remains<'_>) -> Result<Recovered, String> {
    let url = format!("sqlite:{}", remains.folder.join(STORE).display());
    let store = SqliteProvider::new(&url, None).await;
    let store = Arc::new(store.map_err(|error| format!("the store cannot be opened: {error}"))?);
    let damages = store.check_integrity().await.map_err(|error| error.to_string())?;
    if !damages.is_empty() {
        return Err(format!("the store is damaged: {}", damages.join("; ")));
    }
    let effects = Effects::new(&remains.folder.join(EFFECTS));
    let tables = SqliteTables::open(&url)?;
    let facts = tables.facts()?;
    let held = Held::of(&facts, tables.texts()?);
    held.require(remains.acks)?;
    audit::scheduled(&facts, &effects.read()?)?;
    drop(tables);

    let runtime = Runtime::start_with_options(
        store.clone(),
        workflows::activities(&effects),
        workflows::orchestrations(),
        node::options("recovered"),
    )
    .await;
    let conductor = Conductor {
        client: Client::new(store.clone()),
        poll: POLL,
        journal: Journal::Nowhere,
        doubt: Doubt::None,
    };
    let completed = complete(&conductor, &held, remains.scenario).await;
    let settled = if completed.is_ok() { settle(&url).await } else { Ok(()) };
    runtime.shutdown(Some(GRACE_MS)).await;
    store.close().await.map_err(|error| error.to_string())?;
    let completed = completed?;
    settled?;
    audit::audit(&SqliteTables::open(&url)?.facts()?, &effects.read()?, remains.attempts)?;
    Ok(Recovered { completed, acknowledged: remains.acks.len() })
}

/// Completes the workflows of the store and of the scenario; returns how many they are.
async fn complete(
    conductor: &Conductor,
    held: &Held,
    scenario: &[Workflow],
) -> Result<usize, String> {
    let started = held.workflows();
    let missing = scenario.iter().copied().filter(|workflow| !started.contains(workflow));
    let mut open = JoinSet::new();
    for workflow in missing {
        let conductor = conductor.clone();
        open.spawn(async move {
            let completed = conductor.conduct(workflow).await;
            completed.map_err(|reason| format!("{}: {reason}", workflow.id()))
        });
    }
    for workflow in started {
        let (conductor, sent) = (conductor.clone(), held.sent(workflow));
        open.spawn(async move {
            let completed = conductor.complete(workflow, &sent).await;
            completed.map_err(|reason| format!("{}: {reason}", workflow.id()))
        });
    }
    let count = open.len();
    let mut wrong = Vec::new();
    while let Some(ended) = open.join_next().await {
        wrong.extend(ended.map_err(|error| error.to_string())?.err());
    }
    if wrong.is_empty() { Ok(count) } else { Err(wrong.join("\n")) }
}

/// Waits until queues and leases are empty.
async fn settle(url: &str) -> Result<(), String> {
    let began = Instant::now();
    loop {
        let left = SqliteTables::open(url)?.leftovers()?;
        if left == Leftovers::default() {
            return Ok(());
        }
        if began.elapsed() > SETTLE_MAX {
            return Err(format!("{SETTLE_MAX:?} after the last workflow, rows are left: {left:?}"));
        }
        tokio::time::sleep(POLL).await;
    }
}
