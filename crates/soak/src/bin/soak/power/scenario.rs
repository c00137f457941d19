//! The fixed scenario: a node that runs one workflow of several kinds after the other, and opens
//! its store twice.

use std::sync::Arc;

use duroxide::Client;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::Runtime;

use crate::acks::Journal;
use crate::doubt::Doubt;
use crate::effects::Effects;
use crate::kinds::{Kind, Workflow};
use crate::load::Conductor;
use crate::power::args::ScenarioArgs;
use crate::power::disk_log::EFFECTS;
use crate::power::recorded_node::{GRACE_MS, POLL, STORE};
use crate::{node, workflows};

/// The workflows of the first opening, and those of the second.
const ROUNDS: [[Workflow; 3]; 2] = [
    [of(Kind::Chain, 0), of(Kind::Events, 1), of(Kind::Family, 2)],
    [of(Kind::Timer, 3), of(Kind::Cancelled, 4), of(Kind::Again, 5)],
];

const fn of(kind: Kind, number: u64) -> Workflow {
    Workflow { kind, number }
}

/// All workflows of the scenario.
pub(crate) fn workflows() -> Vec<Workflow> {
    ROUNDS.concat()
}

/// Runs the scenario from nothing to its end.
pub(crate) fn run(args: &ScenarioArgs) -> Result<(), String> {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    ROUNDS.iter().try_for_each(|round| tokio.block_on(work(args, round)))
}

async fn work(args: &ScenarioArgs, round: &[Workflow]) -> Result<(), String> {
    let url = format!("sqlite:{}", args.folder.join(STORE).display());
    let store = SqliteProvider::new(&url, None).await;
    let store = Arc::new(store.map_err(|error| error.to_string())?);
    let runtime = Runtime::start_with_options(
        store.clone(),
        workflows::activities(&Effects::new(&args.folder.join(EFFECTS))),
        workflows::orchestrations(),
        node::options("scenario"),
    )
    .await;
    let conductor = Conductor {
        client: Client::new(store.clone()),
        poll: POLL,
        journal: Journal::Stdout,
        doubt: Doubt::None,
    };
    for workflow in round {
        conductor.conduct(*workflow).await?;
    }
    runtime.shutdown(Some(GRACE_MS)).await;
    store.close().await.map_err(|error| error.to_string())
}
