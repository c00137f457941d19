//! What the user asks for.

use std::path::PathBuf;

use bench_harness::options::Options;

use super::plan::POSTGRES_ROWS;

/// The text for `--help`.
pub(crate) const HELP: &str = "\
bench [options]                 run everything and compare
  --quick                       smaller sizes and fewer rounds
  --only chain,latency          cases or workloads whose name begins so; also floor and growth
  --engines ours,durare         engines; ours is always among them
  --store sqlite                the store: sqlite, or postgres, for which a server is started
  --rounds N                    rounds of each case
  --json PATH                   where the figures go
  --strict                      a missed target fails the command
bench run --engine E --workload W --size N      one run, printed as a line of JSON
bench list                                      names of engines and workloads";

/// The choices.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) quick: bool,
    pub(crate) strict: bool,
    pub(crate) only: Option<Vec<String>>,
    pub(crate) store: String,
    pub(crate) engines: Vec<String>,
    pub(crate) rounds: Option<usize>,
    pub(crate) json: PathBuf,
}

/// Engines on each store: ours first.
const STORES: &[(&str, &[&str])] = &[
    (SQLITE, &["ours", "durare", "duroxide-0.1.32", "duroxide-0.1.32-10ms"]),
    (POSTGRES, &["ours-pg", "dbos", "duroxide-0.1.32-pg", "ours-pg-2-nodes", "ours"]),
];

const SQLITE: &str = "sqlite";
/// The store that needs a server.
pub(crate) const POSTGRES: &str = "postgres";

impl Arguments {
    /// Reads the command line.
    pub(crate) fn read(arguments: Vec<String>) -> Result<Self, String> {
        let mut options = Options::new(arguments);
        let store = options.value("--store")?.unwrap_or_else(|| SQLITE.to_owned());
        let found = STORES.iter().find(|(name, _)| *name == store);
        let (_, standing) = found.ok_or_else(|| format!("no engines for the store {store}"))?;
        let standing = standing.iter().map(|name| (*name).to_owned()).collect();
        let rounds = options.number("--rounds")?;
        let json = options.value("--json")?;
        let arguments = Self {
            quick: options.flag("--quick"),
            strict: options.flag("--strict"),
            only: options.list("--only")?,
            store,
            engines: options.list("--engines")?.unwrap_or(standing),
            rounds: rounds.map(|rounds| usize::try_from(rounds).unwrap_or(usize::MAX)),
            json: json.map_or_else(default_json, PathBuf::from),
        };
        options.done()?;
        Ok(arguments)
    }

    /// Whether this is about PostgreSQL.
    pub(crate) fn on_postgres(&self) -> bool {
        self.store == POSTGRES
    }

    /// Whether a case of this name is wanted.
    pub(crate) fn wants(&self, name: &str) -> bool {
        if self.on_postgres() && !POSTGRES_ROWS.contains(&name) {
            return false;
        }
        let Some(only) = &self.only else { return true };
        only.iter().any(|wanted| name.starts_with(wanted.as_str()))
    }
}

fn default_json() -> PathBuf {
    super::programs::target_folder().join("bench.json")
}
