//! The node that is recorded: a real one with its clients, which notes every acknowledgement.

use std::sync::Arc;
use std::time::Duration;

use duroxide::Client;
use duroxide::providers::sqlite::{SqliteProvider, Synchronous};
use duroxide::runtime::Runtime;

use crate::acks::Journal;
use crate::doubt::Doubt;
use crate::effects::Effects;
use crate::kinds::Kind;
use crate::load::{self, Conductor, Load};
use crate::power::args::RecordedArgs;
use crate::power::disk_log::EFFECTS;
use crate::rng::Rng;
use crate::{node, workflows};

/// Name of the store.
pub(crate) const STORE: &str = "store.db";
/// The store is opened so often.
const ROUNDS: u64 = 3;
/// Workflows between two openings.
const WORKFLOWS: u64 = 60;
/// Workflows that are open at once.
const OPEN_MAX: usize = 16;
/// Pause between two polls of a status.
pub(crate) const POLL: Duration = Duration::from_millis(5);
/// Leased work completes within this time.
pub(crate) const GRACE_MS: u64 = 5_000;
/// A checkpoint comes within this time after a round has started.
const CHECKPOINT_AFTER_MAX: Duration = Duration::from_millis(1_500);

/// Kinds that complete soon. The large ones fill the log until SQLite copies it.
const KINDS: [Kind; 17] = [
    Kind::Chain,
    Kind::Chain,
    Kind::Fan,
    Kind::Timer,
    Kind::Family,
    Kind::Events,
    Kind::Events,
    Kind::Race,
    Kind::Leaves,
    Kind::Moves,
    Kind::Cancelled,
    Kind::Again,
    Kind::Fails,
    Kind::Orphan,
    Kind::Large,
    Kind::Large,
    Kind::Large,
];

/// Works, closes the store and opens it again, and ends in the midst of its work.
pub(crate) fn run(args: &RecordedArgs) -> Result<(), String> {
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    for round in 0..ROUNDS {
        tokio.block_on(work(args, round))?;
    }
    Ok(())
}

async fn work(args: &RecordedArgs, round: u64) -> Result<(), String> {
    let level = if args.answers_early { Synchronous::Normal } else { Synchronous::Full };
    let url = format!("sqlite:{}", args.folder.join(STORE).display());
    let store = SqliteProvider::builder(&url).with_synchronous(level).open().await;
    let store = Arc::new(store.map_err(|error| error.to_string())?);
    let runtime = Runtime::start_with_options(
        store.clone(),
        workflows::activities(&Effects::new(&args.folder.join(EFFECTS))),
        workflows::orchestrations(),
        node::options("recorded"),
    )
    .await;
    let conductor = Conductor {
        client: Client::new(store.clone()),
        poll: POLL,
        journal: Journal::Stdout,
        doubt: Doubt::None,
    };
    let mut rng = Rng::new(args.seed.wrapping_mul(ROUNDS).wrapping_add(round));
    let pause = rng.between(Duration::ZERO, CHECKPOINT_AFTER_MAX);
    let load =
        Load { seed: rng.next(), kinds: &KINDS, first: round * WORKFLOWS, open_max: OPEN_MAX };
    let checkpoint = async {
        tokio::time::sleep(pause).await;
        // One that has to wait for readers fails, which is no concern of this node.
        drop(store.checkpoint().await);
    };
    let is_last = round + 1 == ROUNDS;
    // The last round is still at work when the process ends.
    let count = if is_last { WORKFLOWS / 2 } else { WORKFLOWS };
    let goes_on = |number| number < round * WORKFLOWS + count;
    let (loaded, ()) = tokio::join!(load::run(&conductor, &load, goes_on), checkpoint);
    loaded?;
    if is_last {
        std::process::exit(0);
    }
    runtime.shutdown(Some(GRACE_MS)).await;
    store.close().await.map_err(|error| error.to_string())
}
