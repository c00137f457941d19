//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use crate::store::Store;

/// The usage text.
pub(crate) const USAGE: &str = "\
usage: soak [--minutes N] [--seed N] [--store URL] [--folder PATH] [--calm]

  --minutes N    how long workflows are started and nodes are disturbed (default 5; 0.5 is allowed)
  --seed N       the same seed gives the same workload and the same plan of trouble
  --store URL    an empty SQLite file or a PostgreSQL server that the nodes share (default: a
                 SQLite file in the folder); a schema is made on the server, and dropped if all
                 is well
  --folder PATH  where the store, the effects and the logs are kept (default: a temporary folder)
  --calm         no kills and no pauses; then nothing may run twice either";

/// What to do.
pub(crate) enum Command {
    Soak(Plan),
    Node(NodeArgs),
}

/// One soak.
pub(crate) struct Plan {
    pub(crate) time: Duration,
    pub(crate) seed: u64,
    pub(crate) store: Option<String>,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) calm: bool,
}

/// One worker process of it.
pub(crate) struct NodeArgs {
    pub(crate) store: Store,
    pub(crate) effects: PathBuf,
    pub(crate) name: String,
}

const MINUTES_DEFAULT: f64 = 5.0;

/// Reads the arguments; an error says which one is wrong.
pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Command, String> {
    let mut node = false;
    let mut plan = Plan {
        time: Duration::from_secs_f64(MINUTES_DEFAULT * 60.0),
        seed: u64::from(std::process::id()),
        store: None,
        folder: None,
        calm: false,
    };
    let (mut effects, mut name, mut schema) = (None, None, None);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "node" => node = true,
            "--calm" => plan.calm = true,
            "--minutes" => plan.time = minutes(&value()?)?,
            "--seed" => plan.seed = value()?.parse().map_err(|error| format!("--seed: {error}"))?,
            "--store" => plan.store = Some(value()?),
            "--schema" => schema = Some(value()?),
            "--folder" => plan.folder = Some(PathBuf::from(value()?)),
            "--effects" => effects = Some(PathBuf::from(value()?)),
            "--name" => name = Some(value()?),
            other => return Err(format!("'{other}' is not understood")),
        }
    }
    if !node {
        return Ok(Command::Soak(plan));
    }
    let needed = |what: &str| format!("a node needs {what}");
    Ok(Command::Node(NodeArgs {
        store: Store::new(
            &plan.store.ok_or_else(|| needed("--store"))?,
            &schema.unwrap_or_default(),
        ),
        effects: effects.ok_or_else(|| needed("--effects"))?,
        name: name.ok_or_else(|| needed("--name"))?,
    }))
}

fn minutes(text: &str) -> Result<Duration, String> {
    let minutes: f64 = text.parse().map_err(|error| format!("--minutes: {error}"))?;
    Duration::try_from_secs_f64(minutes * 60.0).map_err(|error| format!("--minutes: {error}"))
}
