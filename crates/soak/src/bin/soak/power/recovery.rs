//! Opens a store after a power cut: what was acknowledged is there, and the work completes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use duroxide::Client;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::Runtime;
use tokio::task::JoinSet;

use crate::acks::{Ack, Journal};
use crate::audit::{self, Attempts};
use crate::effects::Effects;
use crate::facts::{Facts, Leftovers};
use crate::facts_sqlite::SqliteTables;
use crate::kinds::Workflow;
use crate::load::Conductor;
use crate::power::disk_log::EFFECTS;
use crate::power::recorded_node::{GRACE_MS, POLL, STORE};
use crate::{node, workflows};

/// Leases and messages are gone within this time after the last workflow.
const SETTLE_MAX: Duration = Duration::from_secs(60);

/// Whether attempts may be counted anew: a lease is not flushed, so that a power loss forgets it.
const AFTER_POWER_LOSS: Attempts = Attempts::MayRepeat;

/// Workflows that were completed after the cut, and before.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Recovered {
    pub(crate) completed: usize,
    pub(crate) acknowledged: usize,
}

/// Opens the store in the folder and completes its work; an error says what is missing or wrong.
pub(crate) async fn recover(folder: &Path, acks: &[&Ack]) -> Result<Recovered, String> {
    let path = folder.join(STORE);
    let url = format!("sqlite:{}", path.display());
    let store = SqliteProvider::new(&url, None).await;
    let store = Arc::new(store.map_err(|error| format!("the store cannot be opened: {error}"))?);
    let damages = store.check_integrity().await.map_err(|error| error.to_string())?;
    if !damages.is_empty() {
        return Err(format!("the store is damaged: {}", damages.join("; ")));
    }
    let effects = Effects::new(&folder.join(EFFECTS));
    let found = Found::read(&url)?;
    found.require(acks)?;
    audit::scheduled(&found.facts, &effects.read()?)?;

    let runtime = Runtime::start_with_options(
        store.clone(),
        workflows::activities(&effects),
        workflows::orchestrations(),
        node::options("recovered"),
    )
    .await;
    let conductor =
        Conductor { client: Client::new(store.clone()), poll: POLL, journal: Journal::Nowhere };
    let workflows = found.workflows();
    let completed = complete(&conductor, &found, &workflows).await;
    let settled = if completed.is_ok() { settle(&url).await } else { Ok(()) };
    runtime.shutdown(Some(GRACE_MS)).await;
    store.close().await.map_err(|error| error.to_string())?;
    completed?;
    settled?;
    audit::audit(&SqliteTables::open(&url)?.facts()?, &effects.read()?, AFTER_POWER_LOSS)?;
    Ok(Recovered { completed: workflows.len(), acknowledged: acks.len() })
}

/// What the store holds when it is opened.
struct Found {
    facts: Facts,
    /// Instances that have a message or a history, with the texts of both.
    texts: BTreeMap<String, String>,
}

impl Found {
    fn read(url: &str) -> Result<Self, String> {
        let tables = SqliteTables::open(url)?;
        Ok(Self { facts: tables.facts()?, texts: tables.texts()? })
    }

    /// Everything that was acknowledged is there.
    fn require(&self, acks: &[&Ack]) -> Result<(), String> {
        let missing: Vec<String> =
            acks.iter().filter(|ack| !self.has(ack)).map(|ack| format!("{ack:?}")).collect();
        match missing.len() {
            0 => Ok(()),
            count => Err(format!(
                "{count} of {} acknowledged changes are lost: {}",
                acks.len(),
                missing.join(", ")
            )),
        }
    }

    fn has(&self, ack: &Ack) -> bool {
        let texts = |workflow: &Workflow| self.texts.get(&workflow.id());
        match ack {
            Ack::Started(workflow) => texts(workflow).is_some(),
            Ack::Sent(workflow, text) => texts(workflow).is_some_and(|texts| texts.contains(text)),
            Ack::Finished(workflow) => {
                let id = workflow.id();
                let of_instance = |(instance, _): &&(String, u64)| *instance == id;
                let current = self.facts.instances.iter().find(of_instance);
                current.is_some_and(|(_, execution)| {
                    let rows = self.facts.executions.iter();
                    let mut rows =
                        rows.filter(|row| row.instance == id && row.execution == *execution);
                    rows.any(|row| matches!(row.status.as_str(), "Completed" | "Failed"))
                })
            }
        }
    }

    fn workflows(&self) -> Vec<Workflow> {
        self.texts.keys().filter_map(|id| Workflow::parse(id)).collect()
    }

    /// What a workflow has been sent already.
    fn sent(&self, workflow: Workflow) -> BTreeSet<String> {
        let texts = self.texts.get(&workflow.id()).map_or("", String::as_str);
        let sendable = workflow.sent_texts();
        sendable.into_iter().filter(|text| texts.contains(text.as_str())).collect()
    }
}

async fn complete(
    conductor: &Conductor,
    found: &Found,
    workflows: &[Workflow],
) -> Result<(), String> {
    let mut open = JoinSet::new();
    for workflow in workflows.iter().copied() {
        let (conductor, sent) = (conductor.clone(), found.sent(workflow));
        open.spawn(async move {
            let completed = conductor.complete(workflow, &sent).await;
            completed.map_err(|reason| format!("{}: {reason}", workflow.id()))
        });
    }
    let mut wrong = Vec::new();
    while let Some(ended) = open.join_next().await {
        wrong.extend(ended.map_err(|error| error.to_string())?.err());
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
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
