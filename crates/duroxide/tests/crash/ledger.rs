//! Reads the files while no child runs: the histories of the orders, and their effects.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use duroxide::providers::sqlite::SqliteProvider;
use duroxide::{Client, Event, EventKind, INITIAL_EXECUTION_ID, OrchestrationStatus};

/// The state of all orders. Keys are `order/activity`.
#[derive(Debug, Default, Clone)]
pub(crate) struct Ledger {
    /// Scheduled steps.
    pub(crate) scheduled: BTreeSet<String>,
    /// Number of completions of each step in history.
    pub(crate) completions: BTreeMap<String, usize>,
    /// Number of effects of each step.
    pub(crate) effects: BTreeMap<String, usize>,
    /// Outputs of completed orders.
    pub(crate) outputs: Vec<String>,
    /// Whether every order is complete.
    pub(crate) all_complete: bool,
}

impl Ledger {
    /// Scheduled steps without a completion: a kill may interrupt them.
    pub(crate) fn incomplete(&self) -> BTreeSet<String> {
        let completed = |step: &&String| self.completions.contains_key(*step);
        self.scheduled.iter().filter(|step| !completed(step)).cloned().collect()
    }
}

/// Reads the store and the effects.
pub(crate) fn read(store: &Path, effects: &Path) -> Ledger {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut ledger = runtime.block_on(read_store(store));
    let text = std::fs::read_to_string(effects).unwrap_or_default();
    for line in text.lines() {
        *ledger.effects.entry(line.to_owned()).or_default() += 1;
    }
    ledger
}

async fn read_store(store: &Path) -> Ledger {
    let mut ledger = Ledger { all_complete: true, ..Ledger::default() };
    if !store.exists() {
        return ledger;
    }
    let store = SqliteProvider::new(store.to_str().unwrap(), None).await.unwrap();
    let client = Client::new(std::sync::Arc::new(store));
    for number in 1.. {
        let order = format!("order-{number}");
        match client.get_orchestration_status(&order).await.unwrap() {
            OrchestrationStatus::NotFound => break,
            OrchestrationStatus::Completed { output, .. } => ledger.outputs.push(output),
            OrchestrationStatus::Running { .. } => ledger.all_complete = false,
            OrchestrationStatus::Failed { details, .. } => {
                panic!("{order} failed: {}", details.display_message())
            }
        }
        let history = client.read_execution_history(&order, INITIAL_EXECUTION_ID).await.unwrap();
        ledger.add(&order, &history);
    }
    ledger
}

impl Ledger {
    fn add(&mut self, order: &str, history: &[Event]) {
        let mut steps = BTreeMap::new();
        for event in history {
            match &event.kind {
                EventKind::ActivityScheduled { name, .. } => {
                    let step = format!("{order}/{name}");
                    self.scheduled.insert(step.clone());
                    steps.insert(event.event_id, step);
                }
                EventKind::ActivityCompleted { .. } | EventKind::ActivityFailed { .. } => {
                    let scheduled = event.source_event_id.and_then(|id| steps.get(&id));
                    let step = scheduled.expect("a completion names its step").clone();
                    *self.completions.entry(step).or_default() += 1;
                }
                _not_a_step => {}
            }
        }
    }
}
